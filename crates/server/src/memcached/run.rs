//! A request of memcached's protocol at the door: how it is admitted, carried out and refused.

use super::request::{Ask, BAD_FORMAT, BUSY, Done, ERROR, UNKNOWN};
use super::verbs::Verb;
use super::{auth, refusal, rights};
use crate::execute::request::{AnyRequest, Origin};
use crate::server::MemcachedState;
use crate::services::clock::Clock;
use crate::session::Session;
use std::io::Write;
use wire::memcached::{Data, Malformed};

/// The end of a request without a verb that may run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refused {
    /// This line is the reply.
    Line(&'static str),
    /// The request has its reply already, or gets none.
    Answered,
}

impl AnyRequest for Ask<'_> {
    type Command = &'static Verb;
    type Refused = Refused;

    fn admit(&mut self, _: Origin<'_>) -> Result<&'static Verb, Refused> {
        find(self).map_err(Refused::Line)?.ok_or(Refused::Answered)
    }

    fn handle(&mut self, verb: &'static Verb, _: Origin<'_>, _: usize) {
        let mark = self.out.len();
        let done = carry_out(self, verb);
        finish(self, verb, mark, done);
    }

    fn refuse(&mut self, refused: Refused, _: Origin<'_>, _: usize) -> Option<&'static Verb> {
        if let Refused::Line(line) = refused {
            let _ = self.line(line);
        }
        None
    }

    fn mark(&self) -> usize {
        self.out.len()
    }

    fn is_paused(&self) -> bool {
        self.server.turns.pause.holds(rights::writes(self))
    }

    #[cold]
    fn refuse_busy(&mut self, _: usize) -> bool {
        let is_known = self.session.user.is_some();
        let verb = self.request.get(0).and_then(Verb::find);
        let Some(verb) = verb.filter(|verb| is_known && check(self, verb).is_ok()) else {
            return false;
        };
        finish(self, verb, self.out.len(), Err(BUSY));
        true
    }

    fn invalidate(&mut self, _: usize) {
        rights::invalidate(self);
    }

    fn count_top_keys(&self, _: Option<&'static Verb>, worker: usize) {
        rights::note_keys(self, worker);
    }
}

/// Ends the reply of a handler: an error replaces what it has written, and `noreply` silences all.
fn finish(ask: &mut Ask<'_>, verb: &Verb, mark: usize, done: Done) {
    if let Err(line) = done {
        ask.out.truncate(mark);
        let _ = ask.line(line);
    }
    if verb.is_silenced(ask) {
        ask.out.truncate(mark);
    }
}

/// Checks the words and the data of a request. As in memcached, `noreply` does not silence this
/// error.
fn check(ask: &Ask<'_>, verb: &Verb) -> Done {
    let is_short = ask.request.len() < verb.words || ask.request.data == Data::NoLength;
    if is_short { Err(BAD_FORMAT) } else { Ok(()) }
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
        Some(verb) => check(ask, verb).map(|()| Some(verb)),
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
            "closed client {}: it sent an HTTP request to the port of memcached's protocol; use \
             the http-port for metrics and probes",
            ask.session.client.address
        );
    }
    ask.session.closing = true;
    ask.session.ending = ERROR;
}

/// Answers bytes that are no request, and ends the connection.
pub(crate) fn refuse(
    state: &MemcachedState,
    clock: &Clock,
    session: &mut Session,
    out: &mut Vec<u8>,
    malformed: Malformed,
) {
    session.closing = true;
    session.ending = ERROR;
    match malformed {
        Malformed::Binary { opcode, opaque } => {
            refusal::write(out, opcode, opaque);
            state.binary.count(clock, &session.client.address);
        }
        Malformed::LineTooLong => {
            let _ = write!(out, "CLIENT_ERROR {malformed}\r\n");
        }
    }
}
