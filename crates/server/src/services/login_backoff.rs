//! Clients that send wrong passwords: a delay makes guessing slow.
//!
//! The answer to a wrong password is delayed. Each further one from the same host doubles the
//! delay, up to `auth-delay-max`. Meanwhile the server does not read that connection, but the other
//! clients do not wait. Attempts in all protocols count together.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The delay after the first wrong password, in milliseconds; each further one doubles it.
const DELAY_MS: u64 = 25;
/// After this time without a wrong password the host's attempts are forgotten.
const FORGET_MS: u64 = 60_000;
/// The largest number of hosts. When it is reached, a new host clears the table.
const HOSTS_MAX: usize = 10_000;

/// Wrong passwords by host.
#[derive(Debug, Default)]
pub(crate) struct LoginBackoff(Mutex<BTreeMap<String, (u32, u64)>>);

impl LoginBackoff {
    /// Counts a wrong password from an address. Returns the delay of the answer, at most `most_ms`.
    /// The log names the host at its first attempt, and at the first that reaches the longest
    /// delay.
    pub(crate) fn delay_ms(&self, address: &str, now_ms: u64, most_ms: u64) -> u64 {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= HOSTS_MAX && !hosts.contains_key(host) {
            hosts.clear();
        }
        let (count, last) = hosts.entry(host.to_owned()).or_default();
        if now_ms.saturating_sub(*last) > FORGET_MS {
            *count = 0;
        }
        *last = now_ms;
        *count = count.saturating_add(1);
        let delay_of = |count: u32| (DELAY_MS << (count - 1).min(20)).min(most_ms);
        let delay = delay_of(*count);
        if *count == 1 || delay == most_ms && delay_of(*count - 1) < most_ms {
            tracing::warn!(
                "wrong password from {host}: the server delays its answer by {delay} ms, and later \
                 ones by up to {most_ms} ms (auth-delay-max)"
            );
        }
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_password_costs_more_and_time_heals() {
        let attempts = LoginBackoff::default();
        let delays: Vec<_> = (0..9).map(|at| attempts.delay_ms("1.2.3.4:5", at, 2_000)).collect();
        assert_eq!(delays, [25, 50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
        assert_eq!(
            attempts.delay_ms("1.2.3.4:99", 10, 2_000),
            2_000,
            "another port is no other host"
        );
        assert_eq!(attempts.delay_ms("1.2.3.5:5", 10, 2_000), 25);
        assert_eq!(attempts.delay_ms("1.2.3.6:5", 10, 0), 0, "switched off");
        assert_eq!(attempts.delay_ms("1.2.3.4:5", 70_000, 2_000), 25);
        for host in 0..2 * HOSTS_MAX {
            attempts.delay_ms(&format!("host{host}:1"), 0, 2_000);
        }
        assert!(attempts.0.lock().unwrap().len() <= HOSTS_MAX);
    }
}
