//! Commands that somebody looks at: MONITOR, the clock, HOTKEYS, client side caches, a pause.
//!
//! Whether anybody does is asked once for a batch; while nobody does, a command pays one test.

use crate::commands::{self, Call, flag, monitor, tracking};
use crate::hotkeys::Cost;
use crate::hub;
use crate::shared::Shared;
use crate::stats;
use std::time::Instant;

/// Who looks at the commands of a batch.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each looks for itself")]
pub(super) struct Attention {
    monitored: bool,
    timed: bool,
    counted: bool,
    pub(super) tracked: bool,
    paused: bool,
}

impl Attention {
    /// Who looks now; `timed` is whether this batch is one of those that are timed.
    pub(super) fn of(shared: &Shared, timed: bool, now_ms: u64) -> Self {
        Self {
            monitored: shared.hub.is_wanted(hub::MONITOR | hub::TRACE),
            timed,
            counted: shared.hotkeys.is_active(),
            tracked: shared.tracking.is_active(),
            paused: shared.pause.until(now_ms).is_some(),
        }
    }

    pub(super) const fn is_paid(self) -> bool {
        self.monitored | self.timed | self.counted | self.tracked | self.paused
    }

    /// Carries out a command of `len` bytes; false if it has to wait.
    #[inline(never)]
    pub(super) fn execute(self, call: &mut Call<'_>, counters: &stats::Worker, len: usize) -> bool {
        if self.paused && must_wait(call) {
            return false;
        }
        if self.monitored {
            monitor::show(call);
        }
        if self.tracked {
            tracking::before(call);
        }
        let (from, began) = (call.out.mark(), Instant::now());
        let number = commands::execute(call, counters);
        let elapsed = began.elapsed();
        if self.counted {
            let bytes = (len + call.out.mark().saturating_sub(from)) as u64;
            commands::hotkeys::note(call, Cost { nanos: elapsed.as_nanos() as u64, bytes });
        }
        if self.timed
            && let Some(number) = number
        {
            counters.time(number, elapsed.as_micros() as u64);
        }
        if self.tracked {
            tracking::after(call);
        }
        true
    }
}

/// Whether a command has to wait for the end of a pause.
fn must_wait(call: &Call<'_>) -> bool {
    let Some(number) = commands::find(call.arg(0)) else { return false };
    let command = commands::get(number);
    if command.name == "client" && call.is(1, "unpause") {
        return false;
    }
    let ends = command.name == "exec" && call.session.transaction.is_some();
    let queued = call.session.transaction.is_some() && !command.has(flag::UNQUEUED);
    let writes = command.has(flag::WRITE) || matches!(command.name, "publish" | "spublish");
    call.shared.pause.holds(ends || writes && !queued)
}
