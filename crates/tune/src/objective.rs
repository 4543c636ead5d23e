//! The objective of a plan.

use serde::Serialize;
use std::fmt;

/// The quantity that a plan minimises, summed over the pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// Time spent waiting for misses: reads a second × miss ratio × penalty × weight, in
    /// microseconds a second [kRedis eq. 5]. The time of a hit is the same everywhere and drops
    /// out.
    #[default]
    Latency,
    /// Hits lost a second: reads a second × miss ratio × weight [kRedis eq. 7]. Alone it starves
    /// slow tenants (in the paper's own table three of four fell below a plain cache). So no pool
    /// may do much worse than with its share by weight: see [`Objective::slack`].
    Hits,
    /// Hits lost a second, without that floor, for pools that belong to one owner: its classes of
    /// sizes [LAMA, section 3.5].
    Misses,
}

impl Objective {
    /// Cost of a pool at a miss ratio.
    pub fn cost(self, reads_per_s: f64, penalty_us: f64, weight: f64, miss_ratio: f64) -> f64 {
        let lost = reads_per_s * miss_ratio * weight;
        match self {
            Self::Latency => lost * penalty_us,
            Self::Hits | Self::Misses => lost,
        }
    }

    /// The relative excess of misses that a pool may have over its share by weight, if the
    /// objective needs such a floor.
    pub const fn slack(self) -> Option<f64> {
        match self {
            Self::Latency | Self::Misses => None,
            Self::Hits => Some(0.1),
        }
    }

    /// The unit of the cost.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Latency => "µs waited per second",
            Self::Hits | Self::Misses => "hits lost per second",
        }
    }

    /// Reads `latency`, `hits` or `misses`.
    ///
    /// # Errors
    /// A sentence that names the objectives.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "latency" => Ok(Self::Latency),
            "hits" => Ok(Self::Hits),
            "misses" => Ok(Self::Misses),
            _ => Err(format!("unknown objective '{text}': choose latency, hits or misses")),
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Latency => "latency",
            Self::Hits => "hits",
            Self::Misses => "misses",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// pRedis' motivation: rates 5:3:2, penalties 10, 200 and 200 ms. Plain LRU misses in the
    /// second and third class and waits 100 ms a request; with (2, 3, 0) only the third class
    /// misses: 40 ms.
    #[test]
    fn predis_motivation() {
        let cost = |ratios: [f64; 3]| -> f64 {
            let pools = [(0.5, 10.0), (0.3, 200.0), (0.2, 200.0)];
            pools
                .iter()
                .zip(ratios)
                .map(|((rate, penalty), ratio)| {
                    Objective::Latency.cost(*rate, *penalty, 1.0, ratio)
                })
                .sum()
        };
        assert!((cost([0.0, 1.0, 1.0]) - 100.0).abs() < 1e-9);
        assert!((cost([0.0, 0.0, 1.0]) - 40.0).abs() < 1e-9);
        assert!((cost([1.0, 0.0, 1.0]) - 45.0).abs() < 1e-9);
    }

    #[test]
    fn names_are_read_back() {
        for objective in [Objective::Latency, Objective::Hits, Objective::Misses] {
            assert_eq!(Objective::parse(&objective.to_string()), Ok(objective));
        }
        assert!(Objective::parse("fame").unwrap_err().contains("hits"));
    }
}
