//! The running script, as other threads see it: its kind, and whether it must end.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use wire::resp::{Command, Words};

const NOTHING: u8 = 0;
const SCRIPT: u8 = 1;
const FUNCTION: u8 = 2;

/// The memory in bytes that a call of a function may keep for the next one.
const KEPT_MAX: usize = 4 << 10;

/// A running function: its name, and the command that called it.
#[derive(Debug, Default)]
pub(crate) struct Called {
    pub(crate) name: String,
    pub(crate) command: Words,
}

/// The code that runs now, if any.
#[derive(Debug, Default)]
pub(crate) struct Running {
    kind: AtomicU8,
    called: Mutex<Called>,
    /// The time by which a library must have loaded.
    deadline: Mutex<Option<Instant>>,
}

impl Running {
    /// Sets or removes the time by which the running code must end.
    pub(crate) fn set_deadline(&self, deadline: Option<Instant>) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
    }

    /// Notes that a script begins.
    pub(crate) fn begin(&self) {
        self.kind.store(SCRIPT, Ordering::Release);
    }

    /// Notes that a command has called a function.
    pub(crate) fn begin_function(&self, name: &str, command: Command<'_>) {
        let mut called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        called.name.clear();
        called.name.push_str(name);
        called.command.shrink_to(KEPT_MAX);
        command.iter_from(0).for_each(|word| called.command.push(word));
        self.kind.store(FUNCTION, Ordering::Release);
    }

    /// Notes that the script or function has ended.
    pub(crate) fn end(&self) {
        self.kind.store(NOTHING, Ordering::Release);
    }

    /// The reason why it must end; `None` if it need not.
    pub(crate) fn ends(&self, is_killed: bool) -> Option<&'static str> {
        let deadline = *self.deadline.lock().unwrap_or_else(PoisonError::into_inner);
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Some("FUNCTION LOAD timeout");
        }
        if !is_killed {
            return None;
        }
        Some(match self.kind.load(Ordering::Relaxed) {
            FUNCTION => "Script killed by user with FUNCTION KILL.",
            _ => "Script killed by user with SCRIPT KILL...",
        })
    }

    /// The running function; an error if a script runs.
    pub(crate) fn function(&self) -> Result<Option<MutexGuard<'_, Called>>, &'static str> {
        match self.kind.load(Ordering::Acquire) {
            NOTHING => Ok(None),
            FUNCTION => Ok(Some(self.called.lock().unwrap_or_else(PoisonError::into_inner))),
            _ => Err(BUSY_WITH_SCRIPT),
        }
    }

    /// Checks that a script (or a function) runs and may be ended.
    pub(crate) fn may_end(&self, is_function: bool) -> Result<(), &'static str> {
        match self.kind.load(Ordering::Acquire) {
            NOTHING => Err("NOTBUSY No scripts in execution right now."),
            SCRIPT if is_function => Err(BUSY_WITH_SCRIPT),
            FUNCTION if !is_function => Err("BUSY Redis is busy running a script. You can only \
                                             call FUNCTION KILL or SHUTDOWN NOSAVE."),
            _ => Ok(()),
        }
    }
}

const BUSY_WITH_SCRIPT: &str =
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
pub(crate) const UNKILLABLE: &str = "UNKILLABLE Sorry the script already executed write commands \
    against the dataset. You can either wait the script termination or kill the server in a hard \
    way using the SHUTDOWN NOSAVE command.";

thread_local! {
    /// Serves the other clients of this thread; `net/busy_worker.rs` sets it.
    static MEANWHILE: Cell<fn()> = const { Cell::new(|| ()) };
}

/// Sets the function that serves the other clients of this thread while a script runs.
pub(crate) fn set_meanwhile(serve: fn()) {
    MEANWHILE.set(serve);
}

/// Serves the other clients of this thread, if the script has kept them waiting for too long.
pub(crate) fn serve_meanwhile() {
    MEANWHILE.get()();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_runs_may_be_ended() {
        let running = Running::default();
        assert!(running.may_end(false).is_err(), "nothing runs");
        running.begin();
        assert!(running.may_end(true).is_err(), "it is no function");
        running.may_end(false).unwrap();
        assert!(running.ends(false).is_none() && running.ends(true).is_some());
        running.end();
        assert!(running.may_end(false).is_err(), "it has ended");
    }
}
