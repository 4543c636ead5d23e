//! The screen: a sentence, a table of tenants with their memory as bars and their misses over time,
//! and events. All of it is shown from 80 columns and 24 lines up.

use super::look::{Look, TenantRow};
use ::report::words::{count, percent, size, wait};
use ratatui::Frame;
use ratatui::backend::TestBackend;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row as Cells, Table, TableState, Wrap};
use std::collections::HashMap;

/// Number of looks for which the misses of each tenant are remembered.
const PAST: usize = 60;
/// Cells of a memory bar, and of the chart of misses over time.
const BAR: usize = 10;
const SPARK: usize = 10;
/// Columns of the screen as text, and its least number of lines.
const COLUMNS: u16 = 80;
const LINES: u16 = 24;

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Order {
    #[default]
    Waiting,
    Memory,
    Reads,
    Misses,
    Name,
}

impl Order {
    const ALL: [Self; 5] = [Self::Waiting, Self::Memory, Self::Reads, Self::Misses, Self::Name];

    const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Memory => "memory",
            Self::Reads => "reads",
            Self::Misses => "misses",
            Self::Name => "name",
        }
    }

    fn key(self, row: &TenantRow) -> f64 {
        match self {
            Self::Waiting => row.wait_ms_per_s.unwrap_or_default(),
            Self::Memory => row.used.unwrap_or_default() as f64,
            Self::Reads => row.reads_per_s.unwrap_or_default(),
            Self::Misses => row.miss_ratio.unwrap_or_default(),
            Self::Name => 0.0,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Screen {
    look: Look,
    /// Miss ratios of each tenant, look by look.
    past: HashMap<String, Vec<f64>>,
    order: Order,
    table: TableState,
    /// Tenant whose reasons for misses are shown.
    asked: Option<String>,
}

impl Screen {
    /// Takes a new look.
    pub(super) fn see(&mut self, look: Look) {
        self.past.retain(|name, _| look.rows.iter().any(|row| row.name == *name));
        for row in &look.rows {
            let past = self.past.entry(row.name.clone()).or_default();
            past.push(row.miss_ratio.unwrap_or_default());
            if past.len() > PAST {
                past.remove(0);
            }
        }
        self.look = look;
        self.arrange();
    }

    fn arrange(&mut self) {
        let order = self.order;
        self.look.rows.sort_by(|a, b| {
            order.key(b).total_cmp(&order.key(a)).then_with(|| a.name.cmp(&b.name))
        });
    }

    pub(super) fn sort(&mut self) {
        let at = Order::ALL.iter().position(|order| *order == self.order).unwrap_or(0);
        self.order = Order::ALL[(at + 1) % Order::ALL.len()];
        self.arrange();
    }

    pub(super) fn choose(&mut self, by: isize) {
        let last = self.look.rows.len().saturating_sub(1);
        let at = self.table.selected().map_or(0, |at| at.saturating_add_signed(by).min(last));
        self.table.select(Some(at));
        if self.asked.is_some() {
            self.ask();
        }
    }

    /// Shows why the chosen tenant misses.
    pub(super) fn ask(&mut self) {
        let at = self.table.selected().unwrap_or(0);
        self.asked = self.look.rows.get(at).map(|row| row.name.clone());
    }

    /// Closes the reasons. Returns whether they were shown.
    pub(super) fn closes(&mut self) -> bool {
        self.asked.take().is_some()
    }

    /// The screen as text of 80 columns, for a pipe.
    pub(super) fn text(&mut self) -> String {
        let lines = (self.look.rows.len() + 16).clamp(usize::from(LINES), 200) as u16;
        let mut terminal = match ratatui::Terminal::new(TestBackend::new(COLUMNS, lines)) {
            Ok(terminal) => terminal,
            Err(never) => match never {},
        };
        if let Err(never) = terminal.draw(|frame| self.draw(frame)) {
            match never {}
        }
        let buffer = terminal.backend().buffer();
        let row = |y: u16| {
            let cells = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol());
            cells.collect::<String>().trim_end().to_owned() + "\n"
        };
        let text: String = (0..lines).map(row).collect();
        text.trim_end().to_owned() + "\n"
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        if area.width < 40 || area.height < 8 {
            frame.render_widget(Paragraph::new("too small: 80 × 24 shows everything"), area);
            return;
        }
        let events = (self.look.events.len() as u16 + 1).clamp(2, area.height / 3);
        let lacks = u16::from(self.look.lacks.is_some()) * 2;
        let parts = [
            Constraint::Length(1),
            Constraint::Length(3),
            Constraint::Min(4),
            Constraint::Length(lacks),
            Constraint::Length(events),
            Constraint::Length(1),
        ];
        let [head, says, table, lack, log, foot] = Layout::vertical(parts).areas(area);
        frame.render_widget(Paragraph::new(self.look.server.as_str()).bold(), head);
        frame
            .render_widget(Paragraph::new(self.look.says.as_str()).wrap(Wrap { trim: true }), says);
        self.draw_table(frame, table);
        if let Some(lacks) = &self.look.lacks {
            let text = Paragraph::new(lacks.as_str()).wrap(Wrap { trim: true }).dim();
            frame.render_widget(text, lack);
        }
        let from = self.look.events.len().saturating_sub(usize::from(events) - 1);
        let lines: Vec<_> = self.look.events[from..].iter().map(Line::raw).collect();
        frame.render_widget(
            Paragraph::new(Text::from(lines)).block(Block::new().title("events".bold())),
            log,
        );
        let keys = format!("q quits  ↑↓ choose  Enter why  s sorts (by {})", self.order.word());
        frame.render_widget(Paragraph::new(keys).dim(), foot);
        self.draw_why(frame, table);
    }

    fn draw_table(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let most = self.look.rows.iter().filter_map(|row| row.used).max().unwrap_or(0).max(1);
        let head = ["tenant", "memory", "holds", "reads/s", "misses", "", "waits/s", "penalty"];
        let right = |text: String| Cell::from(Text::from(text).right_aligned());
        let none = || "–".to_owned();
        let cells = self.look.rows.iter().map(|row| {
            let past = self.past.get(&row.name).map_or(&[][..], |past| past);
            Cells::new([
                Cell::from(row.name.as_str()),
                Cell::from(bar(row, most)).blue(),
                right(row.used.map_or_else(none, size)),
                right(row.reads_per_s.map_or_else(none, |reads| count(reads as u64))),
                right(row.miss_ratio.map_or_else(none, percent)),
                Cell::from(spark(past)).yellow(),
                right(row.wait_ms_per_s.map_or_else(none, |ms| wait(1e3 * ms))),
                right(row.penalty_us.map_or_else(none, wait)),
            ])
        });
        let widths = [
            Constraint::Min(10),
            Constraint::Length(BAR as u16),
            Constraint::Length(9),
            Constraint::Length(8),
            Constraint::Length(7),
            Constraint::Length(SPARK as u16),
            Constraint::Length(8),
            Constraint::Length(7),
        ];
        let table = Table::new(cells, widths)
            .header(Cells::new(head).bold())
            .row_highlight_style(Style::new().reversed());
        frame.render_stateful_widget(table, area, &mut self.table);
    }

    /// Draws the reasons for a tenant's misses over the table.
    fn draw_why(&self, frame: &mut Frame<'_>, area: Rect) {
        let Some(name) = &self.asked else { return };
        let Some(row) = self.look.rows.iter().find(|row| row.name == *name) else { return };
        let lines: Vec<Line<'_>> = if row.why.is_empty() {
            vec![Line::raw("This server does not report why reads miss.")]
        } else {
            row.why.iter().map(|text| Line::raw(text.as_str())).collect()
        };
        let height = (lines.len() as u16 + 3).min(area.height);
        let over = Rect { y: area.y + area.height - height, height, ..area };
        frame.render_widget(Clear, over);
        let block = Block::bordered().title(format!(" {name} "));
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), over);
    }
}

/// Memory of a row relative to the largest one, with marks for the floor (╎), the maximum (┃) and
/// the budget (│).
fn bar(row: &TenantRow, most: u64) -> String {
    let Some(used) = row.used else { return String::new() };
    let place = |bytes: u64| (BAR as f64 * (bytes as f64 / most as f64).min(1.0)).round() as usize;
    let mut cells = vec![' '; BAR];
    cells[..place(used)].fill('█');
    let mut mark = |bytes: Option<u64>, sign: char| {
        if let Some(bytes) = bytes.filter(|bytes| *bytes > 0 && *bytes <= most) {
            cells[place(bytes).min(BAR - 1)] = sign;
        }
    };
    mark(Some(row.min), '╎');
    mark(row.max, '┃');
    mark(row.given, '│');
    cells.into_iter().collect()
}

/// Miss ratios of the last looks, the highest of all as a full cell.
fn spark(past: &[f64]) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let last = &past[past.len().saturating_sub(SPARK)..];
    let highest = past.iter().copied().fold(0.0, f64::max).max(1e-9);
    let level = |&ratio: &f64| LEVELS[((ratio / highest * 7.0).round() as usize).min(7)];
    last.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look() -> Look {
        let row = |name: &str, used: u64, misses: f64| TenantRow {
            name: name.into(),
            used: Some(used << 20),
            min: 1 << 20,
            reads_per_s: Some(1_234.0),
            miss_ratio: Some(misses),
            wait_ms_per_s: Some(100.0 * misses),
            penalty_us: Some(25_000.0),
            why: vec![format!("{name} misses for a reason")],
            ..TenantRow::default()
        };
        Look {
            server: "larder 0.1.0, recipe auto".into(),
            says: "200 MiB, all in use. Its 2 tenants wait 412 ms in every second.".into(),
            rows: vec![row("web", 120, 0.04), row("jobs", 80, 0.86)],
            events: vec!["10:40  a plan is in force".into()],
            ..Look::default()
        }
    }

    #[test]
    fn all_fits_a_small_terminal() {
        let mut screen = Screen::default();
        screen.see(look());
        let text = screen.text();
        for part in ["recipe auto", "412 ms", "web", "120 MiB", "1 234", "86 %", "25 ms", "10:40"] {
            assert!(text.contains(part), "{part} is missing from\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let order = |text: &str| text.find("jobs") < text.find("web ");
        assert!(order(&text), "who waits longest is first\n{text}");
        screen.sort();
        assert!(!order(&screen.text()), "now by memory");
    }

    #[test]
    fn a_tenant_says_why() {
        let mut screen = Screen::default();
        screen.see(look());
        screen.choose(1);
        screen.ask();
        assert!(screen.text().contains("jobs misses for a reason"));
        screen.choose(1);
        assert!(screen.text().contains("web misses for a reason"));
        assert!(screen.closes() && !screen.closes());
        assert!(!screen.text().contains("for a reason"));
    }

    #[test]
    fn bars_and_sparks_show_shares() {
        let row = TenantRow { used: Some(50), min: 20, max: Some(80), ..TenantRow::default() };
        assert_eq!(bar(&row, 100), "██╎██   ┃ ");
        assert_eq!(spark(&[0.0, 0.5, 1.0]), "▁▅█");
        assert_eq!(spark(&[]), "");
    }
}
