//! What a limited user may do here: whatever it may do by the command of Redis that does the same.

use super::{Ask, Done};
use crate::acl::{Denied, What};
use crate::clock::Clock;
use crate::commands::{self, Command, flag};
use std::borrow::Cow;
use wire::memcached::decode_key;

const REFUSED: &str = "CLIENT_ERROR user has no permission for this";

/// The command of Redis that does what a request asks, its arguments, and the words that are keys;
/// `None` where anybody may.
fn meaning<'a>(ask: &Ask<'a>, verb: &[u8]) -> Option<(&'static str, Vec<Cow<'a, [u8]>>)> {
    let flags = |letters: &[u8]| {
        ask.request.iter_from(2).any(|word| word.first().is_some_and(|c| letters.contains(c)))
    };
    let (name, first) = match verb {
        b"get" | b"gets" => ("mget", Some(1)),
        b"gat" | b"gats" => ("getex", Some(2)),
        b"mg" if flags(b"NT") => ("getex", Some(1)),
        b"mg" | b"me" => ("get", Some(1)),
        b"append" | b"prepend" => ("append", Some(1)),
        b"ms" | b"set" | b"add" | b"replace" | b"cas" => ("set", Some(1)),
        b"md" | b"delete" => ("del", Some(1)),
        b"touch" => ("expire", Some(1)),
        b"ma" | b"incr" => ("incrby", Some(1)),
        b"decr" => ("decrby", Some(1)),
        b"flush_all" => ("flushall", None),
        b"stats" => ("info", None),
        b"watch" => ("monitor", None),
        b"lru_crawler" => ("keys", None),
        b"shutdown" => ("shutdown", None),
        b"cache_memlimit" | b"verbosity" | b"slabs" | b"lru" | b"extstore" | b"refresh_certs" => {
            ("config|set", None)
        }
        _ => return None,
    };
    let many = matches!(verb, b"get" | b"gets" | b"gat" | b"gats");
    let words = first.into_iter().flat_map(|first| ask.request.iter_from(first));
    let words = words.take(if many { usize::MAX } else { 1 });
    // What is no key in base64 is refused later, as such.
    let in_base64 = verb.len() == 2 && verb[0] == b'm' && flags(b"b");
    let key = |word: &'a [u8]| match decode_key(word).filter(|_| in_base64) {
        Some(key) => Cow::Owned(key),
        None => Cow::Borrowed(word),
    };
    Some((name, words.map(key).collect()))
}

/// The command of Redis that a request stands for, and its keys.
fn command<'a>(ask: &Ask<'a>) -> Option<(&'static Command, Vec<Cow<'a, [u8]>>)> {
    let (name, keys) = meaning(ask, ask.request.get(0)?)?;
    Some((commands::get(commands::find(name.split('|').next()?.as_bytes())?), keys))
}

/// Whether a request may write.
pub(crate) fn writes(ask: &Ask<'_>) -> bool {
    command(ask).is_some_and(|(command, _)| command.has(flag::WRITE))
}

/// Tells clients that track keys what a request has changed.
pub(crate) fn tell_trackers(ask: &Ask<'_>) {
    let Some((_, keys)) = command(ask).filter(|(command, _)| command.has(flag::WRITE)) else {
        return;
    };
    for key in keys {
        let tenant = ask.session.owners.of(&key);
        ask.shared.tracking.changed(ask.shared, ask.session.client.id, tenant, &key);
    }
}

/// Lets a request through that the client's user may make. Only asked for limited clients.
#[cold]
pub(super) fn permit(ask: &Ask<'_>, verb: &[u8]) -> Done {
    let Some((name, keys)) = meaning(ask, verb) else { return Ok(()) };
    let Some(number) = commands::numbers(name).and_then(|mut numbers| numbers.next()) else {
        return Err(REFUSED);
    };
    // Each key for itself: of most of these commands only the first argument is a key.
    let calls: Vec<Vec<&[u8]>> = match keys.as_slice() {
        [] => vec![vec![verb]],
        keys => keys.iter().map(|key| vec![verb, key]).collect(),
    };
    for args in calls {
        if let Err(denied) = ask.session.permits(number, &args) {
            let what = What {
                reason: denied.reason(),
                context: "toplevel",
                object: match denied {
                    Denied::Command => verb.to_vec(),
                    _ => args[args.len() - 1].to_vec(),
                },
                user: ask.session.user.clone().unwrap_or_default(),
            };
            let (now_ms, max) = (ask.now.micros.0 / 1_000, ask.view.settings.acllog_max_len);
            let unix_ms = Clock::unix_us() / 1_000;
            ask.shared.acl_log.add(what, ask.session.client.line(now_ms), unix_ms, max);
            return Err(REFUSED);
        }
    }
    Ok(())
}
