//! SUBSCRIBE, PUBLISH and related commands.

use crate::call::{Call, Command, Done, wrong_arguments};
use crate::facts::Channels;
use crate::facts::flag::{
    FAST, LISTENING, MAY_REPLICATE, NO_EXEC, NO_SCRIPT, PUBSUB, SLOTTED, UNEVEN,
};
use crate::services::pubsub::Kind;
use std::sync::atomic::Ordering;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("subscribe", -2, NO_SCRIPT | PUBSUB | LISTENING | UNEVEN, |call| {
        subscribe(call, Kind::Channel)
    })
    .channels(Channels::All)
    .doc("pubsub", "2.0.0", "Subscribes to channels."),
    Command::new("unsubscribe", -1, NO_SCRIPT | PUBSUB | LISTENING | UNEVEN, |call| {
        unsubscribe(call, Kind::Channel)
    })
    .doc("pubsub", "2.0.0", "Ends subscriptions to channels."),
    Command::new("psubscribe", -2, NO_SCRIPT | PUBSUB | LISTENING | UNEVEN, |call| {
        subscribe(call, Kind::Pattern)
    })
    .channels(Channels::Patterns)
    .doc("pubsub", "2.0.0", "Subscribes to the channels that match a pattern."),
    Command::new("punsubscribe", -1, NO_SCRIPT | PUBSUB | LISTENING | UNEVEN, |call| {
        unsubscribe(call, Kind::Pattern)
    })
    .doc("pubsub", "2.0.0", "Ends subscriptions to patterns."),
    Command::new(
        "ssubscribe",
        -2,
        NO_SCRIPT | PUBSUB | LISTENING | UNEVEN | NO_EXEC | SLOTTED,
        |call| subscribe(call, Kind::Sharded),
    )
    .channels(Channels::All)
    .doc("pubsub", "7.0.0", "Subscribes to shard channels."),
    Command::new("sunsubscribe", -1, NO_SCRIPT | PUBSUB | LISTENING | UNEVEN, |call| {
        unsubscribe(call, Kind::Sharded)
    })
    .doc("pubsub", "7.0.0", "Ends subscriptions to shard channels."),
    Command::new("publish", 3, PUBSUB | FAST | MAY_REPLICATE, |call| publish(call, false))
        .channels(Channels::First)
        .doc("pubsub", "2.0.0", "Sends a message to the subscribers of a channel."),
    Command::new("spublish", 3, PUBSUB | FAST | MAY_REPLICATE | SLOTTED, |call| {
        publish(call, true)
    })
    .channels(Channels::First)
    .doc("pubsub", "7.0.0", "Sends a message to the subscribers of a shard channel."),
    Command::container("pubsub", 0, REPORTS).doc(
        "pubsub",
        "2.8.0",
        "Shows channels and their subscribers.",
    ),
];

const REPORTS: &[Command] = &[
    Command::new("pubsub|channels", -2, PUBSUB, |call| channels(call, Kind::Channel)).doc(
        "pubsub",
        "2.8.0",
        "The channels with subscribers.",
    ),
    Command::new("pubsub|numsub", -2, PUBSUB, |call| numsub(call, Kind::Channel)).doc(
        "pubsub",
        "2.8.0",
        "Numbers of subscribers of channels.",
    ),
    Command::new("pubsub|numpat", 2, PUBSUB, numpat).doc(
        "pubsub",
        "2.8.0",
        "Number of patterns with subscribers.",
    ),
    Command::new("pubsub|shardchannels", -2, PUBSUB, |call| channels(call, Kind::Sharded)).doc(
        "pubsub",
        "7.0.0",
        "The shard channels with subscribers.",
    ),
    Command::new("pubsub|shardnumsub", -2, PUBSUB, |call| numsub(call, Kind::Sharded)).doc(
        "pubsub",
        "7.0.0",
        "Numbers of subscribers of shard channels.",
    ),
    Command::new("pubsub|help", 2, 0, help).doc("pubsub", "6.2.0", "The subcommands of PUBSUB."),
];

const fn words(kind: Kind) -> (&'static [u8], &'static [u8]) {
    match kind {
        Kind::Channel => (b"subscribe", b"unsubscribe"),
        Kind::Pattern => (b"psubscribe", b"punsubscribe"),
        Kind::Sharded => (b"ssubscribe", b"sunsubscribe"),
    }
}

/// Writes one message that confirms a change, with the number of remaining subscriptions.
fn confirm(call: &mut Call<'_>, word: &[u8], name: Option<&[u8]>, kind: Kind) {
    call.session.pushed = true;
    let left = call.session.subscriptions.as_ref().map_or(0, |all| all.count(kind));
    call.out.push(3);
    call.out.bulk(word);
    match name {
        Some(name) => call.out.bulk(name),
        None => call.out.null(),
    }
    call.out.integer(left as i64);
}

/// Updates the counts for CLIENT LIST, and drops an empty list of subscriptions.
fn update_counts(call: &mut Call<'_>) {
    let client = &call.session.client;
    let counts = match &call.session.subscriptions {
        Some(all) => [all.channels.len(), all.patterns.len(), all.sharded.len()],
        None => [0; 3],
    };
    let shown = [&client.channels, &client.patterns, &client.sharded];
    for (shown, count) in shown.into_iter().zip(counts) {
        shown.store(count as u64, Ordering::Relaxed);
    }
    if call.session.subscriptions.as_ref().is_some_and(|all| all.is_empty()) {
        call.session.subscriptions = None;
    }
}

fn subscribe(call: &mut Call<'_>, kind: Kind) -> Done {
    for name in call.args.iter_from(1) {
        let session = &mut *call.session;
        let all = session.subscriptions.get_or_insert_default();
        if all.of(kind).insert(name.to_vec()) {
            call.server.audience.pubsub.subscribe(
                kind,
                name,
                session.client.id,
                session.client.place,
            );
        }
        confirm(call, words(kind).0, Some(name), kind);
    }
    update_counts(call);
    Ok(())
}

fn unsubscribe(call: &mut Call<'_>, kind: Kind) -> Done {
    let mut names: Vec<Vec<u8>> = call.args.iter_from(1).map(<[u8]>::to_vec).collect();
    if names.is_empty()
        && let Some(all) = &mut call.session.subscriptions
    {
        names = all.of(kind).iter().cloned().collect();
    }
    if names.is_empty() {
        confirm(call, words(kind).1, None, kind);
    }
    for name in names {
        if let Some(all) = &mut call.session.subscriptions
            && all.of(kind).remove(&name)
        {
            call.server.audience.pubsub.unsubscribe(kind, &name, call.session.client.id);
        }
        confirm(call, words(kind).1, Some(&name), kind);
    }
    update_counts(call);
    Ok(())
}

/// Subscribers of other nodes would miss the message, and nobody would notice.
const ONE_NODE: &str = "ERR PUBLISH reaches no other node of this cluster, for they do not speak \
    to each other: use SPUBLISH and SSUBSCRIBE, which go by slot";

fn publish(call: &mut Call<'_>, sharded: bool) -> Done {
    if !sharded && call.view.cluster.as_ref().is_some_and(|cluster| cluster.nodes.len() > 1) {
        return Err(ONE_NODE.into());
    }
    let (channel, message) = (call.arg(1), call.arg(2));
    let mailboxes = call.server.clients.mailboxes();
    let receivers = call.server.audience.pubsub.publish(mailboxes, channel, message, sharded, None);
    call.out.integer(receivers as i64);
    Ok(())
}

fn channels(call: &mut Call<'_>, kind: Kind) -> Done {
    if call.args.len() > 3 {
        return Err(wrong_arguments(call));
    }
    let found = call.server.audience.pubsub.channels(kind, call.args.get(2));
    call.out.array(found.len());
    for name in found {
        call.out.bulk(&name);
    }
    Ok(())
}

fn numsub(call: &mut Call<'_>, kind: Kind) -> Done {
    let names = call.args.iter_from(2);
    call.out.array(names.len() * 2);
    for name in names {
        call.out.bulk(name);
        call.out.integer(call.server.audience.pubsub.listeners(kind, name) as i64);
    }
    Ok(())
}

fn numpat(call: &mut Call<'_>) -> Done {
    call.out.integer(call.server.audience.pubsub.patterns() as i64);
    Ok(())
}

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "CHANNELS [<pattern>] | SHARDCHANNELS [<pattern>]",
        "    The channels with subscribers: all channels, or the channels that match.",
        "NUMPAT",
        "    The number of patterns with subscribers.",
        "NUMSUB [<channel> ...] | SHARDNUMSUB [<channel> ...]",
        "    The number of subscribers of each channel, without patterns.",
        "HELP",
        "    Print this help.",
    ])
}
