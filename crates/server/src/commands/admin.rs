//! The server: time, role, end, and commands about persistence and replication.

use crate::call::{Call, Command, Done, NOT_AN_INTEGER, SYNTAX};
use crate::facts::flag::{ADMIN, ALLOW_BUSY, FAST, NO_MULTI, NO_SCRIPT};
use crate::services::clock::Clock;
use crate::services::exclusive::BUSY;
use wire::resp::parse_integer;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("time", 1, FAST, time).doc("server", "2.6.0", "The time of the machine."),
    Command::new("wait", 3, 0, wait).categories(&["connection"]).doc(
        "generic",
        "3.0.0",
        "Answers 0: there are no replicas.",
    ),
    Command::new("role", 1, FAST, role).categories(&["admin", "dangerous"]).doc(
        "server",
        "2.8.12",
        "Answers that this is a master without replicas.",
    ),
    Command::new("lastsave", 1, FAST, lastsave).categories(&["admin", "dangerous"]).doc(
        "server",
        "1.0.0",
        "The time when the server started, because it saves nothing while it serves.",
    ),
    Command::new("shutdown", -1, ADMIN | NO_MULTI | ALLOW_BUSY | NO_SCRIPT, shutdown).doc(
        "server",
        "1.0.0",
        "Ends the server.",
    ),
];

fn time(call: &mut Call<'_>) -> Done {
    let unix_us = Clock::unix_us();
    call.out.array(2);
    call.out.bulk((unix_us / 1_000_000).to_string().as_bytes());
    call.out.bulk((unix_us % 1_000_000).to_string().as_bytes());
    Ok(())
}

fn wait(call: &mut Call<'_>) -> Done {
    for at in 1..3 {
        let number = parse_integer(call.arg(at)).ok_or(NOT_AN_INTEGER)?;
        if number < 0 && at == 2 {
            return Err("ERR timeout is negative".into());
        }
        if at == 2 && number.checked_add(call.now.unix_ms as i64).is_none() {
            return Err("ERR timeout is out of range".into());
        }
    }
    call.out.integer(0);
    Ok(())
}

fn role(call: &mut Call<'_>) -> Done {
    call.out.array(3);
    call.out.bulk(b"master");
    call.out.integer(0);
    call.out.array(0);
    Ok(())
}

fn lastsave(call: &mut Call<'_>) -> Done {
    call.out.integer(call.server.process.started_unix() as i64);
    Ok(())
}

fn shutdown(call: &mut Call<'_>) -> Done {
    for word in call.args.iter_from(1) {
        let known: &[&[u8]] = &[b"nosave", b"save", b"now", b"force"];
        if !known.contains(&word.to_ascii_lowercase().as_slice()) {
            return Err(SYNTAX.into());
        }
    }
    if call.args.iter_from(1).any(|word| word.eq_ignore_ascii_case(b"nosave")) {
        call.server.saved.warm.forget();
    } else if call.server.turns.is_busy(&call.view.settings, &call.server.clock) {
        return Err(BUSY.into());
    }
    tracing::warn!("SHUTDOWN by client {}", call.session.client.address);
    call.session.closing = true;
    call.server.stop();
    Ok(())
}
