//! A tenant whose load comes and goes beside a tenant whose load stays: with dumping and loading,
//! and without [1].
//!
//! All rows run at the same time, and requests are sent at the times of the trace, so that a period
//! is equally long for all. Counting begins after three periods and one more valley. A request that
//! is late because earlier ones wait is timed from the moment when it was due.
//!
//! [1] Pan, Luo, Wang, Wang. pRedis: Penalty and Locality Aware Memory Allocation in Redis.
//!     SoCC '19.

use super::{
    Experiment, Findings, Load, PROMISED, ServerRow, Setting, Tenant, compare, play_at_once,
};
use anyhow::Result;
use base::Bytes;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "periodic",
    about: "dumping a tenant in its valley and loading it before its peak",
    run,
};

/// Seconds from one peak to the next, the share of it that is peak, and the rate of the valley as a
/// share of the peak's.
const PERIOD: u64 = 40;
const PEAK: f64 = 0.4;
const VALLEY: f64 = 0.02;

/// Requests a second of each tenant; for the tenant with peaks, the rate within them.
const RATE: u64 = 1_000;

/// Periods that are not counted.
const UNSEEN: u64 = 4;

const MEMORY: Bytes = Bytes(20 << 20);

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let periods = setting.pick(16, 8);
    let seconds = periods * PERIOD;
    let dumps = "--dump-max 1gb --dump-bucket 1 --dump-rate 64mb";
    let mut rows = setting.peers(&["redis", "valkey"]);
    for recipe in ["static", "predis", "auto"] {
        rows.push(ServerRow::larder(recipe, &format!("--recipe {recipe}"))?);
        rows.push(ServerRow::larder(
            &format!("{recipe}+dump"),
            &format!("--recipe {recipe} {dumps}"),
        )?);
    }
    let mean = VALLEY + (1.0 - VALLEY) * PEAK;
    let periodic = format!(
        "synth:periodic:keys=30000:skew=0.8:period={PERIOD}:peak={PEAK}:valley={VALLEY}:\
         rate={RATE}:requests={}:size=const/500:arrivals=poisson:seed=1",
        (RATE as f64 * mean * seconds as f64) as u64,
    );
    let steady = format!(
        "synth:zipf:keys=60000:skew=0.7:rate={RATE}:requests={}:size=const/500:\
         arrivals=poisson:seed=2",
        RATE * seconds,
    );
    let [near, far] = setting.databases();
    let tenants = vec![Tenant::new(PROMISED, periodic, far), Tenant::new("steady", steady, near)];
    let rows: Vec<_> = rows.into_iter().map(|row| row.with_tenants(&tenants, "")).collect();
    let warmup = UNSEEN as f64 / periods as f64;
    let load = Load::new(tenants, &format!("--connections 8 --speed 1 --warmup {warmup}"));
    play_at_once(setting, &rows, "peaks", (&[load], MEMORY), findings)?;
    for row in ["static", "predis", "auto"] {
        compare(findings, (&format!("{row}+dump"), row), "mean_us", "0.916 in the paper");
    }
    compare(findings, ("auto+dump", "redis"), "mean_us", "0.6");
    Ok(())
}
