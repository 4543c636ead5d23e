//! The gate of the workers: commands that run alone, and scripts that keep all other commands
//! waiting.
//!
//! Each worker runs the commands of one read in a batch of [`store::Gate`], which keeps batches and
//! exclusive sections apart. A command that changes several keys as one asks for an exclusive
//! section with `Call::alone` (`call/call.rs`): EXEC with all its commands, RENAME, MSET and
//! related ones. Commands such as MGET and DEL take their keys one after another.
//!
//! Most sections end within microseconds. A script may take longer: it announces itself in
//! [`Gate::script`]. After `busy-reply-threshold` milliseconds the other workers no longer wait for
//! it. Outside of any batch, they reply BUSY to every command, except those with the flag
//! `ALLOW_BUSY`, which access no key and may end the script. The script checks from time to time
//! whether it was killed, and lets the clients of its own thread get the same replies
//! (`net/busy_worker.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use store::{Alone, Entered};

/// The reply to other clients while a script holds the gate for too long.
pub(crate) const BUSY: &str = "BUSY Redis is busy running a script. You can only call SCRIPT KILL \
    or SHUTDOWN NOSAVE.";

/// The gate through which one worker runs alone.
#[derive(Debug)]
pub(crate) struct Gate {
    gate: store::Gate,
    script: Arc<Script>,
}

/// The script that holds the gate, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// Its start plus one, in milliseconds of the server's clock; 0 if no script runs.
    began: AtomicU64,
    /// Requests to end it and the effects it has had: bits of the three constants below.
    fate: AtomicU8,
}

/// A client has asked the script to end.
const KILLED: u8 = 1;
/// The script has written, so no client may end it.
const WRITTEN: u8 = 2;
/// The server ends, and every script with it.
const OVER: u8 = 4;

impl Gate {
    /// Begins a batch of a worker. It waits while another worker runs alone, but not while
    /// `is_busy`.
    #[inline]
    pub(crate) fn enter(&self, worker: usize, is_busy: impl Fn() -> bool) -> Entered {
        self.gate.enter(worker, is_busy)
    }

    /// Waits until this worker is the only one that runs; `None` while `is_busy`.
    pub(crate) fn close(&self, worker: usize, is_busy: impl Fn() -> bool) -> Option<Alone<'_>> {
        self.gate.close(worker, is_busy)
    }

    pub(crate) fn new(workers: usize) -> Self {
        Self { gate: store::Gate::new(workers), script: Arc::default() }
    }

    /// The state of the script that runs alone.
    pub(crate) const fn script(&self) -> &Arc<Script> {
        &self.script
    }

    /// Ends a batch of this worker.
    #[inline]
    pub(crate) fn leave(&self, worker: usize) {
        self.gate.leave(worker);
    }

    /// Whether a worker runs alone or waits to. A worker with more commands then ends its batch.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.gate.is_closed()
    }
}

impl Script {
    /// Notes that a script begins, in a worker that runs alone.
    pub(crate) fn begin(&self, now_ms: u64) {
        self.fate.fetch_and(OVER, Ordering::AcqRel);
        self.began.store(now_ms + 1, Ordering::Relaxed);
    }

    /// Notes that the script has ended.
    pub(crate) fn end(&self) {
        self.began.store(0, Ordering::Relaxed);
    }

    /// The start of the running script, in milliseconds of the server's clock; `None` if none runs.
    pub(crate) fn since_ms(&self) -> Option<u64> {
        self.began.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Asks the script to end. Returns false if it has written, and so goes on.
    pub(crate) fn kill(&self) -> bool {
        let killed = |fate: u8| (fate & WRITTEN == 0).then_some(fate | KILLED);
        self.fate.fetch_update(Ordering::AcqRel, Ordering::Acquire, killed).is_ok()
    }

    /// Ends the script even if it has written, and every later one.
    pub(crate) fn end_all(&self) {
        self.fate.fetch_or(OVER, Ordering::AcqRel);
    }

    /// Notes that the script is about to write. Returns false if it must not, because it was asked
    /// to end.
    pub(crate) fn writes(&self) -> bool {
        let written = |fate: u8| (fate & (KILLED | OVER) == 0).then_some(fate | WRITTEN);
        self.fate.fetch_update(Ordering::AcqRel, Ordering::Acquire, written).is_ok()
    }

    /// Whether the script has written.
    pub(crate) fn has_written(&self) -> bool {
        self.fate.load(Ordering::Acquire) & WRITTEN != 0
    }

    /// Whether the script was asked to end.
    pub(crate) fn is_killed(&self) -> bool {
        self.fate.load(Ordering::Relaxed) & (KILLED | OVER) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Handle, Settings, start};
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    #[test]
    fn a_script_is_killed_alone_and_not_the_next() {
        let script = Script::default();
        assert_eq!(script.since_ms(), None);
        script.begin(0);
        assert_eq!(script.since_ms(), Some(0));
        assert!(script.kill() && script.kill(), "asked twice");
        assert!(script.is_killed() && !script.writes(), "it writes no more");
        script.end();
        script.begin(7);
        assert_eq!((script.since_ms(), script.is_killed()), (Some(7), false));
        assert!(script.writes() && script.has_written());
        assert!(!script.kill() && !script.is_killed(), "what has written goes on");
        script.end_all();
        assert!(script.is_killed(), "but not when the server ends");
        script.begin(8);
        assert!(script.is_killed(), "which holds for what follows as well");
    }

    fn connect(handle: &Handle) -> TcpStream {
        let stream = TcpStream::connect(handle.addr()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends all lines at once, and checks the beginning of each reply.
    fn check(stream: &mut TcpStream, asked: &[(&str, &str)]) {
        let lines: Vec<_> = asked.iter().flat_map(|(line, _)| [*line, "\r\n"]).collect();
        stream.write_all(lines.concat().as_bytes()).unwrap();
        for (line, wanted) in asked {
            let (mut reply, mut byte) = (vec![], [0]);
            while !reply.ends_with(b"\r\n") {
                stream.read_exact(&mut byte).unwrap();
                reply.extend(byte);
            }
            let reply = String::from_utf8(reply).unwrap();
            assert!(reply.starts_with(wanted), "{line}: {reply}");
        }
    }

    fn server() -> Handle {
        let settings = Settings {
            port: 0,
            http_port: Some(0),
            io_threads: 3,
            busy_reply_threshold: 20,
            ..Settings::default()
        };
        start(settings).unwrap()
    }

    /// The thread of the test acts as a script, in the name of one of three workers.
    #[test]
    fn others_are_told_of_a_long_script_and_may_end_it() {
        const SAY: &str = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or";
        let handle = server();
        let (mut one, mut two) = (connect(&handle), connect(&handle));
        check(&mut one, &[("SET a 1", "+OK")]);
        check(&mut two, &[("MULTI", "+OK"), ("INCR a", "+QUEUED")]);
        let server = &handle.server;
        let alone = server.turns.gate.gate.close(2, || false).unwrap();
        server.turns.gate.script().begin(server.clock.micros().0 / 1_000);
        check(&mut one, &[("INCR a", SAY), ("MULTI", "+OK"), ("GET a", SAY)]);
        check(&mut one, &[("EXEC", "-EXECABORT"), ("SHUTDOWN", SAY), ("nosuch", "-ERR unknown")]);
        check(&mut two, &[("EXEC", "-EXECABORT Transaction discarded because of: BUSY")]);
        server.turns.gate.script().end();
        drop(alone);
        server.turns.gate.leave(2);
        check(&mut one, &[("INCR a", ":2")]);
        let alone = server.turns.gate.gate.close(2, || false).unwrap();
        server.turns.gate.script().begin(server.clock.micros().0 / 1_000);
        assert!(!server.turns.gate.script().is_killed());
        two.write_all(b"SHUTDOWN NOSAVE\r\n").unwrap();
        assert_eq!(two.read(&mut [0]).unwrap(), 0, "closed");
        assert!(server.turns.gate.script().is_killed());
        drop(alone);
    }

    /// The rest of a batch waits, and then runs in its order, at a later time.
    #[test]
    fn who_waits_at_the_gate_goes_on() {
        let handle = server();
        let mut one = connect(&handle);
        check(&mut one, &[("SET a 1 PX 30", "+OK")]);
        let alone = handle.server.turns.gate.gate.close(2, || false).unwrap();
        one.write_all(b"EXISTS a\r\nMSET a 2 b 2\r\nINCR a\r\n").unwrap();
        one.set_read_timeout(Some(Duration::from_millis(60))).unwrap();
        assert!(one.read(&mut [0]).is_err(), "nobody is answered");
        drop(alone);
        handle.server.turns.gate.leave(2);
        one.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        check(&mut one, &[("PING", ":0")]);
        check(&mut one, &[("PING", "+OK"), ("PING", ":3")]);
    }
}
