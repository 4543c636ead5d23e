//! Screens of several sizes, as text.

use super::look::{Look, TenantRow, TextPage};
use super::screen::Screen;

fn row(name: &str, used: u64, misses: f64) -> TenantRow {
    TenantRow {
        name: name.into(),
        used: Some(used << 20),
        min: 1 << 20,
        items: Some(4_321),
        reads_per_s: Some(1_234.0),
        miss_ratio: Some(misses),
        wait_ms_per_s: Some(100.0 * misses),
        penalty_us: Some(25_000.0),
        why: vec![format!("{name} misses for a reason")],
        causes: vec![("evicted".into(), 0.9 * misses), ("expired".into(), 0.1 * misses)],
        advice: vec![format!("{name} needs memory. Type: CONFIG SET maxmemory 1gb")],
        hot_keys: vec![("one".into(), 0.25)],
        ..TenantRow::default()
    }
}

fn look() -> Look {
    let text = TextPage { key: 'a', title: "advice", lines: vec!["more memory helps".into()] };
    Look {
        server: "larder 0.1.0, recipe auto".into(),
        says: "200 MiB, all in use. Its 2 tenants wait 412 ms in every second.".into(),
        rows: vec![row("web", 120, 0.04), row("jobs", 80, 0.86)],
        events: vec![format!("10:40  a plan is in force, {}", "with many words ".repeat(9).trim())],
        texts: vec![text],
        ..Look::default()
    }
}

fn screen() -> Screen {
    let mut screen = Screen::new(1.0);
    screen.see(look());
    screen
}

#[test]
fn all_fits_a_small_terminal() {
    let mut screen = screen();
    let text = screen.text();
    for part in ["recipe auto", "412 ms", "web", "120 MiB", "1 234", "86 %", "25 ms", "10:40"] {
        assert!(text.contains(part), "{part} is missing from\n{text}");
    }
    for width in [80, 100, 140, 200] {
        let text = screen.text_of(width, 24);
        assert!(text.lines().all(|line| line.chars().count() <= width.into()), "{text}");
        let words: Vec<_> = text.split_whitespace().collect();
        assert_eq!(words.join(" ").matches("with many words").count(), 9, "{text}");
    }
}

/// A command stands on a line of its own among the events and on the page of its tenant.
#[test]
fn commands_begin_a_line() {
    let mut look = look();
    look.events.push("advice web needs memory.\ntype   CONFIG SET maxmemory 1gb".into());
    look.rows[1].advice = vec!["jobs needs memory.\ntype   CONFIG SET maxmemory 2gb".into()];
    let mut screen = Screen::new(1.0);
    screen.see(look);
    let is_line = |text: &str, size: &str| {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().any(|line| words(line) == format!("type CONFIG SET maxmemory {size}"))
    };
    let text = screen.text();
    assert!(is_line(&text, "1gb"), "{text}");
    screen.choose(1);
    screen.open();
    let text = screen.text();
    assert!(is_line(&text, "2gb"), "{text}");
}

/// A wide terminal shows more columns.
#[test]
fn a_wide_terminal_is_used() {
    let mut screen = screen();
    assert!(!screen.text_of(80, 24).contains("most misses"));
    let wide = screen.text_of(200, 24);
    for part in ["most misses", "evicted 77 %", "4 321"] {
        assert!(wide.contains(part), "{part} is missing from\n{wide}");
    }
    assert_eq!(wide.matches("over time").count(), 2, "{wide}");
}

#[test]
fn keys_sort_and_turn_round() {
    let mut screen = screen();
    let jobs_first = |screen: &mut Screen| {
        let text = screen.text();
        text.find("jobs") < text.find("web ")
    };
    assert!(jobs_first(&mut screen), "who waits longest is first");
    for (key, expected) in [('2', false), ('2', true), ('1', true), ('r', false), ('4', true)] {
        assert!(screen.press(key));
        assert_eq!(jobs_first(&mut screen), expected, "after {key}");
    }
    assert!(!screen.press('q'));
}

#[test]
fn a_tenant_has_a_page() {
    let mut screen = screen();
    screen.choose(1);
    screen.open();
    let text = screen.text();
    for part in ["jobs misses for a reason", "CONFIG SET maxmemory 1gb", "'one' 25 %", "floor ╎"]
    {
        assert!(text.contains(part), "{part} is missing from\n{text}");
    }
    screen.choose(1);
    assert!(screen.text().contains("web misses for a reason"));
    assert!(screen.closes() && !screen.closes());
    assert!(!screen.text().contains("for a reason"));
}

/// The row that was chosen stays chosen when the order changes.
#[test]
fn the_choice_follows_its_tenant() {
    let mut screen = screen();
    screen.choose(1);
    screen.press('2');
    screen.open();
    assert!(screen.text().contains("jobs misses for a reason"));
}

#[test]
fn texts_and_help_open_and_close() {
    let mut screen = screen();
    screen.press('a');
    assert!(screen.text().contains("more memory helps"));
    screen.press('?');
    let help = screen.text();
    for part in ["turns the order round", "advice", "lowest"] {
        assert!(help.contains(part), "{part} is missing from\n{help}");
    }
    assert!(screen.closes());
}

/// A click chooses a row, and a second one opens it.
#[test]
fn the_mouse_chooses() {
    let mut screen = screen();
    let text = screen.text();
    let line = text.lines().position(|line| line.starts_with("web ")).unwrap() as u16;
    screen.click(line);
    assert!(!screen.text().contains("for a reason"));
    screen.click(line);
    assert!(screen.text().contains("web misses for a reason"));
}
