//! Decides whether another policy is better than the one in force: beyond chance, by enough, and
//! often enough in a row.

use tune::pilot::Trial;

/// A policy must wait less than the one in force by this share, beyond chance, `TIMES` times in a
/// row.
const BETTER: f64 = 0.05;
const TIMES: u32 = 3;

/// The policy that was better last, and its number of times in a row.
#[derive(Debug, Default)]
pub(super) struct Better {
    name: String,
    times: u32,
}

impl Better {
    /// Takes the trials of an epoch. Returns a policy that was better than `policy` often enough,
    /// if any. It considers the server's LRU and LFU for all keys.
    pub(super) fn see(&mut self, policy: &str, trials: &[Trial]) -> Option<String> {
        let name = |trial: &Trial| match trial.evictor?.policy {
            "klru" => Some("allkeys-lru"),
            "lfu" => Some("allkeys-lfu"),
            _ => None,
        };
        if !policy.starts_with("allkeys-") {
            // The operator has chosen to evict only keys with a time to live.
            return None;
        }
        let least = trials
            .iter()
            .filter_map(|trial| Some((name(trial)?, trial)))
            .filter(|(name, _)| *name != policy)
            .min_by(|(_, a), (_, b)| a.waits.total_cmp(&b.waits));
        let Some((name, _)) = least.filter(|(_, one)| one.waits + one.band < 1.0 - BETTER) else {
            *self = Self::default();
            return None;
        };
        let times = if self.name == name { self.times + 1 } else { 1 };
        *self = Self { name: name.to_owned(), times };
        (times >= TIMES).then(|| name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tune::Evictor;

    #[test]
    fn it_takes_three_times_in_a_row() {
        let of = |evictor, waits| Trial { evictor: Some(evictor), waits, band: 0.01, misses: 1.0 };
        let lfu = |waits| [of(Evictor::klru_pool(5), 1.0), of(Evictor::LFU, waits)];
        let mut better = Better::default();
        let see = |better: &mut Better, waits| better.see("allkeys-lru", &lfu(waits));
        assert_eq!((see(&mut better, 0.9), see(&mut better, 0.9)), (None, None));
        assert_eq!(see(&mut better, 0.95), None, "within chance: from the beginning");
        assert_eq!((see(&mut better, 0.9), see(&mut better, 0.9)), (None, None));
        assert_eq!(see(&mut better, 0.9).as_deref(), Some("allkeys-lfu"));
        assert_eq!(better.see("volatile-lru", &lfu(0.5)), None);
    }
}
