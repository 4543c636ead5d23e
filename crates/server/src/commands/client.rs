//! CLIENT: commands of a connection about itself and about others.

use super::client_filter::Filter;
use super::connection::check_name;
use super::tracking;
use crate::call::{Call, Command, Done, Failure, SYNTAX};
use crate::facts::flag::{ADMIN, NO_SCRIPT, UNEVEN, UNPAUSED};
use crate::services::clients::Client;
use crate::services::mail::Message;
use crate::session::{Mute, Why};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::resp::parse_integer;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] =
    &[Command::container("client", NO_SCRIPT, CLIENT).doc("connection", "2.4.0", "Connections.")];

const CLIENT: &[Command] = &[
    Command::new("client|id", 2, 0, id).doc("connection", "5.0.0", "This connection's number."),
    Command::new("client|getname", 2, 0, getname).doc(
        "connection",
        "2.6.9",
        "This connection's name.",
    ),
    Command::new("client|setname", 3, 0, setname).doc(
        "connection",
        "2.6.9",
        "Names this connection.",
    ),
    Command::new("client|setinfo", 4, 0, setinfo).doc(
        "connection",
        "7.2.0",
        "Sets the name or the version of the client's library.",
    ),
    Command::new("client|info", 2, 0, info).doc("connection", "6.2.0", "This connection's line."),
    Command::new("client|list", -2, ADMIN, list).doc(
        "connection",
        "2.4.0",
        "A line for each connection.",
    ),
    Command::new("client|kill", -3, ADMIN, kill).doc("connection", "2.4.0", "Closes connections."),
    Command::new("client|no-evict", 3, ADMIN, no_evict).doc(
        "connection",
        "7.0.0",
        "Accepted: clients are never evicted.",
    ),
    Command::new("client|no-touch", 3, 0, no_touch).doc(
        "connection",
        "7.2.0",
        "Makes reads of this connection leave the idle times of keys as they are.",
    ),
    Command::new("client|capa", -3, 0, capa).doc(
        "connection",
        "8.0.0",
        "Declares the client's capabilities; Larder never redirects a client to a primary.",
    ),
    Command::new("client|reply", 3, UNEVEN, reply).doc(
        "connection",
        "3.2.0",
        "Switches replies to this connection on or off.",
    ),
    Command::new("client|unblock", -3, ADMIN, unblock).doc(
        "connection",
        "5.0.0",
        "Ends the waiting of a blocked client.",
    ),
    Command::new("client|pause", -3, ADMIN, pause).doc(
        "connection",
        "3.0.0",
        "Pauses all commands, or all writes, for a time.",
    ),
    Command::new("client|unpause", 2, ADMIN | UNPAUSED, unpause).doc(
        "connection",
        "6.2.0",
        "Ends a pause.",
    ),
    tracking::TRACKING,
    tracking::INFO,
    tracking::CACHING,
    tracking::GETREDIR,
    Command::new("client|help", 2, 0, help).doc(
        "connection",
        "5.0.0",
        "The subcommands of CLIENT.",
    ),
];

fn id(call: &mut Call<'_>) -> Done {
    call.out.integer(call.session.client.id as i64);
    Ok(())
}

fn getname(call: &mut Call<'_>) -> Done {
    let name = call.session.client.labels().name.clone();
    if name.is_empty() {
        call.out.null();
    } else {
        call.out.bulk(name.as_bytes());
    }
    Ok(())
}

fn setname(call: &mut Call<'_>) -> Done {
    check_name(call.arg(2))?;
    let name = call.text(2).into_owned();
    call.session.client.labels().name = name;
    call.ok()
}

fn setinfo(call: &mut Call<'_>) -> Done {
    let value = call.text(3).into_owned();
    let wrong = |what: &str| {
        Failure::err(&format!("{what} cannot contain spaces, newlines or special characters."))
    };
    let plain = check_name(call.arg(3)).is_ok();
    if call.is(2, "lib-name") {
        if !plain {
            return Err(wrong("lib-name"));
        }
        call.session.client.labels().lib_name = value;
    } else if call.is(2, "lib-ver") {
        if !plain {
            return Err(wrong("lib-ver"));
        }
        call.session.client.labels().lib_ver = value;
    } else {
        let text = [b"ERR Unrecognized option '", call.arg(2), b"'"].concat();
        return Err(text.into());
    }
    call.ok()
}

fn now_ms(call: &Call<'_>) -> u64 {
    call.now.micros.0 / 1_000
}

fn info(call: &mut Call<'_>) -> Done {
    let line = call.session.client.line(now_ms(call)) + "\n";
    call.out.verbatim(&line);
    Ok(())
}

fn list(call: &mut Call<'_>) -> Done {
    let (filter, _) = Filter::read(call, false)?;
    let now_ms = now_ms(call);
    let clients = call.server.clients.all();
    let chosen = clients.iter().filter(|client| filter.chooses(client, now_ms));
    let text: String = chosen.map(|client| client.line(now_ms) + "\n").collect();
    call.out.verbatim(&text);
    Ok(())
}

/// Closes a client. The client of the call is closed only after its reply.
fn close(call: &mut Call<'_>, client: &Arc<Client>) {
    if client.id == call.session.client.id {
        call.session.closing = true;
    } else {
        // It disappears from the registry at once, although its own thread closes it later.
        call.server.clients.disconnect(client.id);
        let place = client.place;
        call.server.clients.send(place.worker, Message::Kill(place.at, client.id));
    }
}

fn kill(call: &mut Call<'_>) -> Done {
    let clients = call.server.clients.all();
    if call.args.len() == 3 {
        let address = call.text(2);
        let Some(client) = clients.iter().find(|client| client.address == address) else {
            return Err("ERR No such client".into());
        };
        close(call, client);
        return call.ok();
    }
    let (filter, skip_me) = Filter::read(call, true)?;
    let (now_ms, me) = (now_ms(call), call.session.client.id);
    let mut killed = 0;
    for client in &clients {
        if filter.chooses(client, now_ms) && !(skip_me && client.id == me) {
            close(call, client);
            killed += 1;
        }
    }
    call.out.integer(killed);
    Ok(())
}

/// Reads ON or OFF at argument 2.
fn switch(call: &Call<'_>) -> Result<bool, Failure> {
    match call.arg(2).to_ascii_lowercase().as_slice() {
        b"on" => Ok(true),
        b"off" => Ok(false),
        _ => Err(SYNTAX.into()),
    }
}

fn no_evict(call: &mut Call<'_>) -> Done {
    let on = switch(call)?;
    call.session.client.no_evict.store(on, Ordering::Relaxed);
    call.ok()
}

/// Unknown words are ignored, because newer clients may send them.
fn capa(call: &mut Call<'_>) -> Done {
    if (2..call.args.len()).any(|at| call.is(at, "redirect")) {
        call.session.client.redirects.store(true, Ordering::Relaxed);
    }
    call.ok()
}

fn no_touch(call: &mut Call<'_>) -> Done {
    let on = switch(call)?;
    call.session.no_touch = on;
    call.session.client.no_touch.store(on, Ordering::Relaxed);
    call.ok()
}

fn reply(call: &mut Call<'_>) -> Done {
    match call.arg(2).to_ascii_lowercase().as_slice() {
        b"on" => {
            call.session.mute = Mute::No;
            return call.ok();
        }
        b"off" => call.session.mute = Mute::Always,
        b"skip" if call.session.mute != Mute::Always => call.session.mute = Mute::Next,
        b"skip" => {}
        _ => return Err(SYNTAX.into()),
    }
    Ok(())
}

fn unblock(call: &mut Call<'_>) -> Done {
    let id = call.integer(2)?;
    if call.args.len() > 4 || call.args.len() == 4 && !call.is(3, "timeout") && !call.is(3, "error")
    {
        return Err("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR".into());
    }
    let found = u64::try_from(id).ok().and_then(|id| call.server.clients.get(id));
    let blocked = found.filter(|client| client.blocked.load(Ordering::Relaxed));
    if let Some(client) = &blocked {
        let (place, is_error) = (client.place, call.is(3, "error"));
        let message = Message::Unblock(place.at, client.id, is_error);
        call.server.clients.send(place.worker, message);
    }
    call.out.integer(i64::from(blocked.is_some()));
    Ok(())
}

fn pause(call: &mut Call<'_>) -> Done {
    let time = parse_integer(call.arg(2)).ok_or("ERR timeout is not an integer or out of range")?;
    let time = u64::try_from(time).map_err(|_| "ERR timeout is negative")?;
    let all = match call.args.len() {
        3 => true,
        4 if call.is(3, "all") => true,
        4 if call.is(3, "write") => false,
        4 => return Err("ERR CLIENT PAUSE mode must be WRITE or ALL".into()),
        _ => return Err(SYNTAX.into()),
    };
    call.server.turns.pause.begin(now_ms(call).saturating_add(time), all);
    call.session.end_batch(Why::Observers);
    call.ok()
}

fn unpause(call: &mut Call<'_>) -> Done {
    call.server.turns.pause.end();
    call.server.clients.wake_workers();
    call.ok()
}

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "CAPA <word> ...",
        "    Declare this client's capabilities.",
        "GETNAME | SETNAME <name> | ID | INFO",
        "    This connection's name, number and line.",
        "KILL <ip:port> | KILL <option> <value> ...",
        "LIST [<option> <value> ...]",
        "    Close connections, or show a line for each. A connection must match all options:",
        "    ID <id> ..., ADDR, LADDR, IP, NAME, USER, TYPE, FLAGS, LIB-NAME, LIB-VER, CAPA, DB,",
        "    each also with NOT- before it; MAXAGE and IDLE <seconds>; SKIPME (YES|NO).",
        "NO-TOUCH (ON|OFF)",
        "    Make reads of this connection leave the idle times of keys as they are.",
        "REPLY (ON|OFF|SKIP)",
        "    Switch replies to this connection on or off.",
        "SETINFO (LIB-NAME|LIB-VER) <value>",
        "    Set the name or the version of this client's library.",
        "UNBLOCK <id> [TIMEOUT|ERROR]",
        "    End the waiting of a blocked client.",
        "HELP",
        "    Print this help.",
    ])
}
