//! Hooks around commands: MONITOR, the clock, HOTKEYS, client-side caches, a pause.
//!
//! Whether any hook is set is checked once for a batch. Without hooks a command pays one test.

use super::{admit, hot_keys, missing_keys, monitor, run, slow, tracking};
use crate::call::Call;
use crate::server::{Server, View};
use crate::services::hot_keys::Cost;
use crate::services::monitors;
use crate::services::stats;
use std::time::Instant;

/// The hooks through which the commands of a batch run.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each looks for itself")]
pub(crate) struct Hooks {
    monitored: bool,
    /// The number of batches for which this one is timed; 0 if it is not timed.
    timed: u64,
    counted: bool,
    pub(crate) tracked: bool,
    paused: bool,
    /// Some notifications are about keys that do not exist.
    absent: bool,
    /// A script holds the gate for too long: only commands that may end it run.
    is_busy: bool,
}

impl Hooks {
    /// The hooks that are set now. A timed batch stands for `timed` batches.
    pub(crate) fn of(server: &Server, view: &View, timed: u64, now_ms: u64, is_busy: bool) -> Self {
        Self {
            monitored: server.monitors.is_wanted(monitors::MONITOR | monitors::TRACE),
            timed,
            counted: server.hotkeys.is_active(),
            tracked: server.tracking.is_active(),
            paused: server.pause.until(now_ms).is_some(),
            absent: missing_keys::looks_for_absent(view),
            is_busy,
        }
    }

    pub(crate) const fn is_paid(self) -> bool {
        let timed = self.timed > 0;
        let seen = self.monitored | timed | self.counted | self.tracked;
        seen | self.paused | self.absent | self.is_busy
    }

    /// Runs a command of `len` bytes. Returns false if the command must wait.
    #[inline(never)]
    pub(crate) fn execute(self, call: &mut Call<'_>, counters: &stats::Worker, len: usize) -> bool {
        if self.paused && admit::waits(call) {
            return false;
        }
        if self.is_busy && run::refuse_busy(call, counters) {
            return true;
        }
        if self.monitored {
            monitor::show(call);
        }
        if self.tracked {
            tracking::before(call);
        }
        let absent = if self.absent { missing_keys::before(call) } else { vec![] };
        let (from, began) = (call.out.mark(), Instant::now());
        let number = run::execute(call, counters);
        let elapsed = began.elapsed();
        if self.counted {
            let bytes = (len + call.out.mark().saturating_sub(from)) as u64;
            hot_keys::note(call, Cost { nanos: elapsed.as_nanos() as u64, bytes });
        }
        if self.timed > 0
            && let Some(number) = number
        {
            counters.time(number, elapsed.as_micros() as u64, self.timed);
            slow::note_keys(call, counters, number);
        }
        if self.tracked {
            tracking::after(call, from);
        }
        missing_keys::after(call, &absent);
        true
    }
}
