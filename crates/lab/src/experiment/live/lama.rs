//! Facebook's ETC, and a shift of sizes, beside a memcached with its page mover on and off [1].
//!
//! In a third load, a tenant has a promise of four hits in five reads, while its values become four
//! times as large. `promised` is its miss ratio after that.
//!
//! All servers speak memcached's protocol and run at the same time, because only misses count. In
//! the shift, small values get all reads, and then half of them. The other half goes to values
//! sixteen times as large, which do not all fit.
//!
//! [1] Hu, Wang, Zhou, Luo, Ding, Jiang, Wang. Optimizing Locality-Aware Memory Management of
//!     Key-Value Caches. IEEE TC '17.

use super::peer::Peer;
use super::{Experiment, Findings, Load, PROMISED, ServerRow, Setting, Tenant};
use super::{compare, play_at_once};
use anyhow::Result;
use base::Bytes;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "lama",
    about: "ETC and a shift of sizes, compared with memcached with its page mover on and off",
    run,
};

/// Memory for ETC, about half of the bytes that it touches, and for the shift.
const MEMORY: [Bytes; 2] = [Bytes(24 << 20), Bytes(64 << 20)];

/// The paper plans after every million requests and has a gigabyte. With a fortieth of the memory
/// the interval is a fortieth too; a million would leave the run with one plan.
const LAMA: &str = "--recipe lama:interval=25000";

/// Miss ratio that is promised to a tenant.
const PROMISE: f64 = 0.2;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let requests: u64 = setting.pick(1_500_000, 500_000);
    let mut rows: Vec<ServerRow> = vec![];
    rows.extend(setting.peer("memcached", "memcached", "-o slab_automove=1"));
    rows.extend(setting.peer("memcached", "without mover", "-o slab_automove=0"));
    if rows.is_empty() {
        eprintln!("skipped: memcached (--peer memcached=COMMAND)");
    }
    for (name, settings) in [("lama", LAMA), ("auto", "")] {
        let peer = Peer::larder_for_memcached()?;
        rows.push(ServerRow::of(name, peer, settings));
    }
    let tenant = |name: &str, trace| Tenant::new(name, trace, "delay:0".to_owned());
    let small = |n| format!("synth:zipf:keys=150000:skew=0.5:size=const/250:requests={n}:seed=1");
    let large = |n| format!("synth:uniform:keys=100000:size=const/4000:requests={n}:seed=2");
    let etc = format!("synth:etc:keys=200000:skew=0.6:requests={requests}:seed=1");
    let load = |tenants, warmup: f64| {
        let pace = "--rate-max 8000 --burst 64 --depth 16";
        Load::new(tenants, &format!("--warmup {warmup} {pace}"))
    };
    let settled = load(vec![tenant("etc", etc)], 0.5);
    play_at_once(setting, &rows, "ETC", (&[settled], MEMORY[0]), findings)?;
    let shift = [
        load(vec![tenant("small", small(requests / 2))], 0.5),
        load(vec![tenant("small", small(requests / 2)), tenant("large", large(requests / 2))], 0.2),
    ];
    play_at_once(setting, &rows, "shift of sizes", (&shift, MEMORY[1]), findings)?;
    let promised = |set: u32, size: u32| {
        let trace = format!(
            "synth:zipf:keys=40000:skew=0.9:size=const/{size}:prefix={set}-:\
             requests={requests}:seed={set}"
        );
        tenant(PROMISED, trace)
    };
    let others = || {
        let keys = "keys=200000:skew=0.6:size=const/400";
        tenant("others", format!("synth:zipf:{keys}:requests={requests}:seed=3"))
    };
    let kept = [
        load(vec![promised(1, 250), others()], 0.5),
        load(vec![promised(2, 1_000), others()], 0.5),
    ];
    let known = [promised(1, 0), others()];
    let line = format!("target {PROMISE}");
    let bound: Vec<_> = rows
        .iter()
        .cloned()
        .map(|row| row.with_tenants(&known[..1], &line).with_tenants(&known[1..], ""))
        .collect();
    play_at_once(setting, &bound, "a promise", (&kept, MEMORY[1]), findings)?;
    for row in ["lama", "auto"] {
        let off = 100.0 * (findings.mean(row, Some("a promise"), "promised") - PROMISE);
        let what =
            format!("{row}: percentage points of misses above the promise, after the change");
        findings.claim(&what, format!("{off:.2}"), "1.5; the paper 1.3");
        compare(findings, (row, "memcached"), "miss_ratio", "0.65 on ETC, 0.75 after a shift");
    }
    Ok(())
}
