//! No verdict: the model of a server is off from the server by more than chance explains.

use super::verdict::Advice;
use crate::report::format::bytes;

impl Advice {
    /// Why nothing can be said, if nothing can.
    pub(super) fn no_verdict(&self) -> Option<String> {
        if self.evicts && self.there <= self.memory {
            return Some(format!(
                "No verdict: all items requested during the capture take {} of {}, and yet the \
                 server evicts. The server also holds keys that no client requested in that time: \
                 watch longer, with --for 10m --window all.",
                bytes(self.there),
                bytes(self.memory)
            ));
        }
        let server = self.server_miss_ratio?;
        let apart = (server - self.miss_ratio).abs();
        (apart > self.miss_band && !self.fits()).then(|| {
            format!(
                "No verdict: the server missed {:.0} % of the reads and its model {:.0} %, more \
                 than the {:.0} percentage points that chance explains. The model does not know \
                 what the server held before the capture: watch longer, with --for 10m --window \
                 all.",
                100.0 * server,
                100.0 * self.miss_ratio,
                100.0 * self.miss_band
            )
        })
    }
}
