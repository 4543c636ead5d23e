//! The queue of a transaction: commands between MULTI and EXEC.

use super::admit::paused_flags;
use crate::call::size_check::is_full;
use crate::call::{Call, Done, Failure, OUT_OF_MEMORY};
use crate::facts::flag::DENY_OOM;
use crate::facts::{Databases, Facts};
use std::sync::atomic::Ordering;
use wire::resp::encode_command;

/// Queues a command for EXEC.
pub(crate) fn queue(call: &mut Call<'_>, command: &Facts) -> Done {
    let limit = call.view.settings.client_query_buffer_limit.0 as usize;
    let args: Vec<&[u8]> = call.args.iter_from(0).collect();
    let len = args.iter().map(|arg| arg.len()).sum();
    let is_full = command.has(DENY_OOM) && is_full(call, len);
    let flags = paused_flags(call, command);
    let db = match command.databases {
        Databases::Enters(at) => call.database(at).ok(),
        _ => None,
    };
    let Some(transaction) = &mut call.session.transaction else {
        return Ok(());
    };
    if is_full {
        transaction.broken = true;
        return Err(OUT_OF_MEMORY.into());
    }
    if !transaction.broken {
        encode_command(&mut transaction.bytes, &args);
        transaction.commands += 1;
    }
    transaction.flags |= flags;
    transaction.db = db.or(transaction.db);
    if limit > 0 && transaction.bytes.len() > limit {
        transaction.broken = true;
        transaction.bytes = vec![];
        let text = "ERR the transaction is too long";
        return Err(Failure::limit(text, "client-query-buffer-limit", limit));
    }
    call.session.client.queued.store(transaction.commands as i64, Ordering::Relaxed);
    call.out.simple("QUEUED");
    Ok(())
}

/// Ends the transaction because its EXEC is refused.
#[cold]
pub(crate) fn abort(call: &mut Call<'_>, failure: Failure) -> Failure {
    if call.session.transaction.is_none() {
        return failure;
    }
    call.session.discard();
    failure.of_exec()
}
