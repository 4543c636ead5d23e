//! Tests of the answers to an operator's questions, as the terminal and the pages give them.

use crate::claim::{Claim, ClaimedFigure, Setting};
use crate::finding::tests::healthy;
use crate::plans::Plans;
use crate::words::percent;
use crate::{
    Change, ChangeKind, Effect, Fared, History, MemoryMoves, MemoryUse, Point, PolicyTrial,
    Process, Recent, Tenant, TenantMoved,
};
use crate::{page, say};
use tune::pilot::{Decision, Epoch, PoolEpoch};

fn text(lines: &[String]) -> String {
    lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Nobody reads for ten minutes: the answers are those of the last minute with reads, and each says
/// so. A later read ends that.
#[test]
fn answers_stay_when_requests_stop() {
    let mut history = History::default();
    let begin = 1_795_700_000;
    let point = |second: u64, reads: u32| Point {
        unix_s: (begin + second) as u32,
        reads,
        misses: reads / 4,
        wait_ms: reads as f32,
        used_kib: 1_000,
        forecast: -1.0,
        ..Point::default()
    };
    for second in 0..1_200 {
        let reads = if second <= 600 { 1_000 } else { 0 };
        history.push([("web", point(second, reads))].into_iter());
        if second % 10 == 0 {
            history.note_shifts(begin + second);
        }
    }
    assert!(history.changes().any(|change| change.text.contains("ended")));
    let now = begin + 1_199;
    let lately = history.lately(now);
    assert_eq!((lately.to_unix_s, lately.quiet_s), (begin + 600, 599));
    let mut report = healthy();
    report.tenants.truncate(1);
    report.tenants[0].recent = history.of(Some("web"), lately);
    report.recent = history.of(None, lately);
    (report.server.now_unix_s, report.server.quiet_s) = (now, lately.quiet_s);
    assert!((report.recent.miss_ratio().unwrap() - 0.25).abs() < 1e-9, "{:?}", report.recent);
    assert!((report.recent.reads_per_s() - 1_000.0).abs() < 20.0, "{:?}", report.recent);
    let quiet = "No reads for 10 minutes: the figures below are of the last 10 minutes with reads, \
                 until 13:43.";
    for says in [
        say::why(&report, &report.tenants[0]),
        say::advise(&report, None),
        say::tenants(&report),
        say::history(&report, &report.moves, 0),
    ] {
        assert!(text(&says).contains(quiet), "{says:?}");
    }
    assert!(text(&say::why(&report, &report.tenants[0])).contains("misses 25 % of"));
    let (advice, view) = (page::Advice::default(), page::Choices::default());
    let shown = page::PageData { report: &report, advice: &advice, history: &history, view: &view };
    for page in page::ALL {
        let html = page::middle(page, &shown).replace('\u{a0}', " ");
        assert_eq!(html.matches(quiet).count(), 1, "{}", page.title);
        let link = html.contains("the last minutes with reads</a>");
        assert_eq!(link, page.has_time, "{}", page.title);
    }
    history.push([("web", point(1_200, 5))].into_iter());
    assert_eq!(history.lately(now + 1).quiet_s, 0);
}

/// A tenant that lost memory is named with whoever got it, and with its misses before and now: in
/// HISTORY, in ADVISE and on the page of plans, with one figure.
#[test]
fn who_gave_memory_to_whom_is_told_everywhere() {
    let mut report = healthy();
    let moved = |name: &str, before: u64, now: u64| TenantMoved {
        name: name.to_owned(),
        began: 0,
        full: before << 20,
        before: before << 20,
        now: now << 20,
        missed_before: Some(0.12),
        then: Recent::default(),
    };
    report.moves = MemoryMoves {
        from_unix_s: report.server.now_unix_s - 2_400,
        full_unix_s: report.server.now_unix_s - 2_400,
        was_filling: true,
        tenants: vec![moved("jobs", 90, 54), moved("web", 100, 136)],
    };
    let history = History::default();
    let now = percent(report.tenants[1].recent.miss_ratio().unwrap());
    let says = text(&say::history(&report, &report.moves, 0));
    for part in [
        "The cache was filling until 14:07: free memory went to web 100 MiB, jobs 90.0 MiB",
        "Since 14:07 (40 minutes) memory went to others: jobs gave 36.0 MiB (web 36.0 MiB).",
        &format!("jobs: 90.0 MiB → 54.0 MiB, misses 12 % → {now}"),
    ] {
        assert!(says.contains(part), "{part}: {says}");
    }
    let says = text(&say::advise(&report, None));
    assert!(says.contains("jobs gave 36.0 MiB (web 36.0 MiB)"), "{says}");
    let (advice, view) = (page::Advice::default(), page::Choices::default());
    let shown = page::PageData { report: &report, advice: &advice, history: &history, view: &view };
    let html = page::middle(page::find("/plans").unwrap(), &shown).replace('\u{a0}', " ");
    assert!(html.contains("36.0 MiB to web") && html.contains("36.0 MiB from jobs"), "{html}");
    // A minute later nothing has moved any more.
    report.moves.tenants.iter_mut().for_each(|one| one.before = one.now);
    let says = text(&say::advise(&report, None));
    assert!(says.contains("no tenant gave memory to another"), "{says}");
}

/// A change that is found long after it is measured all the same, and so is one before it.
#[test]
fn a_change_that_is_found_late_is_measured() {
    let mut history = History::default();
    let begin = 1_795_700_000;
    for second in 0..1_200 {
        let point = Point {
            unix_s: (begin + second) as u32,
            reads: 100,
            misses: if second < 300 { 80 } else { 20 },
            used_kib: (1_000 * second.min(400)) as u32,
            ..Point::default()
        };
        history.push([("web", point)].into_iter());
    }
    for unix_s in [begin + 300, begin + 600] {
        history.note(Change { unix_s, text: "later".into(), ..Change::default() });
    }
    history.complete(begin + 1_199);
    let all: Vec<&Change> = history.changes().collect();
    assert!(all.iter().all(|change| !change.effects.is_empty()), "{all:?}");
    let says = all.iter().map(|change| say::measured(change).unwrap()).collect::<Vec<_>>();
    assert!(
        says[0].starts_with(
            "Measured up to 2 minutes before and after while the cache was filling, 29"
        ),
        "{says:?}"
    );
    assert!(says[0].contains("web 80 % → 20 % with"), "{says:?}");
    assert!(
        says[1].starts_with("Measured up to 2 minutes before and after: misses 20 %"),
        "{says:?}"
    );
}

/// The outcome of a plan stands at the plan, whatever changed after it. The page of plans has
/// columns for promises only if a plan made one.
#[test]
fn outcomes_are_those_of_plans() {
    let pool = |budget, forecast| PoolEpoch {
        name: "web".into(),
        budget: base::Bytes(budget),
        evictor: tune::Evictor::klru(5),
        used: base::Bytes(0),
        pages: None,
        reads_per_s: 1.0,
        penalty_us: 1.0,
        forecast,
        outcome: None,
    };
    let epoch = |epoch, outcome, budget| Epoch {
        epoch,
        at_s: epoch as f64,
        decision: Decision::Adopted,
        gain: 0.2,
        threshold: 0.05,
        moved: base::Bytes(5),
        forecast: Some(0.45),
        outcome,
        band: None,
        pools: vec![pool(budget, None)],
    };
    let report = healthy();
    let page = |history: &History| {
        let (advice, view) = (page::Advice::default(), page::Choices::default());
        let shown = page::PageData { report: &report, advice: &advice, history, view: &view };
        page::middle(page::find("/plans").unwrap(), &shown)
    };
    let (mut plans, mut history) = (Plans::default(), History::default());
    let kind = ChangeKind::Load;
    history.note(Change { kind, text: "web's load rose".into(), ..Change::default() });
    assert!(!page(&history).contains("promised</a>"));
    plans.note(&[epoch(1, None, 10), epoch(2, None, 100)].into(), 10, &mut history);
    history.note(Change { unix_s: 11, kind, text: "web's load fell".into(), ..Change::default() });
    plans.note(&[epoch(1, None, 10), epoch(2, Some(0.4), 100)].into(), 12, &mut history);
    let all: Vec<_> = history.changes().map(|change| (change.kind, change.actual)).collect();
    assert_eq!(all, [(kind, None), (ChangeKind::Plan, Some(0.4)), (kind, None)]);
    assert!(page(&history).contains("promised</a>"));
}

/// Answers and pages use plain words, and explain the names of policies where they stand. Policies
/// are sorted by their waiting everywhere.
#[test]
fn words_are_plain_or_explained() {
    let mut report = healthy();
    let trial = |policy: &str, waits: f64| PolicyTrial {
        policy: policy.to_owned(),
        is_present: waits == 1.0,
        waits,
        band: 0.01,
        miss_ratio: 0.1,
    };
    let waits = [("allkeys-gittins", 1.0), ("allkeys-lru", 1.3), ("allkeys-lfu", 1.1)];
    report.policies = waits.map(|(policy, waits)| trial(policy, waits)).into();
    let tenant = &report.tenants[1];
    let mut all = vec![
        ("advise", text(&say::advise(&report, None))),
        ("why", text(&say::why(&report, tenant))),
        ("memory", text(&say::memory(&report, tenant, 0.2))),
        ("size", text(&say::size(&report, 300 << 20))),
        ("curve", text(&say::curve(&report, tenant))),
        ("history", text(&say::history(&report, &report.moves, 0))),
        ("policies", text(&say::policies(&report))),
        ("tenants", text(&say::tenants(&report))),
    ];
    let history = History::default();
    let advice = page::Advice::of(&report);
    let view = page::Choices::default();
    let shown = page::PageData { report: &report, advice: &advice, history: &history, view: &view };
    for page in page::ALL {
        all.push((page.title, page::middle(page, &shown)));
    }
    for (name, says) in &all {
        for word in ["pilot", "he loop", "epoch", "tenant-minutes", "by waiting", "band<", "± 0.0"]
        {
            assert!(!says.contains(word), "{name}: {word}: {says}");
        }
        if says.contains("allkeys-gittins") {
            assert!(says.contains("the bytes that save the least waiting"), "{name}: {says}");
            let place = |policy: &str| says.find(policy).unwrap();
            assert!(place("allkeys-lfu") < place("allkeys-lru"), "{name}");
        }
    }
}

/// A tenant without reads has no miss ratio, and its fading curve gives no answer.
#[test]
fn a_tenant_without_reads_is_told_apart() {
    let mut report = healthy();
    report.tenants[0].recent = Recent::default();
    let name = report.tenants[0].name.clone();
    let gives_none = format!("{name} has no reads");
    for says in
        [say::memory(&report, &report.tenants[0], 0.3), say::curve(&report, &report.tenants[0])]
    {
        assert!(says[0].starts_with(&gives_none), "{says:?}");
    }
    let fared =
        |reads_per_s: f64, miss_ratio: f64| Fared { reads_per_s, miss_ratio, ..Fared::default() };
    let effect = |tenant: Option<&str>, after: Fared| Effect {
        tenant: tenant.map(str::to_owned),
        before: fared(50.0, 0.4),
        after,
    };
    let effects = vec![effect(None, fared(9.0, 0.3)), effect(Some(name.as_str()), fared(0.0, 0.0))];
    let change = Change { effects, ..Change::default() };
    let says = say::measured(&change).unwrap();
    assert!(says.contains(&format!("{name} 40 % → no reads")), "{says}");
}

/// The advice begins with each command whole, or says that nothing has to change; LARDER MEMORY
/// names the command that gives a tenant its memory.
#[test]
fn advice_names_the_commands_to_type() {
    let mut report = healthy();
    let says = say::advise(&report, None);
    let decision = says.iter().position(|line| line == "Healthy: no setting has to change now.");
    let tenants = says.iter().position(String::is_empty);
    assert!(decision.is_some() && decision < tenants, "{says:?}");
    (report.server.maxmemory, report.server.machine) = (200 << 20, 210 << 20);
    let says = say::advise(&report, None);
    assert!(says.iter().any(|line| line == "    CONFIG SET maxmemory 157mb"), "{says:?}");
    let line = "web match prefix web: hint a-long-line-of-a-tenant-that-stays-whole weight 3";
    report.tenants[0].line = Some(line.to_owned());
    let says = say::memory(&report, &report.tenants[0], 0.2);
    assert!(!says.iter().any(|line| line.contains("CONFIG SET")), "it has enough: {says:?}");
    let says = say::memory(&report, &report.tenants[0], 0.03);
    let typed = format!("    CONFIG SET tenant \"{line} min ");
    assert!(says.iter().any(|line| line.starts_with(&typed)), "{says:?}");
}

/// The page of sizes names the command for the memory that a reader tries.
#[test]
fn a_size_has_its_command() {
    let report = healthy();
    let (advice, history) = (page::Advice::default(), History::default());
    let html = |memory: u64| {
        let view = page::Choices { memory: Some(memory), ..page::Choices::default() };
        let shown =
            page::PageData { report: &report, advice: &advice, history: &history, view: &view };
        page::middle(page::find("/sizing").unwrap(), &shown)
    };
    assert!(html(report.server.divided / 4).contains("CONFIG SET maxmemory 50mb</code>"));
    assert!(!html(report.server.divided / 2 * 3).contains("data-copy=\"CONFIG SET maxmemory 3"));
    assert!(!html(report.server.divided).contains("data-copy=\"CONFIG SET maxmemory 200mb"));
}

/// A change whose effect was foretold says whether it came true.
#[test]
fn what_was_foretold_has_a_verdict() {
    let claim = |low, high| Claim {
        what: ClaimedFigure::Waiting,
        setting: Setting::Memory { divided: 1 },
        now: 10.0,
        value: f64::midpoint(low, high),
        low,
        high,
        window_s: 60,
    };
    let mut change = Change { claims: vec![claim(4.0, 6.0), claim(7.0, 8.0)], ..Change::default() };
    assert!(!say::claimed(&change).unwrap().contains("measured"));
    let after = Fared { reads_per_s: 9.0, wait_ms_per_s: 5.5, ..Fared::default() };
    change.effects = vec![Effect { after, ..Effect::default() }];
    let says = say::claimed(&change).unwrap();
    let told = "waiting 5.0 ms ± 1.0 ms (measured 5.5 ms: right), waiting 7.5 ms ± 500 µs \
                (measured 5.5 ms: wrong)";
    assert!(says.contains(told), "{says}");
}

/// The Server page says in which way the limit and the process differ.
#[test]
fn the_limit_and_the_process_agree() {
    let mut report = healthy();
    let memory = |name: &str, mib: u64| MemoryUse {
        name: name.to_owned(),
        bytes: mib << 20,
        help: String::new(),
    };
    let reserve = 10 << 20;
    let memory = vec![memory("data", 190), memory("rest", 40)];
    report.process = Some(Process { memory, reserve, ..Process::default() });
    let (advice, view) = (page::Advice::default(), page::Choices::default());
    let history = History::default();
    let shown = page::PageData { report: &report, advice: &advice, history: &history, view: &view };
    let html = page::middle(page::find("/server").unwrap(), &shown).replace('\u{a0}', " ");
    assert!(html.contains("The process is 30.0 MiB larger than maxmemory"), "{html}");
}

/// Among very many tenants no single gift is worth a name, and each sum still stands in the table.
#[test]
fn many_small_gifts_are_summed() {
    let mut report = healthy();
    let first = report.tenants[0].clone();
    let name = |at: usize| format!("tenant{at}");
    report.tenants = (0..60).map(|at| Tenant { name: name(at), ..first.clone() }).collect();
    let moved = |at: usize| {
        let (before, now) = if at < 30 { (100, 98) } else { (98, 100) };
        let (before, now) = (before << 20, now << 20);
        TenantMoved { name: name(at), before, now, ..TenantMoved::default() }
    };
    report.moves.tenants = (0..60).map(moved).collect();
    let (advice, view) = (page::Advice::default(), page::Choices::default());
    let history = History::default();
    let shown = page::PageData { report: &report, advice: &advice, history: &history, view: &view };
    let html = page::middle(page::find("/plans").unwrap(), &shown).replace('\u{a0}', " ");
    assert_eq!(html.matches("2.00 MiB to several").count(), 30);
    assert!(html.contains("almost no memory moved"), "each moved a five-thousandth");
}
