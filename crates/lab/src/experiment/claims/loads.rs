//! The loads for tests of claims.

use super::load::{Asks, PLAIN, Pattern, Traffic};
use base::Bytes;

const MIB: u64 = 1 << 20;

/// The recipe of most loads.
const AUTO: &str = "auto";

/// A recipe that gives each tenant a budget.
const KREDIS: &str = "kredis";

/// Three tenants, each with its own miss cost. They include keys that are never written, removals
/// and times to live, and the load of one doubles at `shift_s`. This load has found the most
/// faults.
fn three(name: &'static str, memory: u64, shift_s: Option<u64>) -> Traffic {
    let jobs = Asks {
        name: "jobs",
        keys: 30_000,
        pattern: Pattern::Zipf(0.6),
        size: (4_000, 12_000),
        penalty_us: 1_200,
        never: 0.2,
        ..PLAIN
    };
    let web =
        Asks { keys: 20_000, size: (4_500, 13_500), penalty_us: 3_200, removes: 0.02, ..PLAIN };
    let search = Asks {
        name: "search",
        reads_per_s: 150.0,
        keys: 6_000,
        pattern: Pattern::Zipf(0.7),
        size: (6_000, 18_000),
        penalty_us: 28_000,
        ttl_s: 30,
        ..PLAIN
    };
    let mut asks = vec![(0, jobs), (0, web), (0, search)];
    if let Some(at) = shift_s {
        asks.push((at, Asks { reads_per_s: 350.0, keys: 18_000, ..search }));
    }
    Traffic { name, recipe: AUTO, memory: Bytes(memory), dense: None, asks }
}

/// A load with one tenant.
fn one(name: &'static str, memory: u64, asks: Asks) -> Traffic {
    Traffic { name, recipe: AUTO, memory: Bytes(memory), dense: None, asks: vec![(0, asks)] }
}

/// Two tenants whose misses cost 8 ms and 0.4 ms.
fn two(name: &'static str, recipe: &'static str, memory: u64) -> Traffic {
    let asks = vec![
        (0, Asks { keys: 15_000, penalty_us: 8_000, ..PLAIN }),
        (0, Asks { name: "jobs", pattern: Pattern::Zipf(0.6), penalty_us: 400, ..PLAIN }),
    ];
    Traffic { name, recipe, memory: Bytes(memory), dense: None, asks }
}

/// Tenants with different rates, numbers of keys and miss costs. The first has the highest rate.
fn many(name: &'static str, tenants: usize, memory: u64) -> Traffic {
    const NAMES: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN";
    let asks = (0..tenants).zip(0u32..).map(|(at, number)| {
        let asks = Asks {
            name: &NAMES[at..=at],
            reads_per_s: 400.0 / f64::from(1 + number),
            keys: 4_000 + 500 * u64::from(number % 8),
            pattern: Pattern::Zipf(0.6 + 0.05 * f64::from(number % 8)),
            penalty_us: 500 * (1 + u64::from(number % 8).pow(2)),
            ..PLAIN
        };
        (0, asks)
    });
    Traffic { name, recipe: AUTO, memory: Bytes(memory), dense: None, asks: asks.collect() }
}

/// A tenant that alternates between its own pattern and a loop over all keys.
fn turns(name: &'static str, memory: u64, asks: Asks) -> Traffic {
    const TURN_S: u64 = 100;
    let pattern = |turn: u64| if turn.is_multiple_of(2) { asks.pattern } else { Pattern::Loop };
    let asks = (0..24).map(|turn| (TURN_S * turn, Asks { pattern: pattern(turn), ..asks }));
    Traffic { name, recipe: AUTO, memory: Bytes(memory), dense: None, asks: asks.collect() }
}

/// Every load, or only the first four in a quick run.
pub(super) fn all(quick: bool) -> Vec<Traffic> {
    let small = Asks { keys: 20_000, ..PLAIN };
    let shrinking = Asks { keys: 40_000, penalty_us: 10_000, ..PLAIN };
    let mut loads = vec![
        one("zipf", 8 * MIB, small),
        two("two tenants", AUTO, 12 * MIB),
        two("two tenants with budgets", KREDIS, 12 * MIB),
        Traffic { dense: Some(0.3), ..one("values that shrink", 8 * MIB, shrinking) },
    ];
    if quick {
        return loads;
    }
    let looped = Asks { keys: 14_000, pattern: Pattern::Loop, ..PLAIN };
    let dying = Asks { ttl_s: 60, keys: 12_000, pattern: Pattern::Zipf(0.8), ..PLAIN };
    let never = Asks { never: 0.3, removes: 0.05, ..small };
    loads.extend([
        one("loop", 8 * MIB, looped),
        one("times to live", 6 * MIB, dying),
        one("times to live, with room", 24 * MIB, dying),
        one("never written", 8 * MIB, never),
        Traffic { dense: Some(0.5), ..two("two tenants, values that shrink", AUTO, 8 * MIB) },
        Traffic {
            name: "loop beside zipf",
            recipe: AUTO,
            memory: Bytes(12 * MIB),
            dense: None,
            asks: vec![(0, small), (0, Asks { name: "scan", penalty_us: 500, ..looped })],
        },
        many("eight tenants", 8, 16 * MIB),
        many("forty tenants", 40, 64 * MIB),
        turns("zipf and loop by turns", 8 * MIB, Asks { keys: 14_000, ..PLAIN }),
        three("three tenants", 200 * MIB, None),
        Traffic { recipe: KREDIS, ..three("three tenants with budgets", 200 * MIB, None) },
        Traffic { recipe: KREDIS, ..many("eight tenants with budgets", 8, 16 * MIB) },
        three("three tenants, load doubles", 250 * MIB, Some(420)),
    ]);
    loads
}
