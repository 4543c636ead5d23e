//! Clients that used memcached's binary protocol, which is refused.

use super::clock::Clock;
use crate::text::log_throttle::LogThrottle;

/// The number of clients that used the binary protocol.
#[derive(Debug, Default)]
pub(crate) struct Binary(LogThrottle);

impl Binary {
    /// Counts a refused client, and logs the count at most once a minute.
    pub(crate) fn count(&self, clock: &Clock, address: &str) {
        if let Some((since, refused)) = self.0.count(clock.micros().0 / 1_000) {
            tracing::warn!(
                "closed client {address}: it uses memcached's binary protocol: make it use the \
                 text protocol; {since} such connections since the last such line, {refused} in all"
            );
        }
    }
}
