//! Small charts in a line of text.
//!
//! A spark shows change: its lowest value stands at the bottom and its highest at the top, as a
//! line of braille dots. Values that differ by less than a twentieth make a level line, so noise
//! looks like noise.

use super::look::TenantRow;

/// Values whose range is a smaller share of the highest one make a level line.
const RANGE_MIN: f64 = 0.05;

/// The values as `count` means of groups at most, so that a narrow chart shows the whole past.
pub(super) fn coarse(values: &[f64], count: usize) -> Vec<f64> {
    let each = values.len().div_ceil(count.max(1)).max(1);
    // The newest group is whole; the oldest may be smaller.
    let groups = values.rchunks(each).map(|group| group.iter().sum::<f64>() / group.len() as f64);
    let mut means: Vec<f64> = groups.collect();
    means.reverse();
    means
}

/// The last values as a line of dots, two to a cell; the newest stands to the right.
pub(super) fn spark(values: &[f64], cells: usize) -> String {
    /// The dots of the left and right column of a cell, from the bottom.
    const DOTS: [[u32; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];
    let last = &values[values.len().saturating_sub(2 * cells)..];
    let highest = last.iter().copied().fold(f64::MIN, f64::max);
    let lowest = last.iter().copied().fold(f64::MAX, f64::min);
    let range = highest - lowest;
    let is_level = range < RANGE_MIN * highest.abs();
    let level = |value: f64| if is_level { 1.0 } else { (value - lowest) / range * 3.0 };
    let mut codes = vec![0x2800; cells];
    let first = 2 * cells - last.len();
    let mut before: Option<usize> = None;
    for (at, &value) in last.iter().enumerate() {
        let (at, level) = (first + at, level(value).round() as usize);
        // A step is drawn as a stroke, so that the line has no holes.
        let from = before.map_or(level, |before| match before.cmp(&level) {
            std::cmp::Ordering::Less => before + 1,
            std::cmp::Ordering::Equal => level,
            std::cmp::Ordering::Greater => before - 1,
        });
        for dot in &DOTS[at % 2][from.min(level)..=from.max(level)] {
            codes[at / 2] |= dot;
        }
        before = Some(level);
    }
    codes.into_iter().filter_map(char::from_u32).collect()
}

/// Memory of a row relative to the largest one, with marks for the floor (╎), the maximum (┃) and
/// the budget (│).
pub(super) fn bar(row: &TenantRow, most: u64, cells: usize) -> String {
    let Some(used) = row.used else { return String::new() };
    let place =
        |bytes: u64| (cells as f64 * (bytes as f64 / most as f64).min(1.0)).round() as usize;
    let mut text = vec!['·'; cells];
    text[..place(used)].fill('█');
    let mut mark = |bytes: Option<u64>, sign: char| {
        if let Some(bytes) = bytes.filter(|bytes| *bytes > 0 && *bytes <= most) {
            text[place(bytes).min(cells - 1)] = sign;
        }
    };
    mark(Some(row.min), '╎');
    mark(row.max, '┃');
    mark(row.given, '│');
    text.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spark_shows_change_and_no_blocks() {
        assert_eq!(spark(&[], 3), "⠀⠀⠀");
        assert_eq!(spark(&[0.4; 6], 3), "⠤⠤⠤", "a level line");
        assert_eq!(spark(&[0.400, 0.401, 0.399, 0.4], 2), "⠤⠤", "noise");
        assert_eq!(spark(&[0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0], 2), "⡠⠊", "a rise");
        assert_eq!(spark(&[0.0, 1.0], 1), "⡸", "a step has no holes");
        assert_eq!(spark(&[9.0, 9.0, 0.0, 1.0], 1), "⡸", "the last two");
    }

    #[test]
    fn a_narrow_chart_has_the_whole_past() {
        assert_eq!(coarse(&[1.0, 2.0, 4.0, 6.0, 8.0], 3), [1.0, 3.0, 7.0]);
        assert_eq!(coarse(&[1.0, 2.0], 9), [1.0, 2.0]);
        assert!(coarse(&[], 3).is_empty());
    }

    #[test]
    fn bars_show_shares() {
        let row = TenantRow { used: Some(50), min: 20, max: Some(80), ..TenantRow::default() };
        assert_eq!(bar(&row, 100, 10), "██╎██···┃·");
    }
}
