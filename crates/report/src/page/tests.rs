//! Pages of tenants with odd names, and of many tenants.

use super::*;
use crate::finding::tests::healthy;
use crate::{Change, History, Moved, Point, ProcessPoint, Report};

fn shown(names: &[&str], page: &PageSpec) -> String {
    let mut report = healthy();
    let first = report.tenants[0].clone();
    report.tenants =
        names.iter().map(|&name| crate::Tenant { name: name.into(), ..first.clone() }).collect();
    let mut history = History::default();
    for second in 0..200 {
        let point = Point {
            unix_s: (report.server.now_unix_s - 200 + second) as u32,
            reads: 10,
            misses: 2,
            used_kib: 100,
            ..Point::default()
        };
        history.push(names.iter().map(|&name| (name, point)));
    }
    let moved = Moved { tenant: names[0].into(), before: 1, after: 2 };
    report.changes = vec![Change {
        unix_s: report.server.now_unix_s - 60,
        text: "a plan is in force".into(),
        moved: vec![moved],
        ..Change::default()
    }];
    for change in &report.changes {
        history.note(change.clone());
    }
    let view =
        Choices::of(&format!("tenant={}&event={}", encode(names[0]), report.changes[0].unix_s));
    let advice = Advice::of(&report);
    whole(page, &PageData { report: &report, advice: &advice, history: &history, view: &view })
}

/// The name of a tenant is escaped wherever it appears.
#[test]
fn names_are_text() {
    for page in ALL {
        let html = shown(&["<script>alert(\"x\")</script>", "b"], page);
        assert!(!html.contains("<script>alert"), "{}", page.title);
        assert_eq!(html.matches("<script").count(), 1, "{}", page.title);
        assert!(html.contains("&lt;script&gt;alert"), "{}", page.title);
        assert!(!html.contains("http://") && !html.contains("https://"));
    }
}

/// The first page lists the changes of the time that its charts show, and none after it.
#[test]
fn changes_are_those_of_the_shown_time() {
    let report = healthy();
    let now = report.server.now_unix_s;
    let mut history = History::default();
    let ages = std::iter::once((7_200, "early".to_owned()));
    for (age, text) in ages.chain((1..=7).map(|at| (3_000 - at, format!("late {at}")))) {
        history.note(Change { unix_s: now - age, text, ..Change::default() });
    }
    let listed = |choices: &str| {
        let (view, advice) = (Choices::of(choices), Advice::of(&report));
        let shown = PageData { report: &report, advice: &advice, history: &history, view: &view };
        events::lately(&shown)
    };
    let hour = listed("span=3600");
    assert!(hour.contains("The last 6 of 7:") && hour.contains("late 7"), "{hour}");
    assert!(!hour.contains("late 1<") && !hour.contains("early"), "{hour}");
    for choices in ["span=300", &format!("from={}&to={}", now - 7_000, now - 6_000)] {
        let quiet = listed(choices);
        assert!(quiet.contains("Nothing else. The last change before:"), "{quiet}");
        assert_eq!(quiet.contains("early"), choices != "span=300", "{quiet}");
        assert_eq!(quiet.contains("late 7"), choices == "span=300", "{quiet}");
    }
}

/// The Server page has the history of the process where there is one: a step of several seconds
/// shows rates per second, and memory is stacked in the colours of its uses.
#[test]
fn the_process_has_its_charts() {
    let report = healthy();
    let mut history = History::default();
    let view = Choices::of("span=0");
    let advice = Advice::of(&report);
    let page = |history: &History| {
        ALL.iter().find(|page| page.path == "/server").map(|page| {
            whole(page, &PageData { report: &report, advice: &advice, history, view: &view })
        })
    };
    let titles = ["Connections", "Commands", "Times of commands", "Resident memory by use"];
    let before = page(&history).unwrap();
    let has = |page: &str, title: &str| page.contains(&format!("class=\"title\">{title}<"));
    assert!(titles.iter().all(|title| !has(&before, title)));
    for second in 1..=2_000 {
        history.push_process(&ProcessPoint {
            unix_s: (report.server.now_unix_s - 2_000 + second) as u32,
            clients: 7,
            commands: 50,
            timed: 5,
            quantiles_us: [9.0, 60.0],
            memory_kib: [5_000, 400, 300, 20, 100],
            left: [30, 20, 10],
        });
    }
    let after = page(&history).unwrap();
    assert!(titles.iter().all(|title| has(&after, title)), "{after}");
    assert!(after.contains("var(--u0)") && after.contains("var(--u4)"));
}

/// Charts show few lines however many tenants there are; tables show all tenants.
#[test]
fn many_tenants_stay_readable() {
    let names: Vec<String> = (0..200).map(|at| format!("tenant{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let html = shown(&names, &ALL[0]);
    let lines = html.matches("<polyline").count() + html.matches("<polygon").count();
    assert!(lines < 40, "{lines}");
    assert!(names.iter().all(|name| html.contains(&format!(">{name}<"))));
}

#[test]
fn what_a_url_holds_comes_back() {
    for text in ["web", "a b&c=d/ü", "<\">%"] {
        assert_eq!(decode(&encode(text)), text);
    }
    assert_eq!(decode("a+b%zz%4"), "a b%zz%4");
}

/// A page with these choices, with plain spaces.
fn middle_of(report: &Report, path: &str, query: &str) -> String {
    let (advice, history, view) = (Advice::of(report), History::default(), Choices::of(query));
    let shown = PageData { report, advice: &advice, history: &history, view: &view };
    middle(find(path).unwrap(), &shown).replace('\u{a0}', " ")
}

/// The page of sizes asks for a miss ratio that some memory reaches, and takes any other.
#[test]
fn any_miss_ratio_can_be_asked_for() {
    let report = healthy();
    let html = middle_of(&report, "/sizing", "tenant=web");
    assert!(html.contains("name=\"misses\"") && html.contains("web would miss "), "{html}");
    assert!(!html.contains("cannot reach"), "{html}");
    let html = middle_of(&report, "/sizing", "tenant=web&misses=12.5");
    assert!(html.contains("value=\"12.5\"") && html.contains("web would miss 12 % with"), "{html}");
    assert!(!html.contains(">1 %</a>"), "the curve ends at two per cent");
}

/// A tenant that nobody reads now keeps its memory on the page, and its fading curve gives no
/// answer.
#[test]
fn a_silent_tenant_has_its_memory() {
    let mut report = healthy();
    report.tenants[0].silent_s = 90;
    let held = crate::words::size(report.tenants[0].used);
    let all = middle_of(&report, "/sizing", "");
    assert!(all.contains(&format!(">{held}</td>")) && all.contains(">no reads</td>"), "{all}");
    for (path, query) in [("/sizing", "tenant=web"), ("/tenant", "tenant=web")] {
        let html = middle_of(&report, path, query);
        let says = format!(
            "web has no reads for 90 seconds, so its curve fades and gives no \
                            answer. It holds {held}."
        );
        assert!(html.contains(&says) && !html.contains("would miss"), "{html}");
    }
}

/// The parts of the long page can be closed, and every page of time has fifteen minutes.
#[test]
fn parts_close_and_a_quarter_of_an_hour_is_shown() {
    let html = middle_of(&healthy(), "/server", "");
    assert_eq!(html.matches("<details class=\"part\" open>").count(), 2, "{html}");
    for page in ALL.iter().filter(|page| page.has_time) {
        let html = middle_of(&healthy(), page.path, "");
        assert!(html.contains("?span=900\">15 minutes</a>"), "{html}");
    }
    let html = middle_of(&healthy(), "/tenant", "tenant=web&span=900");
    assert!(html.contains("web had no reads in the last "), "{html}");
}
