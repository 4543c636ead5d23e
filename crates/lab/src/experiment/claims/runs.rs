//! Claims of the report, tested against actual results.
//!
//! The product (the live store, the pilot, the report) plays a load in virtual time. At a moment T
//! the report makes its claims. Then the run is repeated for each setting that a claim names: it is
//! the same up to T, and applies the setting at T. The run without a change is the base.
//! The actual difference between the two runs, once the memory has filled, is compared with the
//! claim. The figures are whether the band held it, the width of the band, the error of the value,
//! and whether the sign was right.
//!
//! ```text
//!   0 ───────────────── T ────────── T + settling ──────────────── end
//!      one load          claims, set    not counted      counted
//! ```

use super::super::{Experiment, Findings, Setting};
use super::load::Traffic;
use super::loads;
use super::repeated::{self, Again};
use crate::plant::{Counts, Reported};
use ::load::median;
use anyhow::{Result, anyhow, ensure};
use report::Report;
use report::claim::{self, Claim, ClaimedFigure, Setting as Made};
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};
use tune::recipe;

pub(in super::super) const EXPERIMENT: Experiment = Experiment {
    name: "claims",
    about: "the report's forecasts, against the actual changes in the product",
    run,
};

/// Seconds of a run: until the claims, then of settling, then counted.
#[derive(Clone, Copy, Debug)]
struct Times {
    claims: u64,
    settling: u64,
    counted: u64,
    /// Seconds from the claims on in which questions are repeated.
    repeated: u64,
}

const TIMES: Times = Times { claims: 900, settling: 300, counted: 600, repeated: 3_600 };
const QUICK: Times = Times { claims: 700, settling: 200, counted: 300, repeated: 600 };

/// Kinds of claims, as named in the rows of the results.
const KINDS: [&str; 10] = [
    "another policy",
    "less memory: waiting",
    "more memory: waiting",
    "less memory: a tenant's misses",
    "more memory: a tenant's misses",
    "a floor: its misses",
    "a floor: the others' waiting",
    "twice the time to live: its misses",
    "compression: waiting",
    "compression: a tenant's misses",
];

/// Row of the questions that are asked again.
const REPEATED: &str = "a question asked again";

/// The counts of each tenant in the counted part of a run.
type Came = Vec<Counts>;

/// A claim, and the actual change of its quantity.
#[derive(Clone, Debug)]
struct Tried {
    claim: Claim,
    came: f64,
}

impl Tried {
    fn kind(&self) -> &'static str {
        let less = |claim: &Claim| claim.change() > 0.0;
        let at = match (&self.claim.setting, &self.claim.what) {
            (Made::Policy { .. }, _) => 0,
            (Made::Memory { .. }, ClaimedFigure::Waiting | ClaimedFigure::Others { .. }) => {
                if less(&self.claim) { 1 } else { 2 }
            }
            (Made::Memory { .. }, ClaimedFigure::Misses { .. }) => {
                if less(&self.claim) {
                    3
                } else {
                    4
                }
            }
            (Made::Floor { .. }, ClaimedFigure::Misses { .. }) => 5,
            (Made::Floor { .. }, ClaimedFigure::Waiting | ClaimedFigure::Others { .. }) => 6,
            (Made::TwiceTheTtl { .. }, _) => 7,
            (Made::Compression, ClaimedFigure::Waiting | ClaimedFigure::Others { .. }) => 8,
            (Made::Compression, ClaimedFigure::Misses { .. }) => 9,
        };
        KINDS[at]
    }

    fn off(&self) -> f64 {
        self.claim.change() - self.came
    }

    /// Error of the claim, as a share of the change that it names.
    fn error(&self) -> f64 {
        (self.off() / self.claim.change()).abs()
    }

    fn is_held(&self) -> bool {
        let came = self.claim.now + self.came;
        (self.claim.low..=self.claim.high).contains(&came)
    }

    fn is_narrow(&self) -> bool {
        self.claim.band() <= 0.5 * self.claim.change().abs()
    }

    fn has_sign(&self) -> bool {
        self.claim.change() * self.came > 0.0
    }

    /// Whether the error is within a tenth of the claimed change, or within a tolerance if that is
    /// more. The tolerance is a percentage point for misses, and a hundredth of the present value
    /// for waiting.
    fn is_near(&self) -> bool {
        let is_ratio = matches!(self.claim.what, ClaimedFigure::Misses { .. });
        let point = if is_ratio { 1.0 } else { self.claim.now };
        self.off().abs() <= (0.1 * self.claim.change().abs()).max(0.01 * point)
    }
}

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let times = setting.pick(TIMES, QUICK);
    let (mut all, mut again) = (vec![], vec![]);
    let mut loads = loads::all(setting.quick);
    if let Some(name) = &setting.load {
        let names: Vec<_> = loads.iter().map(|load| load.name).collect();
        let names = names.join(", ");
        loads.retain(|load| load.name == name);
        ensure!(!loads.is_empty(), "there is no load {name}: choose one of {names}");
    }
    for load in loads {
        for &seed in &setting.seeds {
            for tried in tried(&load, times, seed)? {
                let share = |is: bool| f64::from(u8::from(is));
                let figures = [
                    ("claimed", tried.claim.change()),
                    ("came", tried.came),
                    ("band", tried.claim.band()),
                    ("error", tried.error()),
                    ("held", share(tried.is_held())),
                    ("narrow", share(tried.is_narrow())),
                    ("near", share(tried.is_near())),
                    ("sign", share(tried.has_sign())),
                ];
                findings.cell(tried.kind(), load.name, seed, &figures);
                all.push(tried);
            }
            let answers = repeated::answers(&load, times.claims, times.repeated, seed)?;
            if !answers.is_empty() {
                findings.cell(REPEATED, load.name, seed, &[("held", held(&answers))]);
            }
            again.extend(answers);
        }
    }
    for kind in KINDS {
        let own: Vec<_> = all.iter().filter(|one| one.kind() == kind).collect();
        findings.claim(kind, summary(&own), "");
    }
    findings.claim("all", summary(&all.iter().collect::<Vec<_>>()), "");
    let text = match again.len() {
        0 => "no questions".to_owned(),
        count => format!("{count} answers: held {:.0} %", 100.0 * held(&again)),
    };
    findings.claim(REPEATED, text, "");
    Ok(())
}

/// The share of these answers, at least one, that lie within the band of the first one.
fn held(answers: &[Again]) -> f64 {
    answers.iter().filter(|answer| answer.is_held()).count() as f64 / answers.len() as f64
}

fn summary(all: &[&Tried]) -> String {
    let share = |is: fn(&Tried) -> bool| {
        100.0 * all.iter().filter(|one| is(one)).count() as f64 / all.len() as f64
    };
    if all.is_empty() {
        return "no claims".to_owned();
    }
    let mut errors: Vec<_> = all.iter().map(|one| one.error()).collect();
    errors.sort_by(f64::total_cmp);
    format!(
        "{} claims: held {:.0} %, narrow {:.0} %, near {:.0} %, sign {:.0} %, median error {:.0} %",
        all.len(),
        share(Tried::is_held),
        share(Tried::is_narrow),
        share(Tried::is_near),
        share(Tried::has_sign),
        100.0 * median(&errors)
    )
}

/// Every claim of a load, with the actual change.
fn tried(load: &Traffic, times: Times, seed: u64) -> Result<Vec<Tried>> {
    let mut claims = vec![];
    let base = fly(load, times, seed, None, Some(&mut claims))?;
    let mut settings: Vec<Made> = vec![];
    for claim in &claims {
        if !settings.contains(&claim.setting) {
            settings.push(claim.setting.clone());
        }
    }
    let came = each(&settings, |setting| fly(load, times, seed, Some(setting), None));
    let mut all = vec![];
    for (setting, came) in settings.iter().zip(came) {
        let came = came?;
        for claim in claims.iter().filter(|claim| claim.setting == *setting) {
            let value = |came: &Came| value(load, &claim.what, came, times.counted);
            all.push(Tried { claim: claim.clone(), came: value(&came) - value(&base) });
        }
    }
    Ok(all)
}

/// The answers for all elements, in order, computed on as many threads as there are cores.
fn each<T: Sync, A: Send>(all: &[T], answer: impl Fn(&T) -> A + Sync) -> Vec<A> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let part = all.len().div_ceil(threads).max(1);
    let answers = |part: &[T]| part.iter().map(&answer).collect::<Vec<_>>();
    let answers = &answers;
    thread::scope(|scope| {
        let parts = all.chunks(part);
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || answers(part))).collect();
        let join = |thread: ScopedJoinHandle<'_, Vec<A>>| {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        threads.into_iter().flat_map(join).collect()
    })
}

/// Runs a load, and returns the counts of its counted part. It applies `setting` and stores the
/// report's claims in `claims` at the moment of the claims, if given.
fn fly(
    load: &Traffic,
    times: Times,
    seed: u64,
    setting: Option<&Made>,
    mut claims: Option<&mut Vec<Claim>>,
) -> Result<Came> {
    let recipe = recipe::parse(load.recipe).map_err(|error| anyhow!(error))?;
    let tenants = load.tenants();
    let mut store = load.store(recipe, seed);
    let from = times.claims + times.settling;
    let counts = |store: &Reported| -> Came {
        (0..tenants.len()).map(|tenant| store.counts(tenant)).collect()
    };
    let mut before = None;
    let mut is_set = false;
    let longer = match setting {
        Some(Made::TwiceTheTtl { tenant }) => tenants.iter().position(|own| own.name == *tenant),
        _ => None,
    };
    for (mut access, is_of_nothing) in load.requests(from + times.counted, seed) {
        let second = access.time.0 / 1_000_000;
        if second >= times.claims && !std::mem::replace(&mut is_set, true) {
            if let Some(claims) = claims.take() {
                *claims = made(&store.report());
            }
            if let Some(setting) = setting {
                store.set(setting);
            }
        }
        if second >= from && before.is_none() {
            before = Some(counts(&store));
        }
        if is_set && longer == Some(usize::from(access.tenant)) {
            access.ttl = access.ttl + access.ttl;
        }
        store.access(&access, is_of_nothing);
    }
    let before = before.ok_or_else(|| anyhow!("the load ended early"))?;
    Ok(counts(&store).into_iter().zip(before).map(|(now, then)| now.since(then)).collect())
}

/// A selection of the claims that a report can make.
fn made(report: &Report) -> Vec<Claim> {
    let mut claims = vec![];
    let mut others: Vec<_> = report.policies.iter().filter(|trial| !trial.is_present).collect();
    others.sort_by(|a, b| a.waits.total_cmp(&b.waits));
    let lru = others.iter().filter(|trial| trial.policy == "allkeys-lru");
    let tried = lru.chain(others.iter().filter(|trial| trial.policy != "allkeys-lru").take(1));
    for trial in tried {
        claims.extend(claim::policy(report, &trial.policy));
    }
    let divided = report.server.divided;
    for (part, of) in [(1, 2), (3, 4), (3, 2), (2, 1)] {
        claims.extend(claim::memory(report, divided / of * part));
    }
    for tenant in report.tenants.iter().take(3) {
        if report.tenants.len() > 1 {
            claims.extend(claim::floor(report, tenant, tenant.used / 2 * 3));
        }
        claims.extend(claim::twice_the_ttl(report, tenant));
    }
    claims.extend(claim::compression(report));
    claims.retain(Claim::is_sound);
    claims
}

/// The actual value of a claim's quantity: waiting in milliseconds a second, or misses as a share
/// of reads.
fn value(load: &Traffic, what: &ClaimedFigure, came: &Came, seconds: u64) -> f64 {
    let tenants = load.tenants();
    let place = |name: &str| tenants.iter().position(|tenant| tenant.name == name);
    let waited = |counts: &Counts| counts.waited.as_f64() / 1e3 / seconds as f64;
    let all: f64 = came.iter().map(waited).sum();
    match what {
        ClaimedFigure::Waiting => all,
        ClaimedFigure::Others { tenant } => all - place(tenant).map_or(0.0, |at| waited(&came[at])),
        ClaimedFigure::Misses { tenant } => place(tenant).map_or(0.0, |at| came[at].miss_ratio()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a small version of the experiment, most bands hold the actual value, and hardly a sign is
    /// wrong.
    #[test]
    fn what_is_claimed_comes() {
        let mut all = vec![];
        for load in loads::all(true) {
            all.extend(tried(&load, QUICK, 1).unwrap());
        }
        let share = |is: fn(&Tried) -> bool| {
            all.iter().filter(|one| is(one)).count() as f64 / all.len() as f64
        };
        let told: Vec<_> =
            all.iter().map(|one| format!("{:?} came {:.4}", one.claim, one.came)).collect();
        let told = told.join("\n");
        assert!(all.len() >= 12, "{told}");
        assert!(share(Tried::is_held) >= 0.8, "{told}");
        assert!(share(Tried::has_sign) >= 0.95, "{told}");
        // Whether another policy or a floor would change enough depends on the seed.
        for kind in KINDS[1..5].iter().chain(&KINDS[8..]) {
            assert!(all.iter().any(|one| one.kind() == *kind), "none of {kind}: {told}");
        }
    }

    /// While loads stand still, hardly an answer leaves the band of the first one.
    #[test]
    fn a_question_asked_again_has_the_same_answer() {
        let of = |load: &Traffic| repeated::answers(load, QUICK.claims, QUICK.repeated, 1).unwrap();
        let again: Vec<_> = loads::all(true).iter().flat_map(of).collect();
        assert!(again.len() >= 60, "{again:?}");
        assert!(held(&again) >= 0.9, "{again:?}");
    }
}
