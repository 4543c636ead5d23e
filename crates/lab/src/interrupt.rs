//! An interrupt (Ctrl-C) in a command that writes a file.
//!
//! The first interrupt asks the command to stop. The part of a pipe that was read is a trace too; a
//! file that is half read leaves no output behind. The second interrupt ends the command at once.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user wants the command to stop.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Begins to listen to SIGINT and SIGTERM.
    ///
    /// # Errors
    /// The system refuses to register a handler.
    pub(crate) fn listen() -> io::Result<Self> {
        let wanted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&wanted))?;
            flag::register(signal, Arc::clone(&wanted))?;
        }
        Ok(Self(wanted))
    }

    /// Like [`Self::listen`], for a command that has something to restore: SIGHUP, from a closed
    /// terminal, asks it to stop, too.
    ///
    /// # Errors
    /// The system refuses to register a handler.
    pub(crate) fn listen_to_the_end() -> io::Result<Self> {
        let interrupt = Self::listen()?;
        flag::register(SIGHUP, Arc::clone(&interrupt.0))?;
        Ok(interrupt)
    }

    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
