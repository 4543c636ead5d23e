//! On real traces, where they are at hand: the miss ratios that libCacheSim 0.3.5 gives.
//!
//! Where the definition of a policy is the same, four digits must be. Where it is not (ARC's step
//! in bytes, LIRS' demotions, the segments of SLRU), the policy is left out here and the difference
//! is explained in `docs/results/lab.md`. What draws at random must be within half a percentage
//! point, but for the three cells explained there; LHD must be as good or better.

use super::feed::Feed;
use super::play::{Plan, all};
use super::size::Size;
use crate::open::Options;
use std::path::Path;

/// Miss ratios by policy and size.
struct Case {
    trace: &'static str,
    /// Requests that are read.
    limit: u64,
    /// Whether objects count one each.
    ignore_size: bool,
    sizes: &'static [u64],
    ratios: &'static [(&'static str, &'static [f64])],
}

const EXACT: &[Case] = &[
    Case {
        trace: "arc_oltp",
        limit: u64::MAX,
        ignore_size: true,
        sizes: &[1869, 18_688, 46_720, 93_440],
        ratios: &[
            ("fifo", &[0.6341, 0.3666, 0.2931, 0.2349]),
            ("lru", &[0.5836, 0.3348, 0.2673, 0.2186]),
            ("clock", &[0.5782, 0.3314, 0.2640, 0.2181]),
            ("sieve", &[0.5970, 0.3334, 0.2628, 0.2199]),
            ("s3fifo", &[0.5353, 0.3234, 0.2624, 0.2224]),
            ("arc", &[0.5461, 0.3273, 0.2626, 0.2189]),
            ("2q", &[0.5411, 0.3233, 0.2745, 0.2331]),
            ("slru", &[0.5475, 0.3267, 0.2617, 0.2194]),
            ("lfu:0", &[0.8235, 0.5544, 0.3577, 0.2199]),
        ],
    },
    Case {
        trace: "c2k_web07",
        limit: u64::MAX,
        ignore_size: true,
        sizes: &[205, 2048, 5121, 10_242],
        ratios: &[
            ("fifo", &[0.6368, 0.4688, 0.3923, 0.3252]),
            ("lru", &[0.6083, 0.4434, 0.3712, 0.3080]),
            ("clock", &[0.6016, 0.4376, 0.3660, 0.3050]),
            ("sieve", &[0.5780, 0.4207, 0.3580, 0.3022]),
            ("s3fifo", &[0.5622, 0.4178, 0.3608, 0.3081]),
            ("arc", &[0.5807, 0.4194, 0.3556, 0.3017]),
            ("2q", &[0.5657, 0.4302, 0.3718, 0.3218]),
            ("slru", &[0.5691, 0.4217, 0.3641, 0.3062]),
            ("lfu:0", &[0.6936, 0.4836, 0.3650, 0.3022]),
        ],
    },
    Case {
        trace: "lirs_multi1",
        limit: u64::MAX,
        ignore_size: true,
        sizes: &[26, 261, 652, 1303],
        ratios: &[
            ("fifo", &[0.9897, 0.6588, 0.5716, 0.5402]),
            ("lru", &[0.9897, 0.5655, 0.5276, 0.5147]),
            ("clock", &[0.9896, 0.5587, 0.5240, 0.5123]),
            ("sieve", &[0.9443, 0.5311, 0.5049, 0.5016]),
            ("s3fifo", &[0.9055, 0.5016, 0.4122, 0.3141]),
            ("arc", &[0.9386, 0.5172, 0.5043, 0.5016]),
            ("2q", &[0.9343, 0.5279, 0.5186, 0.3825]),
            ("slru", &[0.9435, 0.5368, 0.4354, 0.3146]),
            ("lfu:0", &[0.9635, 0.5311, 0.5049, 0.5016]),
        ],
    },
    Case {
        trace: "tencent_blk_2706",
        limit: u64::MAX,
        ignore_size: true,
        sizes: &[346, 3457, 8643, 17_286],
        ratios: &[
            ("fifo", &[0.8415, 0.4683, 0.3988, 0.3621]),
            ("lru", &[0.8056, 0.3911, 0.3682, 0.3511]),
            ("clock", &[0.8009, 0.3859, 0.3685, 0.3626]),
            ("sieve", &[0.8474, 0.3919, 0.3704, 0.3630]),
            ("s3fifo", &[0.7555, 0.3904, 0.3747, 0.3580]),
            ("arc", &[0.7638, 0.3829, 0.3697, 0.3630]),
            ("2q", &[0.7735, 0.3978, 0.3791, 0.3619]),
            ("slru", &[0.9047, 0.3912, 0.3725, 0.3573]),
            ("lfu:0", &[0.9385, 0.4796, 0.3704, 0.3630]),
        ],
    },
    Case {
        trace: "tencent_blk_2706",
        limit: u64::MAX,
        ignore_size: false,
        sizes: &[23_625_000, 47_250_000, 118_125_000, 236_250_000],
        ratios: &[
            ("fifo", &[0.5583, 0.4692, 0.4003, 0.3747]),
            ("lru", &[0.4841, 0.3919, 0.3693, 0.3631]),
            ("clock", &[0.4583, 0.3836, 0.3687, 0.3631]),
            ("sieve", &[0.4114, 0.3823, 0.3694, 0.3633]),
            ("s3fifo", &[0.4059, 0.3886, 0.3729, 0.3577]),
        ],
    },
    Case {
        trace: "twitter_c52_a",
        limit: 1_000_000,
        ignore_size: false,
        sizes: &[29_227, 292_272, 1_461_361, 2_922_722, 7_306_804, 14_613_609],
        ratios: &[
            ("fifo", &[0.5346, 0.3673, 0.2740, 0.2328, 0.1881, 0.1629]),
            ("lru", &[0.5006, 0.3415, 0.2499, 0.2091, 0.1697, 0.1509]),
            ("clock", &[0.4969, 0.3409, 0.2499, 0.2089, 0.1696, 0.1510]),
            ("sieve", &[0.4847, 0.3270, 0.2338, 0.1983, 0.1661, 0.1502]),
            ("s3fifo", &[0.4934, 0.3088, 0.2153, 0.1877, 0.1631, 0.1506]),
            ("2q", &[0.4852, 0.3032, 0.2178, 0.1936, 0.1722, 0.1604]),
            ("belady", &[0.3722, 0.2448, 0.1725, 0.1523, 0.1435, 0.1435]),
        ],
    },
    Case {
        trace: "twitter_c52_a",
        limit: 1_000_000,
        ignore_size: true,
        sizes: &[143, 1435, 7177, 14_354, 35_885, 71_771],
        ratios: &[
            ("fifo", &[0.5301, 0.3636, 0.2709, 0.2302, 0.1871, 0.1626]),
            ("lru", &[0.4955, 0.3376, 0.2463, 0.2068, 0.1685, 0.1505]),
            ("clock", &[0.4933, 0.3371, 0.2474, 0.2074, 0.1696, 0.1514]),
            ("sieve", &[0.4884, 0.3216, 0.2313, 0.1973, 0.1663, 0.1512]),
            ("s3fifo", &[0.4877, 0.3031, 0.2138, 0.1876, 0.1640, 0.1509]),
            ("arc", &[0.4851, 0.3312, 0.2330, 0.1997, 0.1652, 0.1503]),
            ("2q", &[0.4758, 0.2962, 0.2141, 0.1922, 0.1716, 0.1603]),
            ("lfu:0", &[0.6099, 0.4625, 0.3458, 0.2902, 0.2139, 0.1543]),
            ("lru-k:history=0", &[0.5835, 0.4349, 0.3323, 0.2839, 0.2147, 0.1543]),
            ("belady", &[0.3633, 0.2386, 0.1684, 0.1500, 0.1435, 0.1435]),
        ],
    },
];

const DRAWN: &[Case] = &[
    Case {
        trace: "arc_oltp",
        limit: u64::MAX,
        ignore_size: true,
        sizes: &[1869, 18_688, 46_720, 93_440],
        ratios: &[
            ("random", &[0.6412, 0.3793, 0.2959, 0.2363]),
            ("klru:5", &[0.5928, 0.3402, 0.2686, 0.2215]),
        ],
    },
    Case {
        trace: "c2k_web07",
        limit: u64::MAX,
        ignore_size: true,
        sizes: &[205, 2048, 5121, 10_242],
        ratios: &[
            ("random", &[0.6465, 0.4775, 0.3955, 0.3252]),
            ("klru:5", &[0.6145, 0.4480, 0.3734, 0.3096]),
        ],
    },
    Case {
        trace: "tencent_blk_2706",
        limit: u64::MAX,
        ignore_size: true,
        sizes: &[346, 3457, 8643, 17_286],
        ratios: &[
            ("random", &[0.8447, 0.4768, 0.4044, 0.3687]),
            ("klru:5", &[0.8186, 0.4043, 0.3691, 0.3558]),
        ],
    },
    Case {
        trace: "lirs_multi1",
        limit: u64::MAX,
        ignore_size: true,
        sizes: &[26, 261, 652],
        ratios: &[("random", &[0.9722, 0.6631, 0.5390]), ("klru:5", &[0.9884, 0.5813, 0.5274])],
    },
    Case {
        trace: "tencent_blk_2706",
        limit: u64::MAX,
        ignore_size: false,
        sizes: &[23_625_000, 47_250_000, 118_125_000, 236_250_000],
        ratios: &[("klru:5", &[0.4976, 0.4046, 0.3706, 0.3587])],
    },
    Case {
        trace: "twitter_c52_a",
        limit: 1_000_000,
        ignore_size: false,
        sizes: &[29_227, 292_272, 1_461_361, 2_922_722, 7_306_804, 14_613_609],
        ratios: &[
            ("klru:5", &[0.5088, 0.3451, 0.2524, 0.2127, 0.1719, 0.1519]),
            ("klru:16", &[0.5019, 0.3420, 0.2502, 0.2094, 0.1699, 0.1511]),
            ("hyperbolic:size=0", &[0.4937, 0.3334, 0.2439, 0.2059, 0.1686, 0.1506]),
            ("lru+adaptsize", &[0.5401, 0.3605, 0.2531, 0.2152, 0.1761, 0.1512]),
        ],
    },
    Case {
        trace: "twitter_c52_a",
        limit: 1_000_000,
        ignore_size: false,
        sizes: &[292_272, 1_461_361, 2_922_722, 7_306_804, 14_613_609],
        ratios: &[("random", &[0.3775, 0.2766, 0.2372, 0.1894, 0.1605])],
    },
    Case {
        trace: "twitter_c52_a",
        limit: 1_000_000,
        ignore_size: true,
        sizes: &[143, 1435, 7177, 14_354, 35_885, 71_771],
        ratios: &[
            ("klru:5", &[0.5033, 0.3412, 0.2489, 0.2098, 0.1711, 0.1516]),
            ("klru:16", &[0.4967, 0.3380, 0.2466, 0.2067, 0.1689, 0.1507]),
            ("hyperbolic:size=0", &[0.4877, 0.3286, 0.2424, 0.2056, 0.1696, 0.1512]),
            ("lru+adaptsize", &[0.5625, 0.4077, 0.2973, 0.2513, 0.1861, 0.1505]),
        ],
    },
    Case {
        trace: "twitter_c52_a",
        limit: 1_000_000,
        ignore_size: true,
        sizes: &[1435, 7177, 14_354, 35_885, 71_771],
        ratios: &[("random", &[0.3730, 0.2737, 0.2336, 0.1881, 0.1601])],
    },
];

const LHD: &[Case] = &[
    Case {
        trace: "arc_oltp",
        limit: u64::MAX,
        ignore_size: true,
        sizes: &[1869, 18_688, 46_720, 93_440],
        ratios: &[("lhd", &[0.5737, 0.3328, 0.2650, 0.2195])],
    },
    Case {
        trace: "c2k_web07",
        limit: u64::MAX,
        ignore_size: true,
        sizes: &[205, 2048, 5121, 10_242],
        ratios: &[("lhd", &[0.5952, 0.4362, 0.3654, 0.3055])],
    },
    Case {
        trace: "tencent_blk_2706",
        limit: u64::MAX,
        ignore_size: true,
        sizes: &[346, 3457, 8643, 17_286],
        ratios: &[("lhd", &[0.7884, 0.3862, 0.3680, 0.3587])],
    },
    Case {
        trace: "lirs_multi1",
        limit: u64::MAX,
        ignore_size: true,
        sizes: &[26, 261, 652, 1303],
        ratios: &[("lhd", &[0.9246, 0.5438, 0.5219, 0.4243])],
    },
    Case {
        trace: "tencent_blk_2706",
        limit: u64::MAX,
        ignore_size: false,
        sizes: &[23_625_000, 47_250_000, 118_125_000, 236_250_000],
        ratios: &[("lhd", &[0.3936, 0.3780, 0.3645, 0.3541])],
    },
    Case {
        trace: "twitter_c52_a",
        limit: 1_000_000,
        ignore_size: false,
        sizes: &[29_227, 292_272, 1_461_361, 2_922_722, 7_306_804, 14_613_609],
        ratios: &[("lhd", &[0.5017, 0.3161, 0.2226, 0.1913, 0.1604, 0.1479])],
    },
    Case {
        trace: "twitter_c52_a",
        limit: 1_000_000,
        ignore_size: true,
        sizes: &[143, 1435, 7177, 14_354, 35_885, 71_771],
        ratios: &[("lhd", &[0.5112, 0.3343, 0.2448, 0.2065, 0.1694, 0.1512])],
    },
];

fn compare(cases: &[Case], fits: impl Fn(f64, f64) -> bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    for &Case { trace, limit, ignore_size, sizes, ratios } in cases {
        let path = folder.join(format!("{trace}.csv.zst"));
        if !path.exists() {
            eprintln!("skipped: {trace} is not at hand");
            continue;
        }
        let options = Options { ignore_size, limit: Some(limit), ..Options::default() };
        let feed = Feed::read(&path.to_string_lossy(), &options, true).unwrap();
        let names =
            ratios.iter().map(|(name, _)| ((*name).to_owned(), policy::parse(name).unwrap()));
        let choices: Vec<_> = names.collect();
        let sizes: Vec<_> =
            sizes.iter().map(|size| Size::parse(&size.to_string()).unwrap()).collect();
        let (interval, tenants, threads) = (None, false, 2);
        let plan = Plan { choices: &choices, sizes: &sizes, seed: 1, interval, tenants, threads };
        let outcomes = all(trace, &feed, &plan).unwrap();
        let wanted = ratios.iter().flat_map(|(_, ratios)| ratios.iter());
        for (outcome, &want) in outcomes.iter().zip(wanted) {
            let (policy, size, got) = (&outcome.policy, outcome.size_bytes, outcome.miss_ratio);
            assert!(fits(got, want), "{trace}, {policy} at {size}: {got:.4} for {want:.4}");
        }
    }
}

#[test]
fn what_is_defined_alike_counts_alike() {
    compare(EXACT, |got, want| (got - want).abs() <= 0.000_051);
}

#[test]
fn what_is_drawn_is_close() {
    compare(DRAWN, |got, want| (got - want).abs() <= 0.005);
}

#[test]
fn lhd_is_as_good_or_better() {
    compare(LHD, |got, want| got <= want + 0.000_05);
}
