//! The page of one tenant: its figures, its misses and its waiting over time, why it misses, and
//! what would help.

use super::look::{TenantRow, Trend};
use super::spark::{bar, coarse};
use ::report::words::{count, percent, quoted, size, wait, wrap};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Paragraph};

/// Lines of a chart.
const CHART: u16 = 9;
/// Cells of the bar of memory.
const BAR: usize = 30;

/// Draws the page.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, row: &TenantRow, most: u64, past: &Trend) {
    let chart = if area.height >= 20 { CHART } else { 0 };
    let parts = [Constraint::Length(3), Constraint::Length(chart), Constraint::Min(0)];
    let [head, charts, text] = Layout::vertical(parts).areas(area);
    frame.render_widget(Paragraph::new(figures(row, most)), head);
    if chart > 0 {
        let halves = [Constraint::Percentage(50), Constraint::Percentage(50)];
        let [left, right] = Layout::horizontal(halves).spacing(2).areas(charts);
        let yellow = Color::Yellow;
        draw_chart(frame, left, "misses", &past.misses, past.seconds, yellow, percent);
        let waiting = |ms: f64| wait(1e3 * ms);
        draw_chart(frame, right, "waiting/s", &past.waits, past.seconds, Color::Magenta, waiting);
    }
    frame.render_widget(Paragraph::new(reasons(row, area.width.into())), text);
}

/// The figures in two lines.
fn figures(row: &TenantRow, most: u64) -> Vec<Line<'static>> {
    let none = || "–".to_owned();
    let first = format!(
        "{} reads/s   misses {}   waiting/s {}   a miss costs {}   {} items",
        row.reads_per_s.map_or_else(none, |reads| count(reads as u64)),
        row.miss_ratio.map_or_else(none, percent),
        row.wait_ms_per_s.map_or_else(none, |ms| wait(1e3 * ms)),
        row.penalty_us.map_or_else(none, wait),
        row.items.map_or_else(none, count),
    );
    let bounds = [
        ("floor ╎", Some(row.min).filter(|min| *min > 0)),
        ("ceiling ┃", row.max),
        ("budget │", row.given),
    ];
    let bounds =
        bounds.into_iter().filter_map(|(word, bytes)| Some(format!("   {word} {}", size(bytes?))));
    let memory = format!(
        "{} {}{}",
        bar(row, most, BAR),
        row.used.map_or_else(none, size),
        bounds.collect::<String>()
    );
    vec![Line::raw(first), Line::raw(memory)]
}

fn draw_chart(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    values: &[f64],
    seconds: f64,
    colour: Color,
    show: impl Fn(f64) -> String,
) {
    let all = values.len().saturating_sub(1) as f64 * seconds;
    let values = coarse(values, usize::from(area.width / 2));
    let points: Vec<_> = values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
    let highest = values.iter().copied().fold(0.0, f64::max).max(1e-6);
    let end = points.len().saturating_sub(1).max(1) as f64;
    let line = Dataset::default()
        .marker(Marker::Braille)
        .graph_type(GraphType::Line)
        .style(Style::new().fg(colour))
        .data(&points);
    let ago = ::report::words::span(all.round() as u64);
    let x = Axis::default().bounds([0.0, end]).labels([format!("{ago} ago"), "now".to_owned()]);
    let y = Axis::default().bounds([0.0, highest]).labels(["0".to_owned(), show(highest)]);
    let block = Block::new().title(title.to_owned().bold());
    frame.render_widget(Chart::new(vec![line]).block(block).x_axis(x).y_axis(y), area);
}

/// Why it misses, what would help, and its hot keys, wrapped to `width`.
fn reasons(row: &TenantRow, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![];
    let mut put = |text: &str, indent: usize| {
        let margin = " ".repeat(text.len() - text.trim_start().len());
        let wrapped = wrap(text.trim_start(), width.saturating_sub(indent + margin.len()), indent);
        lines.extend(wrapped.into_iter().map(|line| Line::raw(format!("{margin}{line}"))));
    };
    if row.why.is_empty() {
        put("This server does not report why reads miss.", 0);
    }
    row.why.iter().for_each(|text| put(text, 0));
    for advice in &row.advice {
        put("", 0);
        advice.lines().for_each(|line| put(line, 2));
    }
    if !row.hot_keys.is_empty() {
        put("", 0);
        let keys = row.hot_keys.iter();
        let keys: Vec<_> =
            keys.map(|(key, share)| format!("{} {}", quoted(key), percent(*share))).collect();
        put(&format!("Hot keys, with their share of its requests: {}.", keys.join(", ")), 2);
    }
    lines
}
