//! Commands about the connection itself: greeting, authentication, database, end.

use crate::call::{Call, Command, Done, Failure, SYNTAX, wrong_number};
use crate::facts::Databases;
use crate::facts::flag::{ALLOW_BUSY, FAST, LISTENING, NO_AUTH, NO_SCRIPT, SECRET, UNQUEUED};
use crate::session::Mute;
use crate::settings::config::DEFAULT_USER;
use std::sync::atomic::Ordering;
use wire::resp::{Protocol, parse_integer};

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("ping", -1, FAST | LISTENING, ping).doc(
        "connection",
        "1.0.0",
        "Answers PONG, or the argument.",
    ),
    Command::new("echo", 2, FAST, echo).doc("connection", "1.0.0", "Answers the argument."),
    Command::new("hello", -1, FAST | NO_AUTH | ALLOW_BUSY | NO_SCRIPT | SECRET, hello).doc(
        "connection",
        "6.0.0",
        "Chooses the protocol version, and describes the server.",
    ),
    Command::new("auth", -2, FAST | NO_AUTH | ALLOW_BUSY | NO_SCRIPT | SECRET, auth).doc(
        "connection",
        "1.0.0",
        "Logs the client in as a user.",
    ),
    Command::new("select", 2, FAST, select).databases(Databases::Enters(1)).doc(
        "connection",
        "1.0.0",
        "Chooses the database.",
    ),
    Command::new("quit", -1, FAST | NO_AUTH | ALLOW_BUSY | NO_SCRIPT | LISTENING | UNQUEUED, quit)
        .doc("connection", "1.0.0", "Closes the connection."),
    Command::new("reset", 1, FAST | NO_AUTH | ALLOW_BUSY | NO_SCRIPT | LISTENING | UNQUEUED, reset)
        .doc("connection", "6.2.0", "Resets the connection to its first state."),
];

fn ping(call: &mut Call<'_>) -> Done {
    if call.args.len() > 2 {
        return Err(wrong_number("ping"));
    }
    if call.session.only_listens() {
        call.out.array(2);
        call.out.bulk(b"pong");
        call.out.bulk(call.args.get(1).unwrap_or_default());
    } else if let Some(text) = call.args.get(1) {
        call.out.bulk(text);
    } else {
        call.out.raw(b"+PONG\r\n");
    }
    Ok(())
}

fn echo(call: &mut Call<'_>) -> Done {
    call.out.bulk(call.arg(1));
    Ok(())
}

/// The name of the user that this name and password authenticate.
fn admit(call: &mut Call<'_>, name: &[u8], password: &[u8]) -> Result<String, Failure> {
    let user = std::str::from_utf8(name).ok().and_then(|name| call.view.settings.user(name));
    match user {
        Some(user) if user.admits(password) => Ok(user.name.clone()),
        _ => {
            crate::execute::permission::note_wrong(call, name);
            call.session.back_off(call.server.clients.backoff(), &call.server.clock, call.view);
            Err("WRONGPASS invalid username-password pair or user is disabled.".into())
        }
    }
}

fn auth(call: &mut Call<'_>) -> Done {
    let (name, password) = match call.args.len() {
        2 => {
            if call.view.settings.user(DEFAULT_USER).is_some_and(|user| user.nopass) {
                return Err(
                    "ERR AUTH <password> called without any password configured for the default \
                     user. Are you sure your configuration is correct?"
                        .into(),
                );
            }
            (DEFAULT_USER.as_bytes(), call.arg(1))
        }
        3 => (call.arg(1), call.arg(2)),
        _ => return Err(SYNTAX.into()),
    };
    let user = admit(call, name, password)?;
    call.session.set_user(Some(user), call.view);
    call.ok()
}

/// Checks that a client may have this name.
pub(super) fn check_name(name: &[u8]) -> Result<(), Failure> {
    if name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        return Ok(());
    }
    Err("ERR Client names cannot contain spaces, newlines or special characters.".into())
}

fn hello(call: &mut Call<'_>) -> Done {
    let mut protocol = call.session.protocol;
    let mut at = 1;
    if let Some(version) = call.args.get(1) {
        protocol = match parse_integer(version) {
            Some(2) => Protocol::Resp2,
            Some(3) => Protocol::Resp3,
            Some(_) => return Err("NOPROTO unsupported protocol version".into()),
            None => {
                let text = "ERR Protocol version is not an integer or out of range";
                return Err(text.into());
            }
        };
        at = 2;
    }
    let (mut user, mut name) = (None, None);
    while at < call.args.len() {
        let more = call.args.len() - 1 - at;
        if call.is(at, "auth") && more >= 2 {
            user = Some((call.arg(at + 1), call.arg(at + 2)));
            at += 3;
        } else if call.is(at, "setname") && more >= 1 {
            check_name(call.arg(at + 1))?;
            name = Some(call.text(at + 1).into_owned());
            at += 2;
        } else {
            let text = [b"ERR Syntax error in HELLO option '", call.arg(at), b"'"].concat();
            return Err(text.into());
        }
    }
    if let Some((user, password)) = user {
        let user = admit(call, user, password)?;
        call.session.set_user(Some(user), call.view);
    }
    if call.session.user.is_none() {
        return Err(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the \
             HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and \
             select the RESP protocol version at the same time"
                .into(),
        );
    }
    if let Some(name) = name {
        call.session.client.labels().name = name;
    }
    call.session.set_protocol(protocol);
    call.out.set_protocol(protocol);
    let (zone, out) = (&call.view.settings.availability_zone, &mut call.out);
    out.map(7 + usize::from(!zone.is_empty()));
    out.bulk(b"server");
    out.bulk(b"redis");
    out.bulk(b"version");
    out.bulk(crate::facts::REDIS_VERSION.as_bytes());
    out.bulk(b"proto");
    out.integer(if protocol == Protocol::Resp3 { 3 } else { 2 });
    out.bulk(b"id");
    out.integer(call.session.client.id as i64);
    out.bulk(b"mode");
    out.bulk(call.view.mode().as_bytes());
    out.bulk(b"role");
    out.bulk(b"master");
    out.bulk(b"modules");
    out.array(0);
    if !zone.is_empty() {
        out.bulk(b"availability_zone");
        out.bulk(zone.as_bytes());
    }
    Ok(())
}

fn select(call: &mut Call<'_>) -> Done {
    let db = call.database(1)?;
    call.session.set_db(db, call.view);
    call.ok()
}

fn quit(call: &mut Call<'_>) -> Done {
    call.session.closing = true;
    call.ok()
}

fn reset(call: &mut Call<'_>) -> Done {
    call.session.discard();
    call.session.unsubscribe_all(&call.server.audience.pubsub);
    super::tracking::stop(call);
    super::monitor::stop(call);
    call.session.mute = Mute::No;
    call.session.no_touch = false;
    let client = &call.session.client;
    client.no_touch.store(false, Ordering::Relaxed);
    client.no_evict.store(false, Ordering::Relaxed);
    client.labels().name.clear();
    call.session.set_protocol(Protocol::Resp2);
    call.out.set_protocol(Protocol::Resp2);
    call.session.set_db(0, call.view);
    call.session.leave(call.view);
    call.out.simple("RESET");
    Ok(())
}
