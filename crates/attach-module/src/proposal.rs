//! The waiting of clients if the module ranked keys, told while it only observes.
//!
//! The pilot plays the sampled requests through a miniature with the rank and through one with the
//! server's own policy, both of the present memory. The claim is the ratio of their waiting, with
//! the band that the groups of keys give, times the waiting that was measured.

use crate::exchange::Look;
use crate::learn;
use report::Report;
use report::claim::{Claim, ClaimedFigure, Setting};
use report::words::wait;
use tune::tape::ratio_of;
use tune::{Evictor, Pilot};

/// With fewer reads no claim is made.
const READS_MIN: u64 = 1_000;

/// The policy that a miniature of the server's own eviction follows: sampled LRU with five
/// candidates, as servers have it unless told otherwise.
const SERVERS: (&str, u8) = ("allkeys-lru", 5);

/// Error of the miniatures beside chance, as a share of the waiting: a miniature knows neither the
/// reserve of the module nor the work that is left to the server. In docs/results/attach.md the
/// claims of three mixes were off by up to ten points, and chance explains four of them.
const ERROR: f64 = 0.06;

/// The claim of a module that observes, if enough is known.
pub(crate) fn claim(report: &Report, look: &Look, pilot: &Pilot) -> Option<Claim> {
    let is_asked = !look.acts && look.recipe.is_some_and(|recipe| learn::ranks(&recipe));
    if !is_asked || look.server.policy != SERVERS.0 || report.recent.reads < READS_MIN {
        return None;
    }
    let replayed = pilot.replayed()?;
    let ranked = look.recipe?.evictors.first()?.policy;
    let servers = Evictor::klru_pool(SERVERS.1);
    let played = |is_it: &dyn Fn(&Evictor) -> bool| {
        let all = replayed.present().into_iter().chain(&replayed.others);
        all.into_iter().find(|played| played.scene.evictor().as_ref().is_some_and(is_it))
    };
    let by_rank = played(&|evictor| evictor.policy == ranked)?;
    let by_server = played(&|evictor| *evictor == servers)?;
    let (ratio, band) = ratio_of(&by_rank.waits(), &by_server.waits());
    let (band, now) = (band + ERROR, report.recent.wait_ms_per_s());
    let claim = Claim {
        what: ClaimedFigure::Waiting,
        setting: Setting::Policy { policy: ranked.to_owned() },
        now,
        value: now * ratio,
        low: now * (ratio - band).max(0.0),
        high: now * (ratio + band),
        window_s: report.recent.seconds,
    };
    claim.is_sound().then_some(claim)
}

/// The claim as a sentence.
pub(crate) fn says(claim: &Claim) -> String {
    let percent = |value: f64| 100.0 * (1.0 - value / claim.now);
    let (least, most) = (percent(claim.high), percent(claim.low));
    let (from, to, what) =
        if claim.value < claim.now { (least, most, "less") } else { (-most, -least, "longer") };
    format!(
        "If it acted, clients would wait {} in every second instead of {}: {from:.0} to {to:.0} % \
         {what}, by miniatures of the rank and of the server's own policy.",
        wait(1e3 * claim.value),
        wait(1e3 * claim.now)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_names_its_band() {
        let setting = Setting::Policy { policy: "gittins".to_owned() };
        let what = ClaimedFigure::Waiting;
        let (now, value, low, high) = (800.0, 600.0, 560.0, 640.0);
        let less = Claim { what, setting, now, value, low, high, window_s: 60 };
        let text = says(&less);
        assert!(text.contains("600 ms in every second instead of 800 ms"), "{text}");
        assert!(text.contains("20 to 30 % less"), "{text}");
        let more = says(&Claim { value: 1_000.0, low: 960.0, high: 1_040.0, ..less });
        assert!(more.contains("20 to 30 % longer"), "{more}");
    }
}
