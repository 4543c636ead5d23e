//! MONITOR: every command as it runs, or the accesses to a sample of keys.
//!
//! `MONITOR TRACE` shows lines that `larder curve` and `larder simulate` read:
//!
//! ```text
//! ts_us,seq,db,cmd,"key",access,hit,type,key bytes,value bytes,tenant,life,penalty
//! 1778474345309397,76,0,set,"key",WRITE,1,string,3,160,web,60000,2550
//! ```
//!
//! A key is shown with all of its accesses or with none, at any rate, so the trace is a smaller
//! trace of the same shape. The line is written before the command runs. `hit` tells whether the
//! key existed. The size is that of its value, or of the value to be written. The life is in
//! milliseconds: the new expiry, or the rest of the old one; 0 for none. The penalty is in
//! microseconds, 0 if it is unknown.

use crate::call::{Call, Command, Done, SYNTAX};
use crate::facts::flag::{ADMIN, NO_EXEC, NO_SCRIPT};
use crate::services::monitors::{MONITOR, TRACE};
use base::Filter;
use wire::resp::parse_double;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] =
    &[Command::new("monitor", -1, ADMIN | NO_EXEC | NO_SCRIPT, monitor).doc(
        "server",
        "1.0.0",
        "Shows every command, or a trace of sampled keys.",
    )];

/// `MONITOR`, or `MONITOR TRACE [RATE ratio] [FORMAT CSV]`.
fn monitor(call: &mut Call<'_>) -> Done {
    let (mut wants, mut filter, mut at) = (MONITOR, Filter::ALL, 1);
    if call.is(1, "trace") {
        (wants, at) = (TRACE, 2);
    }
    while at < call.args.len() {
        let value = call.args.get(at + 1).ok_or(SYNTAX)?;
        if wants == TRACE && call.is(at, "rate") {
            let rate = parse_double(value).filter(|rate| *rate > 0.0 && *rate <= 1.0);
            filter = Filter::with_rate(rate.ok_or("ERR the rate must be above 0 and up to 1")?);
        } else if !(wants == TRACE && call.is(at, "format") && call.is(at + 1, "csv")) {
            return Err(SYNTAX.into());
        }
        at += 2;
    }
    let client = &call.session.client;
    call.server.audience.monitors.join(client.id, client.place, wants, filter);
    client.monitors.store(true, std::sync::atomic::Ordering::Relaxed);
    call.session.watching = true;
    call.ok()
}

/// Ends MONITOR for the client of the call.
pub(super) fn stop(call: &mut Call<'_>) {
    if std::mem::take(&mut call.session.watching) {
        let client = &call.session.client;
        client.monitors.store(false, std::sync::atomic::Ordering::Relaxed);
        call.server.audience.monitors.leave(client.id);
    }
}
