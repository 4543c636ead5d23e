//! An interrupt (Ctrl-C) in a command that writes a file.
//!
//! The first is a request to stop: what was read from a pipe is a trace too, and a file that is
//! half read leaves nothing behind. The second ends the command at once.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user wants the command to stop.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Begins to listen.
    ///
    /// # Errors
    /// What the machine said.
    pub(crate) fn listen() -> io::Result<Self> {
        let wanted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&wanted))?;
            flag::register(signal, Arc::clone(&wanted))?;
        }
        Ok(Self(wanted))
    }

    /// The same for a command that has something to put back: a closed terminal is a request to
    /// stop, too.
    ///
    /// # Errors
    /// What the machine said.
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
