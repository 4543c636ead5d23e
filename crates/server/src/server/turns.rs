//! Turns of the workers: batches, exclusive sections, and the script that holds the gate.

use super::server::Server;
use super::view::View;
use crate::services::running_script::UNKILLABLE;
use store::Entered;

impl Server {
    /// Begins a batch of a worker. It waits while another worker runs alone, but not for a script
    /// that has held the gate for too long.
    #[inline]
    pub(crate) fn enter(&self, view: &View, worker: usize) -> Entered {
        self.gate.enter(worker, || self.is_busy(view))
    }

    /// Whether a script has held the gate for so long that other clients get BUSY.
    pub(crate) fn is_busy(&self, view: &View) -> bool {
        let most = view.settings.busy_reply_threshold;
        let since = self.gate.script().since_ms().filter(|_| most > 0);
        let now_ms = || self.clock.micros().0 / 1_000;
        since.is_some_and(|since| now_ms().saturating_sub(since) >= most)
    }

    /// Ends the running script (or function).
    pub(crate) fn kill_script(&self, is_function: bool) -> Result<(), &'static str> {
        self.scripts.running.may_end(is_function)?;
        if self.gate.script().kill() { Ok(()) } else { Err(UNKILLABLE) }
    }
}
