//! Looks: where a script that runs lets others be answered, and hears whether it is to end.
//!
//! The hook of the interpreter looks every so many instructions (`vm.rs`). Between two of those a
//! script may be in a function of Rust for long, so each function whose work grows with what it is
//! given looks as it goes, by a [`Work`]. A `Work` bounds memory too: what a function allocates
//! counts with the memory of the interpreter, and both share one limit.
//!
//! What ends a script is an error that the script cannot catch ([`Ended`]): the prelude passes the
//! error on.

use super::answer::{NOT_ENOUGH_MEMORY, Oops};
use super::running::Running;
use crate::gate::Script;
use crate::worker;
use mlua::{Lua, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Steps of a function in Rust between two looks: some milliseconds of the slowest.
const STEPS: usize = 1 << 18;
/// Bytes that a function needs for each byte that it makes: a buffer that grows is there twice for
/// a moment, and the string of Lua is one more.
const COPIES: usize = 3;

/// Microseconds without a look from which on a command is followed by one.
const LATE_US: u64 = 10_000;

/// Why a script ends before its time.
#[derive(Debug)]
pub(super) struct Ended(&'static str);

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Ended {}

impl Ended {
    /// The error that ends a script for this reason.
    pub(super) fn raised(text: &'static str) -> mlua::Error {
        mlua::Error::ExternalError(Arc::new(Self(text)))
    }

    /// Whether an error is one that ends a script.
    pub(super) fn is_in(error: &mlua::Error) -> bool {
        match error {
            mlua::Error::CallbackError { cause, .. } | mlua::Error::WithContext { cause, .. } => {
                Self::is_in(cause)
            }
            mlua::Error::ExternalError(cause) => cause.is::<Self>(),
            _ => false,
        }
    }
}

/// What a look looks at. The interpreter has one.
#[derive(Debug)]
pub(super) struct Looks {
    running: Arc<Running>,
    script: Arc<Script>,
    /// Bytes that the interpreter may take.
    memory_max: usize,
    made: Instant,
    /// When the last look of the hook was, in microseconds since `made`.
    last: AtomicU64,
}

impl Looks {
    pub(super) fn new(running: Arc<Running>, script: Arc<Script>, memory_max: usize) -> Self {
        Self { running, script, memory_max, made: Instant::now(), last: AtomicU64::new(0) }
    }

    /// Lets clients of this thread be answered, one of whom may end the script. An error if the
    /// script is to end.
    pub(super) fn look(&self) -> Result<()> {
        worker::serve_meanwhile();
        self.running.ends(self.script.is_killed()).map_or(Ok(()), |text| Err(Ended::raised(text)))
    }

    /// Microseconds since this was asked before.
    pub(super) fn elapsed(&self) -> u64 {
        let now = self.made.elapsed().as_micros() as u64;
        now.saturating_sub(self.last.swap(now, Relaxed))
    }

    /// Looks behind a command, if it took long or must be looked for.
    pub(super) fn look_if_late(&self, must: bool) -> Result<()> {
        let now = self.made.elapsed().as_micros() as u64;
        if !must && now.saturating_sub(self.last.load(Relaxed)) < LATE_US {
            return Ok(());
        }
        self.last.store(now, Relaxed);
        self.look()
    }
}

/// Looks once. An error if the script is to end.
pub(super) fn look(lua: &Lua) -> Result<()> {
    lua.app_data_ref::<Looks>().map_or(Ok(()), |looks| looks.look())
}

/// Bytes that the interpreter may take.
fn memory_max(lua: &Lua) -> usize {
    lua.app_data_ref::<Looks>().map_or(usize::MAX, |looks| looks.memory_max)
}

/// Bytes that may be made of which there are so many copies.
fn room(lua: &Lua, copies: usize) -> usize {
    memory_max(lua).saturating_sub(lua.used_memory()) / copies
}

/// The work of one function: how much it does until the next look, and how much it may allocate.
pub(super) struct Work<'a> {
    lua: &'a Lua,
    /// How often there is what it makes.
    copies: usize,
    steps: usize,
    made: usize,
    most: usize,
    /// What is left behind by the script was collected: there is no more to be had.
    is_tidied: bool,
}

impl<'a> Work<'a> {
    /// The function may make as much as the interpreter has left.
    pub(super) fn new(lua: &'a Lua) -> Self {
        Self::with_copies(lua, COPIES)
    }

    /// A command of a script may have as much as the interpreter has left: it is there once.
    pub(super) fn asking(lua: &'a Lua) -> Self {
        Self::with_copies(lua, 1)
    }

    /// The reply of a script may be half as large as the interpreter: its buffer may grow to twice
    /// of that.
    pub(super) fn replying(lua: &'a Lua) -> Self {
        Self { lua, copies: 1, steps: 0, made: 0, most: memory_max(lua) / 2, is_tidied: true }
    }

    fn with_copies(lua: &'a Lua, copies: usize) -> Self {
        let most = room(lua, copies);
        Self { lua, copies, steps: 0, made: 0, most, is_tidied: false }
    }

    /// Counts steps, and looks now and then.
    #[inline]
    pub(super) fn step(&mut self, steps: usize) -> std::result::Result<(), Oops> {
        self.steps += steps;
        if self.steps < STEPS {
            return Ok(());
        }
        self.steps = 0;
        Ok(look(self.lua)?)
    }

    /// Counts bytes that are made; an error once they are too many.
    #[inline]
    pub(super) fn take(&mut self, bytes: usize) -> std::result::Result<(), Oops> {
        self.made = self.made.saturating_add(bytes);
        if self.made > self.most {
            self.tidy()?;
        }
        self.step(1 + bytes / 16)
    }

    /// Collects what the script left behind, once; an error if that is not enough.
    #[cold]
    fn tidy(&mut self) -> std::result::Result<(), Oops> {
        if !std::mem::replace(&mut self.is_tidied, true) {
            self.lua.gc_collect()?;
            self.most = room(self.lua, self.copies);
        }
        if self.made > self.most { Err(NOT_ENOUGH_MEMORY.into()) } else { Ok(()) }
    }
}

/// Bytes that a function makes, as far as it may.
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

    /// The bytes as a string of Lua.
    pub(super) fn string(self) -> std::result::Result<mlua::Value, Oops> {
        Ok(mlua::Value::String(self.work.lua.create_string(self.bytes)?))
    }
}
