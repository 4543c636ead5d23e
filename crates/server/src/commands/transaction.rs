//! MULTI and EXEC: commands that run together.
//!
//! EXEC runs the queued commands one after another, and its worker runs alone. No other command
//! runs between them, nor between them and the check of the watched keys. WATCH compares a key's
//! contents at EXEC with its contents at WATCH. A value that was changed and changed back counts as
//! unchanged, except in lists, sets and sorted sets that are trees.

use crate::call::size_check::is_full;
use crate::call::{Call, Command, Done, Failure, OUT_OF_MEMORY};
use crate::execute::nested;
use crate::execute::request::Origin;
use crate::facts::flag::{
    ABORTS, ALLOW_BUSY, DENY_OOM, FAST, NO_SCRIPT, UNEVEN, UNQUEUED, UNTRACED,
};
use crate::facts::{ALL_KEYS, access};
use crate::session::{Transaction, Watched};
use crate::values::hash::View;
use base::hash;
use std::sync::atomic::Ordering;
use store::Key;
use wire::resp::{Decoder, Limits};

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("multi", 1, FAST | UNQUEUED | ALLOW_BUSY | NO_SCRIPT, multi).doc(
        "transactions",
        "1.2.0",
        "Queues the commands that follow.",
    ),
    Command::new("exec", 1, UNQUEUED | ABORTS | NO_SCRIPT, exec).doc(
        "transactions",
        "1.2.0",
        "Runs the queued commands.",
    ),
    Command::new("discard", 1, FAST | UNQUEUED | ALLOW_BUSY | NO_SCRIPT, discard).doc(
        "transactions",
        "2.0.0",
        "Drops the queued commands.",
    ),
    Command::new("watch", -2, FAST | UNQUEUED | UNTRACED | NO_SCRIPT, watch)
        .keys(ALL_KEYS)
        .access(access::ASKS)
        .doc("transactions", "2.2.0", "Makes EXEC fail if one of these keys changes before it."),
    Command::new("unwatch", 1, FAST | ALLOW_BUSY | NO_SCRIPT, unwatch).doc(
        "transactions",
        "2.2.0",
        "Ends the watch of all keys.",
    ),
];

fn multi(call: &mut Call<'_>) -> Done {
    if call.session.transaction.is_some() {
        return Err("ERR MULTI calls can not be nested".into());
    }
    call.session.transaction = Some(Transaction::default());
    call.session.client.queued.store(0, Ordering::Relaxed);
    call.ok()
}

fn exec(call: &mut Call<'_>) -> Done {
    let Some(transaction) = call.session.transaction.take() else {
        return Err("ERR EXEC without MULTI".into());
    };
    let watched = std::mem::take(&mut call.session.watched);
    call.session.discard();
    if transaction.broken {
        return Err("EXECABORT Transaction discarded because of previous errors.".into());
    }
    if transaction.flags & DENY_OOM != 0 && is_full(call, 1) {
        return Err(Failure::from(OUT_OF_MEMORY).of_exec());
    }
    call.alone(|call| exec_alone(call, &transaction, &watched)).map_err(Failure::of_exec)
}

/// Runs the queued commands, unless a watched key has changed. Each is checked again, because
/// permissions may have changed since it was queued.
fn exec_alone(call: &mut Call<'_>, transaction: &Transaction, watched: &Watched) -> Done {
    let unchanged = watched.iter().all(|((db, bytes), seen)| {
        let tenant = call.session.owners.of(bytes);
        let key = call.server.store.key(tenant, *db, bytes);
        look(call, &key) == *seen
    });
    if !unchanged {
        call.out.null_array();
        return Ok(());
    }
    let (began, is_uneven) = (call.out.mark(), transaction.flags & UNEVEN != 0);
    if !is_uneven {
        call.out.array(transaction.commands);
    }
    call.session.executing = true;
    let (mut decoder, mut rest) = (Decoder::default(), transaction.bytes.as_slice());
    let limits = Limits { bulk_max: u64::MAX, stranger: false };
    while let Ok(Some(command)) = decoder.decode(rest, &limits) {
        let consumed = command.consumed;
        let mut inner = Call {
            args: command,
            out: call.out.reborrow(),
            session: &mut *call.session,
            server: call.server,
            view: call.view,
            now: call.now,
        };
        let _ = nested::run(&mut inner, Origin::Exec);
        // A HELLO among them changes the protocol of the following replies.
        call.out.set_protocol(call.session.protocol);
        rest = &rest[consumed..];
    }
    call.session.executing = false;
    if is_uneven {
        call.out.collect(began);
    }
    Ok(())
}

fn discard(call: &mut Call<'_>) -> Done {
    if call.session.transaction.is_none() {
        return Err("ERR DISCARD without MULTI".into());
    }
    call.session.discard();
    call.ok()
}

/// A hash of a key's contents, without expired fields; `None` without a key.
fn look(call: &Call<'_>, key: &Key<'_>) -> Option<u64> {
    call.server.store.peek(key, call.now, |item| {
        let other = || item.tree().map_or(0, |tree| hash::mix(tree.stamp()));
        let print = View::of(item).map_or_else(other, |hash| hash.print(call.now.unix_ms));
        let value = if item.tree().is_some() { b"" } else { item.value };
        hash::bytes(item.expires.unwrap_or(0) ^ print, value)
    })
}

fn watch(call: &mut Call<'_>) -> Done {
    if call.session.transaction.is_some() {
        return Err(Failure::err("WATCH inside MULTI is not allowed"));
    }
    for at in 1..call.args.len() {
        let seen = look(call, &call.key_at(at));
        let key = (call.session.db, call.arg(at).to_vec());
        // A key that is watched already keeps its earlier contents for the comparison.
        call.session.watched.entry(key).or_insert(seen);
    }
    let session = &call.session;
    session.client.watched.store(session.watched.len() as u64, Ordering::Relaxed);
    call.ok()
}

fn unwatch(call: &mut Call<'_>) -> Done {
    call.session.watched = Watched::new();
    call.session.client.watched.store(0, Ordering::Relaxed);
    call.ok()
}

#[cfg(test)]
mod tests {
    use crate::facts::flag;
    use crate::facts::table::{find, get};

    /// A command that ends the queueing must not be queued itself.
    #[test]
    fn what_ends_a_transaction_is_not_queued() {
        for name in ["multi", "exec", "discard", "watch", "quit", "reset"] {
            assert!(get(find(name.as_bytes()).unwrap()).has(flag::UNQUEUED), "{name}");
        }
        assert!(!get(find(b"get").unwrap()).has(flag::UNQUEUED));
    }
}
