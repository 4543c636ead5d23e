//! The number of watched requests per second, and the number of keys to watch at that pace.

use base::Micros;

/// The least number of keys, whatever the pace.
const KEYS_MIN: usize = 100;
/// Time over which the pace is measured.
const OVER: Micros = Micros::from_millis(250);

/// Measures the pace, and bounds the watched keys by it.
#[derive(Debug)]
pub struct Pace {
    since: Micros,
    requests: usize,
    /// Watched requests per second above which fewer keys are watched.
    requests_max: f64,
    keys_max: usize,
}

impl Pace {
    /// A pace above which, at this number of requests per second, fewer keys are watched.
    pub const fn of(requests_max: f64) -> Self {
        Self { since: Micros(0), requests: 0, requests_max, keys_max: usize::MAX }
    }

    /// The most keys to watch at this pace.
    pub const fn keys_max(&self) -> usize {
        self.keys_max
    }

    /// Counts `requests` more requests to `watched` watched keys until now.
    pub fn note(&mut self, requests: usize, watched: usize, now: Micros) {
        self.requests += requests;
        let time = now.saturating_sub(self.since);
        if time < OVER {
            return;
        }
        let pace = self.requests as f64 / time.as_f64() * 1e6;
        (self.since, self.requests) = (now, 0);
        if pace > self.requests_max {
            // The number shrinks in proportion, but at most to a quarter at a time, because keys
            // differ.
            let share = (self.requests_max / pace).max(0.25);
            self.keys_max = ((watched as f64 * share) as usize).max(KEYS_MIN);
        } else if pace < self.requests_max / 4.0 && self.keys_max < usize::MAX {
            self.keys_max = self.keys_max.saturating_mul(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_requests_fewer_keys_are_watched() {
        let (mut pace, mut now) = (Pace::of(10_000.0), Micros(1_000_000));
        let mut second = |pace: &mut Pace, requests: usize, watched: usize| {
            now += Micros(1_000_000);
            pace.note(requests, watched, now);
            pace.keys_max()
        };
        assert_eq!(second(&mut pace, 5_000, 12_000), usize::MAX);
        assert_eq!(second(&mut pace, 20_000, 12_000), 6_000, "at twice the pace a half");
        assert_eq!(second(&mut pace, 1_000_000, 6_000), 1_500, "a quarter at most at a time");
        assert_eq!(second(&mut pace, 1_000_000, 300), KEYS_MIN);
        assert_eq!(second(&mut pace, 5_000, 100), KEYS_MIN);
        assert_eq!(second(&mut pace, 1_000, 100), 2 * KEYS_MIN);
    }
}
