//! Regression tests of sentences: each figure has one value everywhere, and no forecast is made
//! that cannot come true.

use crate::finding::tests::healthy;
use crate::plans::Plans;
use crate::sizing::mib_saves_us;
use crate::words::{percent, wait};
use crate::{Change, ChangeKind, History, Lately, Point, PolicyTrial, Recent, Report, Tenant};
use crate::{page, say};
use std::collections::VecDeque;
use tune::pilot::{Decision, Epoch};

fn text(lines: &[String]) -> String {
    lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The policy in force has the measured miss ratio in every answer.
#[test]
fn the_policy_in_force_misses_the_same_everywhere() {
    let mut report = healthy();
    let measured = report.recent.miss_ratio().unwrap();
    let trial = |policy: &str, waits, miss_ratio| PolicyTrial {
        policy: policy.to_owned(),
        is_present: waits == 1.0,
        waits,
        band: 0.01,
        miss_ratio,
    };
    report.policies =
        vec![trial("allkeys-gittins", 1.0, measured), trial("allkeys-lru", 1.2, 1.1 * measured)];
    let policies = say::policies(&report);
    let row = policies.iter().find(|line| line.ends_with("in force")).unwrap();
    let shown = percent(measured);
    assert!(row.contains(&shown), "{row} {shown}");
    assert!(text(&say::advise(&report, None)).contains(&format!("{shown} of")), "{shown}");
}

/// The sizing page shows the measured waiting at the present memory.
#[test]
fn waiting_is_the_same_on_every_page() {
    let report = healthy();
    let history = History::default();
    let view = page::Choices { memory: Some(report.server.divided), ..page::Choices::default() };
    let advice = page::Advice::default();
    let shown = page::PageData { report: &report, advice: &advice, history: &history, view: &view };
    let measured = wait(1e3 * report.recent.wait_ms_per_s());
    let sizing = page::find("/sizing").unwrap();
    // On a page, a unit does not leave its number.
    let page = (sizing.render)(&shown).replace('\u{a0}', " ");
    assert!(page.contains(&format!("All clients together wait {measured}")));
    assert!(say::summary(&report).contains(&measured));
    let mut one = report;
    one.tenants.truncate(1);
    one.recent = one.tenants[0].recent;
    let measured = wait(1e3 * one.recent.wait_ms_per_s());
    let says = text(&say::advise(&one, None));
    assert_eq!(says.matches(&measured).count(), 2, "{says}");
}

/// More memory saves nothing for a tenant without reads.
#[test]
fn memory_of_a_tenant_without_reads_saves_nothing() {
    let mut report = healthy();
    let quiet = Tenant { used: 1_000, items: 1, name: "one".into(), ..Tenant::default() };
    assert_eq!(mib_saves_us(&quiet), None);
    report.tenants[0].recent = Recent::default();
    assert_eq!(mib_saves_us(&report.tenants[0]), None);
    assert!(mib_saves_us(&report.tenants[1]).unwrap() > 0.0);
    // Nor for a tenant whose keys all expire before they are asked for.
    let recent = &mut report.tenants[1].recent;
    recent.causes = [0, 0, recent.misses, 0, 0];
    assert_eq!(mib_saves_us(&report.tenants[1]), Some(0.0));
}

/// In a young cache, fewer and fewer reads are of new keys, so no memory is said to be too little.
#[test]
fn a_young_cache_does_not_say_never() {
    let mut history = History::default();
    let point = |second: u32| Point {
        unix_s: 1_000 + second,
        reads: 100,
        misses: 40 - second / 5,
        causes: [30 - second / 5, 10, 0, 0, 0],
        sampled: 40 - second / 5,
        ..Point::default()
    };
    for second in 0..100 {
        history.push([("web", point(second))].into_iter());
    }
    let lately = Lately { from_unix_s: 1_039, to_unix_s: 1_099, quiet_s: 0 };
    assert!(history.first_reads_fall("web", lately));
    let mut report = healthy();
    report.tenants[1].recent.causes = [900, 100, 0, 0, 0];
    let said = |report: &Report| text(&say::memory(report, &report.tenants[1], 0.0));
    assert!(said(&report).contains("with any memory"), "{}", said(&report));
    report.tenants[1].first_reads_fall = true;
    assert!(said(&report).contains("is not known yet"), "{}", said(&report));
}

/// The plan of a pilot that only advises is noted once, as a proposal, and has no outcome.
#[test]
fn a_plan_that_is_not_carried_out_is_never_in_force() {
    let epoch = |epoch, decision| Epoch {
        epoch,
        at_s: epoch as f64,
        decision,
        gain: 0.2,
        threshold: 0.05,
        moved: base::Bytes(0),
        forecast: Some(0.45),
        outcome: Some(1.0),
        band: None,
        pools: vec![],
    };
    let mut plans = Plans::default();
    let mut history = History::default();
    let epochs: VecDeque<_> = (1..=60).map(|at| epoch(at, Decision::Advised)).collect();
    for last in 1..=60 {
        let known: VecDeque<_> = epochs.iter().take(last).cloned().collect();
        plans.note(&known, last as u64, &mut history);
    }
    let told: Vec<&Change> = history.changes().collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].text.contains("proposed") && !told[0].text.contains("in force"));
    assert_eq!((told[0].expected, told[0].actual), (None, None));
}

/// A change shows the figures measured before and after it, and its words never change.
#[test]
fn what_a_change_did_is_measured_and_kept() {
    let mut history = History::default();
    let mut report = healthy();
    let begin = report.server.now_unix_s - 1_000;
    let mut told = vec![];
    for second in 0..1_000 {
        let unix_s = begin + second;
        let doubled = second >= 500;
        let point = |reads: u32, missed: f64, used_kib| Point {
            unix_s: unix_s as u32,
            reads,
            misses: (f64::from(reads) * missed) as u32,
            wait_ms: (f64::from(reads) * missed * 2.0) as f32,
            used_kib,
            forecast: -1.0,
            ..Point::default()
        };
        let search = point(if doubled { 350 } else { 150 }, 0.5, 1_000);
        let jobs = point(500, if doubled { 0.76 } else { 0.66 }, 1_000);
        history.push([("search", search), ("jobs", jobs)].into_iter());
        if second % 10 == 0 {
            history.note_shifts(unix_s);
        }
        history.complete(unix_s);
        report.changes = history.changes().cloned().collect();
        report.server.now_unix_s = unix_s;
        told.push(text(&say::history(&report, &report.moves, 0)));
    }
    let loads: Vec<_> =
        history.changes().filter(|change| change.kind == ChangeKind::Load).collect();
    let [began, load] = &loads[..] else { panic!("{loads:?}") };
    assert!(began.text.starts_with("the loads of jobs, search began: 650 reads"), "{began:?}");
    assert!(load.unix_s.abs_diff(begin + 499) <= 10, "{load:?}");
    assert!(load.text.starts_with("search's load rose to 2.3 times"), "{load:?}");
    let last = told.last().unwrap();
    assert!(last.contains("jobs 66 % → 7"), "{last}");
    assert!(last.contains("waiting 810 ms → 1.1 s per second"), "{last}");
    // From the first report on, the sentence is the same.
    let sentence = "search's load rose to 2.3 times: 350 reads per second, 150 before.";
    assert!(last.contains(sentence), "{last}");
    let first = told.iter().position(|text| text.contains(sentence)).unwrap();
    assert!(first < 600, "{first}");
    assert!(told[first..].iter().all(|text| text.contains(sentence)));
    assert!(history.window_s(begin + 900).abs_diff(401) <= 10, "figures are of what is since");
}

/// Totals are the sums of the rows, over every span.
#[test]
fn rows_add_up() {
    let mut history = History::default();
    for second in 0..2_000u32 {
        let point =
            |reads| Point { unix_s: 1_000 + second, reads, wait_ms: 0.5, ..Point::default() };
        let young = (second > 1_950).then(|| ("young", point(7)));
        history.push([("old", point(10))].into_iter().chain(young));
    }
    for seconds in [60, 250, 400, 600, 1_500] {
        let of = |name| history.recent(name, 2_999, seconds);
        let (old, young, all) = (of(Some("old")), of(Some("young")), of(None));
        assert_eq!(old.reads + young.reads, all.reads, "{seconds}");
        assert_eq!((old.seconds, young.seconds), (all.seconds, all.seconds));
        assert!((old.wait_ms + young.wait_ms - all.wait_ms).abs() < 1e-3);
    }
    let report = Report::default();
    assert_eq!(report.check(), Ok(()));
}
