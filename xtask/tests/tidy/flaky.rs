//! `xtask/flaky.txt`: tests that fail by chance are few, and stay on the list for a short time.

use crate::root;
use std::fs;
use std::time::SystemTime;

const MOST: usize = 5;
const DAYS: i64 = 14;

/// Days from 1970 to a date of the form 2026-11-28, by the civil calendar.
fn days(date: &str) -> Option<i64> {
    let parts: Vec<i64> = date.split('-').map_while(|part| part.parse().ok()).collect();
    let &[year, month @ 1..=12, day @ 1..=31] = &parts[..] else { return None };
    // Years begin in March, so that a leap day comes last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_years = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(of_years + (153 * month + 2) / 5 + day - 1 - 719_468)
}

/// The problems of a list on a day.
fn problems(text: &str, today: i64) -> Vec<String> {
    let lines: Vec<_> =
        text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()).collect();
    let mut found = vec![];
    if lines.len() > MOST {
        found.push(format!("{} tests fail by chance: mend some", lines.len()));
    }
    for line in lines {
        let mut words = line.split_whitespace();
        let is_name = words.next().is_some_and(|name| name.starts_with(|c: char| c.is_lowercase()));
        match words.next().and_then(days) {
            Some(day) if today - day > DAYS => found.push(format!("older than two weeks: {line}")),
            Some(day) if day <= today && is_name && words.next().is_some() => {}
            _ => found.push(format!("not a name, a date that was, and a reason: {line}")),
        }
    }
    found
}

#[test]
fn tests_that_fail_by_chance_are_few_and_mended_soon() {
    let text = fs::read_to_string(root().join("xtask/flaky.txt")).unwrap();
    let today = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() / 86_400;
    crate::complain(&problems(&text, today as i64));
}

#[test]
fn a_list_that_grows_or_ages_is_found() {
    assert_eq!((days("1970-01-01"), days("2026-11-28")), (Some(0), Some(20_785)));
    assert_eq!(days("2024-03-01").unwrap() - days("2024-02-29").unwrap(), 1);
    let today = days("2026-11-28").unwrap();
    assert!(problems("# a head\n\na::b 2026-11-14 waits for a time\n", today).is_empty());
    for text in [
        "a::b 2026-11-13 waits for a time",
        "a::b 2026-11-29 is to come",
        "a::b 2026-11-28",
        "a::b soon waits",
        &"a::b 2026-11-28 waits for a time\n".repeat(6),
    ] {
        assert_eq!(problems(text, today).len(), 1, "{text}");
    }
}
