//! Looks: points at which a running script lets other clients be served, and learns whether it must
//! end.
//!
//! The hook of the interpreter looks after a number of instructions (`vm.rs`). Between two of these
//! a script may be in a Rust function for long. So each function with work that grows with its
//! input also looks from time to time, by a [`Work`]. A `Work` bounds memory as well: the
//! allocations of a function count with the memory of the interpreter, and both share one limit.
//!
//! A script is ended by an error that it cannot catch ([`Ended`]): the prelude passes the error on.

use super::failing::{Ended, NOT_ENOUGH_MEMORY, Oops};
use crate::services::exclusive::Script;
use crate::services::running_script::Running;
use crate::services::running_script::serve_meanwhile;
use mlua::{Lua, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// The number of steps of a Rust function between two looks: some milliseconds at the slowest.
const STEPS: usize = 1 << 18;
/// The bytes that a function needs for each byte of its result. A growing buffer exists twice for a
/// moment, and the Lua string is a third copy.
const COPIES: usize = 3;

/// A command is followed by a look if the last one was this many microseconds ago.
const LATE_US: u64 = 10_000;

/// The state that a look reads. Each interpreter has one.
#[derive(Debug)]
pub(super) struct Looks {
    running: Arc<Running>,
    script: Arc<Script>,
    /// The bytes that the interpreter may take.
    memory_max: usize,
    made: Instant,
    /// The time of the hook's last look, in microseconds since `made`.
    last: AtomicU64,
}

impl Looks {
    pub(super) fn new(running: Arc<Running>, script: Arc<Script>, memory_max: usize) -> Self {
        Self { running, script, memory_max, made: Instant::now(), last: AtomicU64::new(0) }
    }

    /// Lets clients of this thread be served; one of them may end the script. Returns an error if
    /// the script must end.
    pub(super) fn look(&self) -> Result<()> {
        serve_meanwhile();
        self.running.ends(self.script.is_killed()).map_or(Ok(()), |text| Err(Ended::raised(text)))
    }

    /// Microseconds since the last call.
    pub(super) fn elapsed(&self) -> u64 {
        let now = self.made.elapsed().as_micros() as u64;
        now.saturating_sub(self.last.swap(now, Relaxed))
    }

    /// Looks after a command, if the last look was long ago or with `must`.
    pub(super) fn look_if_late(&self, must: bool) -> Result<()> {
        let now = self.made.elapsed().as_micros() as u64;
        if !must && now.saturating_sub(self.last.load(Relaxed)) < LATE_US {
            return Ok(());
        }
        self.last.store(now, Relaxed);
        self.look()
    }
}

/// Looks once. Returns an error if the script must end.
pub(super) fn look(lua: &Lua) -> Result<()> {
    lua.app_data_ref::<Looks>().map_or(Ok(()), |looks| looks.look())
}

/// The bytes that the interpreter may take.
fn memory_max(lua: &Lua) -> usize {
    lua.app_data_ref::<Looks>().map_or(usize::MAX, |looks| looks.memory_max)
}

/// The bytes that may be made if there are this many copies of them.
fn room(lua: &Lua, copies: usize) -> usize {
    memory_max(lua).saturating_sub(lua.used_memory()) / copies
}

/// The work of one function: its steps until the next look, and the bytes that it may allocate.
pub(super) struct Work<'a> {
    lua: &'a Lua,
    /// The number of copies of each byte that the function makes.
    copies: usize,
    steps: usize,
    made: usize,
    most: usize,
    /// The garbage of the script has been collected, so no more memory can be freed.
    is_tidied: bool,
}

impl<'a> Work<'a> {
    /// For a function that may make as much as the interpreter has left.
    pub(super) fn new(lua: &'a Lua) -> Self {
        Self::with_copies(lua, COPIES)
    }

    /// For a command of a script, which may have as much as the interpreter has left. It exists
    /// once.
    pub(super) fn asking(lua: &'a Lua) -> Self {
        Self::with_copies(lua, 1)
    }

    /// For the reply of a script, which may be half as large as the interpreter. Its buffer may
    /// grow to twice its size.
    pub(super) fn replying(lua: &'a Lua) -> Self {
        Self { lua, copies: 1, steps: 0, made: 0, most: memory_max(lua) / 2, is_tidied: true }
    }

    fn with_copies(lua: &'a Lua, copies: usize) -> Self {
        let most = room(lua, copies);
        Self { lua, copies, steps: 0, made: 0, most, is_tidied: false }
    }

    /// Counts steps, and looks from time to time.
    #[inline]
    pub(super) fn step(&mut self, steps: usize) -> std::result::Result<(), Oops> {
        self.steps += steps;
        if self.steps < STEPS {
            return Ok(());
        }
        self.steps = 0;
        Ok(look(self.lua)?)
    }

    /// Counts bytes that are made. Returns an error once they exceed the limit.
    #[inline]
    pub(super) fn take(&mut self, bytes: usize) -> std::result::Result<(), Oops> {
        self.made = self.made.saturating_add(bytes);
        if self.made > self.most {
            self.tidy()?;
        }
        self.step(1 + bytes / 16)
    }

    /// Collects the garbage of the script, once. Returns an error if that does not suffice.
    #[cold]
    fn tidy(&mut self) -> std::result::Result<(), Oops> {
        if !std::mem::replace(&mut self.is_tidied, true) {
            self.lua.gc_collect()?;
            self.most = room(self.lua, self.copies);
        }
        if self.made > self.most { Err(NOT_ENOUGH_MEMORY.into()) } else { Ok(()) }
    }
}

/// The bytes that a function makes, within its limit.
pub(super) struct Made<'a> {
    bytes: Vec<u8>,
    work: Work<'a>,
}

impl<'a> Made<'a> {
    pub(super) fn new(lua: &'a Lua) -> Self {
        Self { bytes: vec![], work: Work::new(lua) }
    }

    pub(super) fn push(&mut self, byte: u8) -> std::result::Result<(), Oops> {
        self.extend(&[byte])
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) -> std::result::Result<(), Oops> {
        self.work.take(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) const fn work(&mut self) -> &mut Work<'a> {
        &mut self.work
    }

    pub(super) const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes as a Lua string.
    pub(super) fn string(self) -> std::result::Result<mlua::Value, Oops> {
        Ok(mlua::Value::String(self.work.lua.create_string(self.bytes)?))
    }
}
