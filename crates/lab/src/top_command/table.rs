//! The table of tenants: its columns follow the width of the terminal.

use super::look::{TenantRow, Trend};
use super::order::Order;
use super::spark::{bar, coarse, spark};
use ::report::words::{count, percent, size, wait};
use ratatui::layout::Constraint;
use ratatui::style::{Style, Stylize};
use ratatui::text::Text;
use ratatui::widgets::{Cell, Row, Table};
use std::collections::HashMap;

/// The narrowest and the widest column of names.
const NAME: (u16, u16) = (7, 24);

/// The columns that a width has room for.
struct Widths {
    name: u16,
    bar: u16,
    spark: u16,
    /// Cells of the chart of waiting over time; 0 for none.
    waiting: u16,
    has_items: bool,
    has_cause: bool,
}

impl Widths {
    fn of(width: u16, rows: &[TenantRow]) -> Self {
        let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0) as u16;
        let name = longest.clamp(NAME.0, NAME.1);
        // Columns of numbers, with a space each.
        let mut left = width.saturating_sub(name + 9 + 8 + 8 + 10 + 8 + 8);
        let (has_items, has_cause) = (left >= 54, left >= 80);
        left = left.saturating_sub(if has_items { 11 } else { 0 } + if has_cause { 22 } else { 0 });
        let waiting = if left >= 32 { left / 3 } else { 0 };
        let spark = if waiting > 0 { left / 3 } else { left / 2 };
        let limit = |cells: u16| cells.saturating_sub(1).min(40);
        let bar = left - waiting - spark;
        Self {
            name,
            bar: limit(bar),
            spark: limit(spark),
            waiting: limit(waiting),
            has_items,
            has_cause,
        }
    }
}

/// The table, as wide as the terminal.
pub(super) fn table<'a>(
    rows: &'a [TenantRow],
    past: &HashMap<String, Trend>,
    (order, is_reversed): (Order, bool),
    width: u16,
) -> Table<'a> {
    let widths = Widths::of(width, rows);
    let most = rows.iter().filter_map(|row| row.used).max().unwrap_or(0).max(1);
    let right = |text: String| Cell::from(Text::from(text).right_aligned());
    let none = || "–".to_owned();
    let sign = if is_reversed { "▴" } else { "▾" };
    let head = |own: Order, word: &str| {
        if own == order { format!("{word}{sign}") } else { word.to_owned() }
    };
    let mut heads = vec![
        Cell::from(head(Order::Name, "tenant")),
        Cell::from(""),
        right(head(Order::Memory, "memory")),
        right(head(Order::Reads, "reads/s")),
        right(head(Order::Misses, "misses")),
        Cell::from("over time"),
        right(head(Order::Waiting, "waiting/s")),
        right(head(Order::Cost, "a miss")),
    ];
    let mut constraints = vec![
        Constraint::Length(widths.name),
        Constraint::Length(widths.bar),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(7),
        Constraint::Length(widths.spark.max(9)),
        Constraint::Length(10),
        Constraint::Length(7),
    ];
    if widths.waiting > 0 {
        heads.insert(7, Cell::from("over time"));
        constraints.insert(7, Constraint::Length(widths.waiting));
    }
    if widths.has_items {
        heads.push(right("items".to_owned()));
        constraints.push(Constraint::Length(10));
    }
    if widths.has_cause {
        heads.push(Cell::from("most misses"));
        constraints.push(Constraint::Length(21));
    }
    let cells = rows.iter().map(|row| {
        let past = past.get(&row.name);
        let misses = past.map_or(&[][..], |past| &past.misses);
        let waits = past.map_or(&[][..], |past| &past.waits);
        let mut cells = vec![
            Cell::from(short(&row.name, widths.name.into())),
            Cell::from(bar(row, most, widths.bar.max(1).into())).blue(),
            right(row.used.map_or_else(none, size)),
            right(row.reads_per_s.map_or_else(none, |reads| count(reads as u64))),
            right(row.miss_ratio.map_or_else(none, percent)),
            Cell::from(over_time(misses, widths.spark.max(9))).yellow(),
            right(row.wait_ms_per_s.map_or_else(none, |ms| wait(1e3 * ms))),
            right(row.penalty_us.map_or_else(none, wait)),
        ];
        if widths.waiting > 0 {
            cells.insert(7, Cell::from(over_time(waits, widths.waiting)).magenta());
        }
        if widths.has_items {
            cells.push(right(row.items.map_or_else(none, count)));
        }
        if widths.has_cause {
            let largest = row.causes.iter().max_by(|a, b| a.1.total_cmp(&b.1));
            let text = largest.map_or_else(none, |(cause, of)| format!("{cause} {}", percent(*of)));
            cells.push(Cell::from(text));
        }
        Row::new(cells)
    });
    Table::new(cells, constraints)
        .header(Row::new(heads).bold())
        .row_highlight_style(Style::new().reversed())
}

/// The whole past in `cells`.
fn over_time(values: &[f64], cells: u16) -> String {
    let cells = usize::from(cells);
    spark(&coarse(values, 2 * cells), cells)
}

/// A name of at most `letters`: a longer one loses its middle, because names often differ at the
/// end.
pub(super) fn short(name: &str, letters: usize) -> String {
    let all: Vec<char> = name.chars().collect();
    if all.len() <= letters {
        return name.to_owned();
    }
    let head = letters.saturating_sub(1).div_ceil(2);
    let tail = letters.saturating_sub(1 + head);
    all[..head].iter().chain(&['…']).chain(&all[all.len() - tail..]).collect()
}
