//! Numbers as text for people.

use base::Bytes;

/// A size in the largest unit in which it is at least one.
pub fn size(bytes: u64) -> String {
    Bytes(bytes).to_string()
}

/// A share in per cent, with one decimal below ten.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent.abs() < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A difference of shares, in percentage points; a smaller one than a tenth of a point is a tenth.
pub fn points(difference: f64) -> String {
    let points = (100.0 * difference.abs()).max(0.1);
    let number = if points < 9.95 { format!("{points:.1}") } else { format!("{points:.0}") };
    let unit = if number == "1.0" { "percentage point" } else { "percentage points" };
    format!("{number} {unit}")
}

/// The band of a share in percentage points. It is rounded up, so that it is never 0.
pub fn plus_or_minus(band: f64) -> String {
    let tenths = (1_000.0 * band - 1e-6).ceil().max(1.0);
    if tenths < 100.0 {
        format!("± {:.1}", tenths / 10.0)
    } else {
        format!("± {:.0}", tenths / 10.0)
    }
}

/// A duration given in microseconds, with its unit.
pub fn wait(us: f64) -> String {
    match us.abs() {
        0.0 => "0 µs".to_owned(),
        us if us < 10.0 => format!("{us:.1} µs"),
        us if us < 1e3 => format!("{us:.0} µs"),
        us if us < 9.95e3 => format!("{:.1} ms", us / 1e3),
        us if us < 1e6 => format!("{:.0} ms", us / 1e3),
        us if us < 99.95e6 => format!("{:.1} s", us / 1e6),
        us => format!("{} s", count((us / 1e6).round() as u64)),
    }
}

/// A duration given in seconds, in words: seconds, minutes, hours or days.
pub fn span(seconds: u64) -> String {
    let (number, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => ((seconds + 30) / 60, "minute"),
        7_200..172_800 => ((seconds + 1_800) / 3_600, "hour"),
        _ => ((seconds + 43_200) / 86_400, "day"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// The number of forecasts that were compared with what followed.
pub fn comparisons(forecasts: u64) -> String {
    format!("{} comparisons, one a minute for each tenant", count(forecasts))
}

/// The meaning of a policy's name, for those whose name says little.
pub fn policy(name: &str) -> Option<&'static str> {
    Some(match name.trim_start_matches("allkeys-") {
        "gittins" => "the bytes that save the least waiting go first, learned from past reads",
        "cost-lhd" => "the items whose expected hits save the least waiting a byte go first",
        "lhd" => "the items with the fewest expected hits a byte go first",
        "lrm" => "the items that were written longest ago go first",
        "hyperbolic" => "the items with the fewest reads since they came go first",
        "klru" | "lru" => "the items that were read longest ago go first",
        "lfu" => "the items with the fewest reads go first",
        _ => return None,
    })
}

/// The local time of day; with the date if it is on another day than `now` and half a day from it.
pub fn clock(unix_s: u64, now_unix_s: u64, utc_offset_s: i32) -> String {
    let local = |unix_s: u64| unix_s.saturating_add_signed(utc_offset_s.into());
    let (at, now) = (local(unix_s), local(now_unix_s));
    let (hour, minute) = (at / 3_600 % 24, at / 60 % 60);
    if at / 86_400 == now / 86_400 || at.abs_diff(now) < 43_200 {
        return format!("{hour:02}:{minute:02}");
    }
    let (_, month, day) = calendar(at / 86_400);
    format!("{month:02}-{day:02} {hour:02}:{minute:02}")
}

/// [`clock`] with seconds.
pub fn clock_second(unix_s: u64, now_unix_s: u64, utc_offset_s: i32) -> String {
    let second = unix_s.saturating_add_signed(utc_offset_s.into()) % 60;
    format!("{}:{second:02}", clock(unix_s, now_unix_s, utc_offset_s))
}

/// The name of the zone that [`clock`] shows: UTC, or its offset from UTC.
pub fn zone(utc_offset_s: i32) -> String {
    let minutes = utc_offset_s.unsigned_abs() / 60;
    let sign = if utc_offset_s < 0 { '-' } else { '+' };
    match minutes {
        0 => "UTC".to_owned(),
        minutes => format!("UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60),
    }
}

/// The date in UTC, in the form 2026-11-26.
pub fn date(unix_s: u64) -> String {
    let (year, month, day) = calendar(unix_s / 86_400);
    format!("{year}-{month:02}-{day:02}")
}

/// Year, month and day of a number of days since 1970, in the Gregorian calendar. Eras of 400 years
/// begin in March, so a leap day is the last day of its year.
fn calendar(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let is_next = month >= 10;
    (400 * era + year + u64::from(is_next), if is_next { month - 9 } else { month + 3 }, day)
}

/// A count with a space between each group of three digits.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A key in quotes for one line of text: control characters are escaped, and the middle of a long
/// key is left out.
pub fn quoted(key: &str) -> String {
    const SIDE: usize = 16;
    let shown: Vec<char> = key.chars().collect();
    let text: String = if shown.len() > 2 * SIDE + 1 {
        let (head, tail) = (&shown[..SIDE], &shown[shown.len() - SIDE..]);
        head.iter().chain(&['…']).chain(tail).collect()
    } else {
        key.to_owned()
    };
    format!("'{}'", text.escape_debug().to_string().replace("\\'", "'"))
}

/// Whether `word` is the next group of digits of the number at the end of `before`, as [`count`]
/// writes it.
pub(crate) fn continues_number(before: &str, word: &str) -> bool {
    let digits = word.chars().take_while(char::is_ascii_digit).count();
    digits == 3 && before.ends_with(|c: char| c.is_ascii_digit())
}

/// Units that stay on the same line as their number.
const UNITS: [&str; 12] =
    ["%", "B", "KiB", "MiB", "GiB", "TiB", "µs", "ms", "s", "percentage", "point", "points"];

/// Wraps a sentence at `columns`; lines after the first are indented.
pub fn wrap(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    for word in text.split(' ') {
        let is_unit = UNITS.contains(&word.trim_end_matches(|c| ".,:;)".contains(c)));
        let stays = |last: &&mut String| is_unit || continues_number(last, word);
        match words.last_mut().filter(stays) {
            Some(number) => *number = format!("{number} {word}"),
            None => words.push(word.to_owned()),
        }
    }
    let mut lines = vec![];
    let mut line = String::new();
    for word in words {
        let word = word.as_str();
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() > columns {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent) + word));
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(percent(0.0412), "4.1 %");
        assert_eq!(percent(0.863), "86 %");
        assert_eq!(points(-0.01), "1.0 percentage point");
        assert_eq!(points(0.123), "12 percentage points");
        assert_eq!(points(0.0), "0.1 percentage points");
        assert_eq!(
            [3.21, 412.0, 25_300.0, 2.5e6, 8.932e9].map(wait).join(", "),
            "3.2 µs, 412 µs, 25 ms, 2.5 s, 8 932 s"
        );
        assert_eq!(
            [span(1), span(585), span(7_300), span(900_000)].join(", "),
            "1 second, 10 minutes, 2 hours, 10 days"
        );
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(
            [0.0, 0.0012, 0.02, 0.153].map(plus_or_minus),
            ["± 0.1", "± 0.2", "± 2.0", "± 15"]
        );
    }

    #[test]
    fn keys_fit_a_line() {
        assert_eq!(quoted("user:7"), "'user:7'");
        assert_eq!(quoted("it's\n\u{1b}[2J"), r"'it's\n\u{1b}[2J'");
        assert_eq!(quoted(&"x".repeat(99)), format!("'{0}…{0}'", "x".repeat(16)));
    }

    #[test]
    fn times_are_of_the_day() {
        // 2026-11-26 14:47:51 UTC.
        let now = 1_795_704_471;
        assert_eq!(clock(now, now, 0), "14:47");
        assert_eq!(clock(now, now, 3_600), "15:47");
        assert_eq!(clock_second(now, now, 3_601), "15:47:52");
        assert_eq!([0, 7_200, -12_600].map(zone), ["UTC", "UTC+02:00", "UTC-03:30"]);
        assert_eq!(clock(now - 86_400, now, 0), "11-25 14:47");
        assert_eq!(clock(now - 270 * 86_400, now, 0), "03-01 14:47");
        assert_eq!(clock(951_782_400, now, 0), "02-29 00:00");
        let days = [0, 951_782_400, now, 1_767_225_599, 1_767_225_600];
        assert_eq!(
            days.map(date).join(" "),
            "1970-01-01 2000-02-29 2026-11-26 2025-12-31 2026-01-01"
        );
    }

    #[test]
    fn sentences_keep_to_their_columns() {
        let text = "a bb ccc dddd eeeee ffffff";
        assert_eq!(wrap(text, 10, 2), ["a bb ccc", "  dddd", "  eeeee", "  ffffff"]);
        assert_eq!(wrap(text, 80, 2), [text]);
        assert_eq!(wrap(text, 11, 0), ["a bb ccc", "dddd eeeee", "ffffff"]);
        assert_eq!(wrap("it has 5 %, or so", 8, 0), ["it has", "5 %, or", "so"]);
        assert_eq!(wrap("of 12 065 reads", 8, 0), ["of", "12 065", "reads"]);
    }
}
