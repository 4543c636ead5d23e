//! Runs one request, and writes its reply.

use super::request::{Ask, BAD_FORMAT, BUSY, Done, ERROR, UNKNOWN};
use super::verbs::Verb;
use super::{auth, refusal, rights};
use crate::server::Server;
use crate::session::Session;
use std::io::Write;
use wire::memcached::{Data, Malformed};

/// Answers a request. While a script holds the gate for too long, it replies an error.
pub(crate) fn execute(ask: &mut Ask<'_>, is_busy: bool) {
    let mark = ask.out.len();
    let verb = match find(ask) {
        Ok(verb) => verb,
        Err(line) => return ask.line(line).unwrap_or_default(),
    };
    if let Some(verb) = verb {
        let done = if is_busy { Err(BUSY) } else { carry_out(ask, verb) };
        if let Err(line) = done {
            ask.out.truncate(mark);
            let _ = ask.line(line);
        }
        if verb.is_silenced(ask) {
            ask.out.truncate(mark);
        }
    }
}

/// Finds the verb of a request; `None` if the request is answered already.
fn find(ask: &mut Ask<'_>) -> Result<Option<&'static Verb>, &'static str> {
    let verb = ask.request.get(0).and_then(Verb::find);
    if verb.is_none() && is_http(ask) {
        turn_away(ask);
        return Ok(None);
    }
    if ask.session.user.is_none() {
        return auth::admit(ask).map(|()| None);
    }
    match verb {
        // As in memcached, `noreply` does not silence this error.
        Some(verb) if ask.request.len() < verb.words || ask.request.data == Data::NoLength => {
            Err(BAD_FORMAT)
        }
        Some(verb) => Ok(Some(verb)),
        None if ask.request.get(0).is_none() => Err(BAD_FORMAT),
        None if ask.asks_for_silence() => Ok(None),
        None => Err(UNKNOWN),
    }
}

fn carry_out(ask: &mut Ask<'_>, verb: &'static Verb) -> Done {
    if ask.session.limited {
        rights::permit(ask, verb)?;
    }
    (verb.run)(ask)
}

/// Whether the request is the first line of an HTTP request.
fn is_http(ask: &Ask<'_>) -> bool {
    let last = ask.request.get(ask.request.len().saturating_sub(1));
    ask.request.len() > 1 && last.is_some_and(|word| word.starts_with(b"HTTP/"))
}

/// Closes a connection with an HTTP request that a web page made a browser send. The page chose
/// headers and body, so none of their lines may run.
fn turn_away(ask: &mut Ask<'_>) {
    if ask.server.stats.http_at_memcached.count(ask.now.micros.0 / 1_000).is_some() {
        tracing::warn!(
            "client {} closed: an HTTP request came to the port of memcached's protocol; metrics \
             and probes are at the http-port",
            ask.session.client.address
        );
    }
    ask.session.closing = true;
    ask.session.ending = ERROR;
}

/// Answers bytes that are no request, and ends the connection.
pub(crate) fn refuse(
    server: &Server,
    session: &mut Session,
    out: &mut Vec<u8>,
    malformed: Malformed,
) {
    session.closing = true;
    session.ending = ERROR;
    match malformed {
        Malformed::Binary { opcode, opaque } => {
            refusal::write(out, opcode, opaque);
            server.binary.count(&server.clock, &session.client.address);
        }
        Malformed::LineTooLong => {
            let _ = write!(out, "CLIENT_ERROR {malformed}\r\n");
        }
    }
}
