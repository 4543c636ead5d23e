//! A command that is running: its arguments, its reply, and the parts of the server it may use.

use super::failure::{Done, Failure, NOT_AN_INTEGER};
use crate::server::{Server, View};
use crate::services::exclusive::BUSY;
use crate::session::{Session, Why};
use std::borrow::Cow;
use store::{Alone, Key, Now};
use wire::resp::{self, Encoder, parse_integer};

/// A command that is running.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The arguments; the command's name is at 0.
    pub(crate) args: resp::Command<'a>,
    pub(crate) out: Encoder<'a>,
    pub(crate) session: &'a mut Session,
    pub(crate) server: &'a Server,
    pub(crate) view: &'a View,
    pub(crate) now: Now,
}

impl<'a> Call<'a> {
    /// The argument at `at`. The arity guarantees that it exists.
    #[inline]
    pub(crate) fn arg(&self, at: usize) -> &'a [u8] {
        self.args.get(at).unwrap_or_default()
    }

    /// The argument at `at` as text; bytes that are no UTF-8 become the replacement character.
    pub(crate) fn text(&self, at: usize) -> Cow<'a, str> {
        String::from_utf8_lossy(self.arg(at))
    }

    /// The argument at `at` as an integer.
    pub(crate) fn integer(&self, at: usize) -> Result<i64, Failure> {
        parse_integer(self.arg(at)).ok_or_else(|| NOT_AN_INTEGER.into())
    }

    /// The argument at `at` as the number of a database.
    pub(crate) fn database(&self, at: usize) -> Result<u8, Failure> {
        let (db, count) = (self.integer(at)?, self.view.settings.databases);
        if (0..i64::from(count)).contains(&db) {
            return Ok(db as u8);
        }
        Err(Failure::limit("ERR DB index is out of range", "databases", count))
    }

    /// Whether the argument at `at` is this word, in any case.
    #[inline]
    pub(crate) fn is(&self, at: usize, word: &str) -> bool {
        self.args.get(at).is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// The key with these bytes in the client's database, with the tenant that owns it.
    #[allow(clippy::inline_always, reason = "of a GET the call alone would be a fiftieth")]
    #[inline(always)]
    pub(crate) fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        let tenant = self.session.owners.of(bytes);
        let key = self.server.store.key(tenant, self.session.db, bytes);
        // The client of a script does not fetch what the script misses, so no miss is timed.
        Key { is_untimed: self.session.scripted, ..key }
    }

    /// The key at argument `at`.
    #[inline]
    pub(crate) fn key_at(&self, at: usize) -> Key<'a> {
        self.key(self.arg(at))
    }

    /// Lets `f` write a part of the reply while it reads the call, which has no reply buffer
    /// meanwhile.
    pub(crate) fn write<R>(
        &mut self,
        f: impl FnOnce(&Self, &mut Encoder<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let mut buffer = self.out.take();
        let result = f(self, &mut self.out.like(&mut buffer));
        self.out.put_back(buffer);
        result
    }

    /// Replies OK.
    #[inline]
    pub(crate) fn ok(&mut self) -> Done {
        self.out.raw(b"+OK\r\n");
        Ok(())
    }

    /// Replies with the lines of a HELP subcommand.
    pub(crate) fn help(&mut self, lines: &[&str]) -> Done {
        self.out.array(lines.len());
        for line in lines {
            self.out.simple(line);
        }
        Ok(())
    }
}

impl<'a> Call<'a> {
    /// Runs `f` while no other worker runs commands. If a script holds the gate for too long, `f`
    /// does not run, and the rest of the batch is handled anew.
    pub(crate) fn alone<R>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let Some(alone) = self.close() else {
            self.session.end_batch(Why::Exclusive);
            return Err(BUSY.into());
        };
        if alone.is_late() {
            self.now = self.server.clock.now();
        }
        f(self)
    }

    /// Waits until this worker is the only one that runs.
    fn close(&self) -> Option<Alone<'a>> {
        let (server, view) = (self.server, self.view);
        server.turns.close(self.session.client.place.worker, &view.settings, &server.clock)
    }
}

/// The error for a subcommand with an unexpected number of arguments.
pub(crate) fn wrong_arguments(call: &Call<'_>) -> Failure {
    let (name, parent) = (call.text(1), call.text(0).to_ascii_uppercase());
    Failure::err(&format!(
        "unknown subcommand or wrong number of arguments for '{name}'. Try {parent} HELP."
    ))
}
