//! The pilot of a Redis or Valkey without a module.

use base::Micros;
use tune::{Evictor, Pilot, Recipe};

/// Numbers of candidates that are tried beside the server's own setting.
const KS: [u8; 5] = [1, 2, 5, 10, 16];
/// Weight of a burst's requests in the next burst.
const KEEP: f64 = 0.85;
const SEED: u64 = 1;

/// The pilot for a policy. For K-LRU it chooses the number of candidates. It also tries other
/// policies.
pub(super) fn pilot(chosen: Recipe, window: Micros, (policy, k): (&str, u8), acts: bool) -> Pilot {
    let evictors = match policy {
        "allkeys-lfu" | "volatile-lfu" => vec![Evictor::LFU],
        "allkeys-random" | "volatile-random" => {
            vec![Evictor { policy: "random", k: 0, pool: false }]
        }
        _ => {
            let others = KS.into_iter().filter(|&other| other != k);
            std::iter::once(k).chain(others).map(Evictor::klru_pool).collect()
        }
    };
    let chosen = Recipe {
        // Leaks one list for each change of policy; such changes are few.
        evictors: evictors.leak(),
        curves: Some("krr"),
        epoch: window,
        interval: 0,
        rate: None,
        keep: KEEP,
        ..chosen
    };
    let pilot = Pilot::new(chosen, SEED);
    if acts { pilot } else { pilot.only_watching() }
}
