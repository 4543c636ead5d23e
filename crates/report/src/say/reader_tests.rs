//! Tests of the answers that a reader without the code must understand alone.

use crate::finding::tests::{healthy, tenant, with_fault};
use crate::sizing::Sizing;
use crate::words::{percent, size, wait};
use crate::{Change, ChangeKind, Effect, Fared, History, Moved, Point, Report};
use crate::{claim, finding, page, say};

fn text(lines: &[String]) -> String {
    lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// While a change of load is news, the advice begins with it; the least memory that would be
/// enough follows.
#[test]
fn a_new_load_and_enough_memory_are_told() {
    let mut report = healthy();
    let fared = |wait_ms_per_s| Fared { reads_per_s: 10.0, wait_ms_per_s, ..Fared::default() };
    let all = Effect { tenant: None, before: fared(163.0), after: fared(330.0) };
    report.changes = vec![Change {
        unix_s: report.server.now_unix_s - 600,
        kind: ChangeKind::Load,
        text: "jobs' load rose to 16 times".to_owned(),
        effects: vec![all],
        ..Change::default()
    }];
    let says = text(&say::advise(&report, None));
    let news = "At 14:37 jobs' load rose to 16 times: clients waited 163 ms per second before and \
                330 ms after.";
    assert!(says.contains(news), "{says}");
    let enough = " would be enough: clients would wait at most ";
    assert!(!says.contains(enough), "an eighth less costs more than a tenth: {says}");
    report.tenants[0] = tenant("web", 40 << 20, 40 << 20, 5e3);
    report.tenants[1] = tenant("jobs", 40 << 20, 40 << 20, 1e3);
    let says = text(&say::advise(&report, None));
    assert!(says.contains(enough), "{says}");
    report.server.now_unix_s += 900;
    assert!(!text(&say::advise(&report, None)).contains(news));
}

/// No time between two events is left without a word, and the zone of the times is told once.
#[test]
fn the_time_between_events_is_accounted_for() {
    let mut report = healthy();
    let now = report.server.now_unix_s;
    let change = |ago: u64, text: &str| Change {
        unix_s: now - ago,
        kind: ChangeKind::Setting,
        text: text.to_owned(),
        ..Change::default()
    };
    report.changes = vec![change(3_000, "one"), change(1_200, "two"), change(1_150, "three")];
    let says = text(&say::history(&report, &report.moves, 0));
    let calm = "no change of settings, loads or misses.";
    assert!(says.contains("Changes until now, 14:47 UTC:"), "{says}");
    let all = format!("13:57 one. 13:57–14:27 {calm} 14:27 two. 14:28 three. 14:28–14:41 {calm}");
    let open = "14:41–14:47 no change found yet;";
    assert!(says.contains(open), "{says}");
    assert!(says.contains(&all), "{says}");
    // The stretch that is asked for begins before its first event.
    let says = text(&say::history(&report, &report.moves, now - 1_800));
    assert!(says.contains(&format!("14:17–14:27 {calm} 14:27 two.")), "{says}");
}

/// An event has the figures of the tenant that it is about, even where its misses stayed.
#[test]
fn an_event_names_its_tenant() {
    let fared = |miss_ratio| Fared { reads_per_s: 50.0, miss_ratio, ..Fared::default() };
    let effect = |name: Option<&str>, before, after| Effect {
        tenant: name.map(str::to_owned),
        before: fared(before),
        after: fared(after),
    };
    let effects =
        vec![effect(None, 0.3, 0.4), effect(Some("web"), 0.2, 0.2), effect(Some("kv"), 0.3, 0.5)];
    let kind = ChangeKind::Load;
    let change = Change { kind, text: "web's load rose".into(), effects, ..Change::default() };
    let says = say::measured(&change).unwrap();
    assert!(says.contains("misses of web 20 % → 20 %, kv 30 % → 50 %"), "{says}");
    assert!(!change.is_of("we") && change.is_of("web"));
    // A plan has the waiting of each side.
    let moved = |tenant: &str| Moved { tenant: tenant.into(), before: 1, after: 2 };
    let kind = ChangeKind::Plan;
    let plan = Change { kind, moved: vec![moved("web"), moved("kv")], ..change };
    let says = say::measured(&plan).unwrap();
    assert!(says.contains("web 20 % → 20 % (waiting 0 µs → 0 µs), kv 30 % → 50 % (w"), "{says}");
}

/// More misses because clients ask for new keys say so in their event.
#[test]
fn an_event_of_misses_has_its_cause() {
    let mut history = History::default();
    let begin = 1_795_700_000;
    for second in 1..=900 {
        let unix_s = begin + second;
        let new = if second <= 400 { 5 } else { 45 };
        let point = Point {
            unix_s: unix_s as u32,
            reads: 100,
            misses: 15 + new,
            causes: [new, 15, 0, 0, 0],
            sampled: 10,
            used_kib: 1_000,
            ..Point::default()
        };
        history.push([("web", point)].into_iter());
        if second % 10 == 0 {
            history.note_shifts(unix_s);
        }
    }
    let told: Vec<_> =
        history.changes().filter(|change| change.kind == ChangeKind::Misses).collect();
    let [change] = &told[..] else { panic!("{told:?}") };
    assert!(change.text.starts_with("web misses 59 %, 20 % before, because 44 % of"), "{change:?}");
    let ends = "its reads ask for keys that were never written (5.0 % before)";
    assert!(change.text.ends_with(ends), "{change:?}");
    // WHY says so, too, and nobody starved it.
    let mut report = healthy();
    report.server.now_unix_s = begin + 900;
    let shifts = history.shifts(&["web"], begin + 900);
    let web = &mut report.tenants[0];
    web.shift.clone_from(&shifts[0]);
    web.shift.as_mut().unwrap().winner = Some("jobs".to_owned());
    web.shift.as_mut().unwrap().used_before *= 2;
    let says = text(&say::why(&report, &report.tenants[0]));
    assert!(says.contains("That is not for its memory, but because 4"), "{says}");
    assert!(finding::all(&report).iter().all(|finding| finding.finding != "starved"));
}

/// Nobody is told to write keys in advance while most keys are new to the cache.
#[test]
fn a_young_cache_advises_nothing_about_new_keys() {
    let mut report = with_fault("cold_misses");
    let is_found = |report: &Report| {
        finding::all(report).iter().any(|finding| finding.finding == "cold_misses")
    };
    let why = |report: &Report| text(&say::why(report, &report.tenants[1]));
    assert!(is_found(&report) && why(&report).contains("never written before: write it before"));
    report.server.uptime_s = 90;
    let says = text(&say::memory(&report, &report.tenants[1], 0.0));
    assert!(says.contains("not known yet") && says.contains("Ask again at 14:56."), "{says}");
    assert!(!is_found(&report) && why(&report).contains("never written before: usual in a young"));
    // Later it is young until it is full.
    (report.server.uptime_s, report.server.used) = (2_000, report.server.divided / 2);
    assert!(!is_found(&report));
    report.server.uptime_s = 4_000;
    assert!(is_found(&report), "all its keys fit");
}

/// The present memory has the measured figures, without a band.
#[test]
fn the_present_size_is_measured() {
    let report = healthy();
    let says = text(&say::size(&report, report.server.maxmemory));
    let measured = wait(1e3 * report.recent.wait_ms_per_s());
    assert!(says.contains(&format!("clients wait {measured} per second")), "{says}");
    let missed = percent(report.tenants[0].recent.miss_ratio().unwrap());
    assert!(says.contains(&missed) && !says.contains('±') && !says.contains("would"), "{says}");
}

/// A little more memory has one figure in SIZE and in ADVISE, even if it is within its error.
#[test]
fn more_memory_saves_the_same_everywhere() {
    for report in [healthy(), with_fault("too_small")] {
        let step = claim::step(&report).unwrap();
        let more = claim::of_maxmemory(&report, report.server.maxmemory + step);
        let saved = wait(-1e3 * more[0].change());
        let advice = text(&say::more_or_less(&report));
        let size = text(&say::size(&report, report.server.maxmemory + step));
        assert!(advice.contains(&saved) && size.contains(&saved), "{saved}: {advice} {size}");
    }
}

/// A size that would be enough stays while the curve fluctuates, and a young cache has none.
#[test]
fn what_would_be_enough_stays() {
    let mut report = healthy();
    let mut told = vec![];
    for noise in [0.0, 0.001, -0.001, 0.002] {
        let mut web = tenant("web", 100 << 20, 100 << 20, 5e3);
        let curve = web.curve.as_mut().unwrap();
        for (at, ratio) in curve.ratios.iter_mut().enumerate() {
            // Flat from half of the memory on, but for the noise.
            *ratio = (0.8 - 0.06 * at as f64).max(0.2) + if at % 2 == 0 { noise } else { -noise };
        }
        let enough = Sizing::of(&web).unwrap().enough().unwrap();
        told.push(enough);
        report.tenants[0] = web;
        let says = text(&say::advise(&report, None));
        let wanted = format!("about {} would be enough for as few misses", size(enough));
        assert!(says.contains(&wanted), "{says}");
    }
    assert!(told.iter().all(|enough| *enough == told[0]), "{told:?}");
    report.server.uptime_s = 60;
    assert!(!text(&say::advise(&report, None)).contains("would be enough"));
    // A curve that falls to its end needs all of the memory.
    assert_eq!(Sizing::of(&healthy().tenants[1]).unwrap().enough(), None);
}

/// The bars of memory and of causes have one scale each for all tenants, and a legend.
#[test]
fn bars_share_their_scale() {
    let report = healthy();
    let (advice, history) = (page::Advice::default(), History::default());
    let view = page::Choices::default();
    let shown = page::PageData { report: &report, advice: &advice, history: &history, view: &view };
    let html = page::middle(page::find("/").unwrap(), &shown);
    let jobs = &report.tenants[1];
    let share = 100.0 * jobs.used as f64 / report.server.divided as f64;
    assert!(html.contains(&format!("<b style=\"width:{share:.1}%\"></b>")), "{html}");
    let evicted = 100.0 * jobs.recent.missed_for(base::Cause::Evicted).unwrap();
    assert!(html.contains(&format!("<b style=\"width:{evicted:.1}%;background")), "{html}");
    assert!(html.contains("all the memory fills the bar"), "{html}");
}
