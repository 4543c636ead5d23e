//! CLIENT: a connection about itself and about others.

use super::connection::check_name;
use super::flag::ADMIN;
use super::{Call, Command, Done, Failure, SYNTAX, tracking};
use crate::clients::Client;
use crate::session::Mute;
use crate::worker::{Mailbox, Message};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::resp::parse_integer;

/// This family.
pub(super) const COMMANDS: &[Command] =
    &[Command::container("client", 0, CLIENT).doc("connection", "2.4.0", "Connections.")];

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
        "Says which library is talking.",
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
        "Lets the reads of this connection leave no trace.",
    ),
    Command::new("client|reply", 3, 0, reply).doc(
        "connection",
        "3.2.0",
        "Switches replies to this connection on or off.",
    ),
    Command::new("client|unblock", -3, ADMIN, unblock).doc(
        "connection",
        "5.0.0",
        "Answers 0: no client is ever blocked.",
    ),
    Command::new("client|pause", -3, ADMIN, pause).doc(
        "connection",
        "3.0.0",
        "Lets commands wait for a time, all or those that write.",
    ),
    Command::new("client|unpause", 2, ADMIN, unpause).doc("connection", "6.2.0", "Ends a pause."),
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

/// Whether a client is of the type that CLIENT LIST and CLIENT KILL name.
fn is_of_type(client: &Client, name: &[u8]) -> Result<bool, Failure> {
    let listens = client.channels.load(Ordering::Relaxed) + client.patterns.load(Ordering::Relaxed);
    match name.to_ascii_lowercase().as_slice() {
        b"normal" => Ok(listens == 0),
        b"pubsub" => Ok(listens > 0),
        b"master" | b"replica" | b"slave" => Ok(false),
        _ => Err([b"ERR Unknown client type '", name, b"'"].concat().into()),
    }
}

fn list(call: &mut Call<'_>) -> Done {
    let mut clients = call.shared.clients.all();
    if call.args.len() == 4 && call.is(2, "type") {
        let name = call.arg(3);
        let mut chosen = vec![];
        for client in clients {
            if is_of_type(&client, name)? {
                chosen.push(client);
            }
        }
        clients = chosen;
    } else if call.args.len() > 3 && call.is(2, "id") {
        let ids = call.args.iter_from(3).map(|id| parse_integer(id).ok_or("ERR Invalid client ID"));
        let ids = ids.collect::<Result<Vec<_>, _>>()?;
        clients.retain(|client| ids.contains(&(client.id as i64)));
    } else if call.args.len() != 2 {
        return Err(SYNTAX.into());
    }
    let now_ms = now_ms(call);
    let text: String = clients.iter().map(|client| client.line(now_ms) + "\n").collect();
    call.out.verbatim(&text);
    Ok(())
}

/// Closes a client; the one that asks only after its reply.
fn close(call: &mut Call<'_>, client: &Arc<Client>) {
    if client.id == call.session.client.id {
        call.session.closing = true;
    } else {
        let place = client.place;
        call.shared.mailboxes[place.worker].send(Message::Kill(place.at, client.id));
    }
}

fn kill(call: &mut Call<'_>) -> Done {
    let clients = call.shared.clients.all();
    if call.args.len() == 3 {
        let address = call.text(2);
        let Some(client) = clients.iter().find(|client| client.address == address) else {
            return Err("ERR No such client".into());
        };
        close(call, client);
        return call.ok();
    }
    let mut skip_me = true;
    let mut chosen = clients;
    let mut at = 2;
    while at < call.args.len() {
        let value = call.args.get(at + 1).ok_or(SYNTAX)?;
        let text = String::from_utf8_lossy(value).into_owned();
        match call.arg(at).to_ascii_lowercase().as_slice() {
            b"id" => {
                let id = parse_integer(value).filter(|&id| id > 0);
                let id = id.ok_or("ERR client-id should be greater than 0")?;
                chosen.retain(|client| client.id as i64 == id);
            }
            b"addr" => chosen.retain(|client| client.address == text),
            b"laddr" => chosen.retain(|client| client.local == text),
            b"user" => {
                if call.view.settings.user(&text).is_none() {
                    return Err(Failure::err(&format!("No such user '{text}'")));
                }
                chosen.retain(|client| client.labels().user == text);
            }
            b"type" => {
                let mut of_type = vec![];
                for client in chosen {
                    if is_of_type(&client, value)? {
                        of_type.push(client);
                    }
                }
                chosen = of_type;
            }
            b"maxage" => {
                let age = parse_integer(value).filter(|&age| age > 0);
                let age = age.ok_or("ERR maxage is not an integer or out of range")? as u64;
                let now_ms = now_ms(call);
                chosen.retain(|client| now_ms.saturating_sub(client.since_ms) / 1_000 >= age);
            }
            b"skipme" if value.eq_ignore_ascii_case(b"yes") => skip_me = true,
            b"skipme" if value.eq_ignore_ascii_case(b"no") => skip_me = false,
            _ => return Err(SYNTAX.into()),
        }
        at += 2;
    }
    if skip_me {
        chosen.retain(|client| client.id != call.session.client.id);
    }
    for client in &chosen {
        close(call, client);
    }
    call.out.integer(chosen.len() as i64);
    Ok(())
}

/// Reads ON or OFF.
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
    call.integer(2)?;
    if call.args.len() > 4 || call.args.len() == 4 && !call.is(3, "timeout") && !call.is(3, "error")
    {
        return Err("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR".into());
    }
    call.out.integer(0);
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
    call.shared.pause.begin(now_ms(call).saturating_add(time), all);
    call.session.look_again();
    call.ok()
}

fn unpause(call: &mut Call<'_>) -> Done {
    call.shared.pause.end();
    call.shared.mailboxes.iter().for_each(Mailbox::wake);
    call.ok()
}

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "GETNAME | SETNAME <name> | ID | INFO",
        "    This connection's name, number and line.",
        "KILL <ip:port> | KILL <option> <value> ...",
        "    Close connections. Options: ADDR, LADDR, ID, MAXAGE, TYPE, USER, SKIPME.",
        "LIST [TYPE <type> | ID <id> ...]",
        "    A line for each connection.",
        "NO-TOUCH (ON|OFF)",
        "    Let the reads of this connection leave no trace.",
        "REPLY (ON|OFF|SKIP)",
        "    Switch replies to this connection on or off.",
        "SETINFO (LIB-NAME|LIB-VER) <value>",
        "    Say which library is talking.",
        "HELP",
        "    Print this help.",
    ])
}
