//! The screen: a sentence, a table of tenants with their memory as bars and their misses and
//! waiting over time, and events. A tenant has a page of its own (`tenant_page.rs`), and texts such
//! as the advice have one. All of it is shown from 80 columns and 24 lines up; a wide terminal
//! shows more columns and longer charts.

use super::look::{Look, TenantRow, Trend};
use super::order::Order;
use super::{table, tenant_page};
use ::report::words::wrap;
use ratatui::Frame;
use ratatui::backend::TestBackend;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph, TableState};
use std::collections::HashMap;

/// Number of looks that are remembered of each tenant.
const PAST: usize = 600;
/// Columns of the screen as text, and its least number of lines.
const COLUMNS: u16 = 80;
const LINES: u16 = 24;
/// The smallest terminal that shows anything.
const SMALLEST: (u16, u16) = (40, 8);

/// The part of the screen below the head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Shown {
    #[default]
    Tenants,
    /// The tenant with this name.
    Tenant(String),
    /// The text behind this key.
    Text(char),
    Help,
}

#[derive(Debug, Default)]
pub(super) struct Screen {
    look: Look,
    past: HashMap<String, Trend>,
    order: Order,
    is_reversed: bool,
    table: TableState,
    shown: Shown,
    /// Lines of a text or a page that are scrolled away.
    scrolled: u16,
    /// Seconds between two looks.
    every_s: f64,
    /// The place of the table on the screen.
    rows_at: Rect,
}

impl Screen {
    /// A screen with a look every `every_s` seconds.
    pub(super) fn new(every_s: f64) -> Self {
        Self { every_s, ..Self::default() }
    }

    /// Takes a new look.
    pub(super) fn see(&mut self, look: Look) {
        self.past.retain(|name, _| look.rows.iter().any(|row| row.name == *name));
        for row in &look.rows {
            let past = self.past.entry(row.name.clone()).or_default();
            if let Some(known) = &row.past {
                past.clone_from(known);
                continue;
            }
            past.seconds = self.every_s;
            past.misses.push(row.miss_ratio.unwrap_or_default());
            past.waits.push(row.wait_ms_per_s.unwrap_or_default());
            if past.misses.len() > PAST {
                past.misses.remove(0);
                past.waits.remove(0);
            }
        }
        let chosen = self.chosen().map(|row| row.name.clone());
        self.look = look;
        self.arrange(chosen);
    }

    fn chosen(&self) -> Option<&TenantRow> {
        self.look.rows.get(self.table.selected()?)
    }

    /// Sorts the rows; the row that was chosen stays so.
    fn arrange(&mut self, chosen: Option<String>) {
        let (order, is_reversed) = (self.order, self.is_reversed);
        self.look.rows.sort_by(|a, b| {
            let compared = order.compare(a, b);
            if is_reversed { compared.reverse() } else { compared }
        });
        if let Some(name) = chosen {
            self.table.select(self.look.rows.iter().position(|row| row.name == name));
        }
    }

    /// Acts on a key; returns false if it ends the program.
    pub(super) fn press(&mut self, key: char) -> bool {
        let name = self.chosen().map(|row| row.name.clone());
        match key {
            'q' => return false,
            '?' => self.show(Shown::Help),
            's' => {
                let at = Order::ALL.iter().position(|order| *order == self.order).unwrap_or(0);
                self.order = Order::ALL[(at + 1) % Order::ALL.len()];
            }
            'r' => self.is_reversed = !self.is_reversed,
            '1'..='6' => {
                let order = Order::ALL[key as usize - '1' as usize];
                // The same key once more turns the order round.
                self.is_reversed = order == self.order && !self.is_reversed;
                self.order = order;
            }
            key if self.look.texts.iter().any(|text| text.key == key) => {
                self.show(Shown::Text(key));
            }
            _ => {}
        }
        self.arrange(name);
        true
    }

    fn show(&mut self, shown: Shown) {
        self.scrolled = 0;
        self.shown = if self.shown == shown { Shown::Tenants } else { shown };
    }

    /// Chooses another row, or scrolls a text.
    pub(super) fn choose(&mut self, by: isize) {
        if matches!(self.shown, Shown::Text(_) | Shown::Help) {
            self.scrolled = self.scrolled.saturating_add_signed(by as i16);
            return;
        }
        let last = self.look.rows.len().saturating_sub(1);
        let at = self.table.selected().map_or(0, |at| at.saturating_add_signed(by).min(last));
        self.table.select(Some(at));
        if matches!(self.shown, Shown::Tenant(_)) {
            self.open();
        }
    }

    /// Opens the page of the chosen tenant.
    pub(super) fn open(&mut self) {
        let at = self.table.selected().unwrap_or(0);
        self.table.select(Some(at));
        if let Some(row) = self.look.rows.get(at) {
            self.shown = Shown::Tenant(row.name.clone());
        }
    }

    /// Chooses the row at a place of the screen, and opens its page if it was chosen already.
    pub(super) fn click(&mut self, line: u16) {
        let first = self.rows_at.y + 1;
        if self.shown != Shown::Tenants || line < first || line >= self.rows_at.bottom() {
            return;
        }
        let at = usize::from(line - first) + self.table.offset();
        if self.table.selected() == Some(at) {
            self.open();
        } else if at < self.look.rows.len() {
            self.table.select(Some(at));
        }
    }

    /// Goes back to the table. Returns whether something else was shown.
    pub(super) fn closes(&mut self) -> bool {
        self.scrolled = 0;
        std::mem::take(&mut self.shown) != Shown::Tenants
    }

    /// The screen as text of 80 columns, for a pipe.
    pub(super) fn text(&mut self) -> String {
        let lines =
            self.look.rows.len() + 8 + self.log(COLUMNS.into()).len() + self.says(COLUMNS).len();
        self.text_of(COLUMNS, (lines as u16).clamp(LINES, 300))
    }

    /// The screen of a terminal with this size, as text.
    pub(super) fn text_of(&mut self, columns: u16, lines: u16) -> String {
        let mut terminal = match ratatui::Terminal::new(TestBackend::new(columns, lines)) {
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

    fn says(&self, width: u16) -> Vec<String> {
        self.look.says.lines().flat_map(|text| wrap(text, width.into(), 0)).collect()
    }

    /// The events and what the server lacks, wrapped.
    fn log(&self, width: usize) -> Vec<String> {
        let events = self.look.events.iter().flat_map(|text| text.lines());
        let events = events.flat_map(|text| wrap(text, width, 7));
        let lacks = self.look.lacks.iter().flat_map(|text| wrap(text, width, 0));
        events.chain(lacks).collect()
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
            frame.render_widget(Paragraph::new("too small: 80 × 24 shows everything"), area);
            return;
        }
        let says = self.says(area.width);
        let parts = [
            Constraint::Length(1),
            Constraint::Length((says.len() as u16).min(area.height / 2)),
            Constraint::Length(1),
            Constraint::Min(3),
            Constraint::Length(1),
        ];
        let [head, summary, _, body, foot] = Layout::vertical(parts).areas(area);
        frame.render_widget(Paragraph::new(self.look.server.as_str()).bold(), head);
        let says: Vec<_> = says.into_iter().map(Line::raw).collect();
        frame.render_widget(Paragraph::new(says), summary);
        let keys = match self.shown.clone() {
            Shown::Tenants => {
                self.draw_tenants(frame, body);
                let texts =
                    self.look.texts.iter().map(|text| format!("  {} {}", text.key, text.title));
                format!("? help  ↑↓ Enter tenant  1–6 sort{}  q quit", texts.collect::<String>())
            }
            Shown::Tenant(name) => {
                self.draw_tenant(frame, body, &name);
                "Esc back  ↑↓ next tenant  ? help  q quit".to_owned()
            }
            Shown::Text(key) => {
                let text = self.look.texts.iter().find(|text| text.key == key);
                let lines = text.map_or_else(Vec::new, |text| text.lines.clone());
                self.draw_text(frame, body, &lines);
                "Esc back  ↑↓ scroll  ? help  q quit".to_owned()
            }
            Shown::Help => {
                let help = self.help();
                self.draw_text(frame, body, &help);
                "Esc back  q quit".to_owned()
            }
        };
        let keys = if keys.chars().count() > area.width.into() {
            "? help  Enter tenant  q quit".to_owned()
        } else {
            keys
        };
        frame.render_widget(Paragraph::new(keys).dim(), foot);
    }

    fn draw_tenants(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let log = self.log(area.width.into());
        let rows = self.look.rows.len() as u16 + 1;
        // The table comes first, but the newest events always have a third.
        let room = area.height.saturating_sub(rows + 1).max(area.height / 3);
        let room = (log.len() as u16 + 1).min(room);
        let parts = [Constraint::Min(2), Constraint::Length(room)];
        let [table, events] = Layout::vertical(parts).areas(area);
        self.rows_at = table;
        let drawn =
            table::table(&self.look.rows, &self.past, (self.order, self.is_reversed), table.width);
        frame.render_stateful_widget(drawn, table, &mut self.table);
        let from = log.len().saturating_sub(usize::from(room) - 1);
        let mut lines = vec![Line::from("what changed, and what to do".bold())];
        lines.extend(log[from..].iter().cloned().map(Line::raw));
        frame.render_widget(Paragraph::new(lines), events);
    }

    fn draw_tenant(&self, frame: &mut Frame<'_>, area: Rect, name: &str) {
        let parts = [Constraint::Length(1), Constraint::Min(2)];
        let [title, body] = Layout::vertical(parts).areas(area);
        frame.render_widget(Paragraph::new(name.to_owned().bold()), title);
        let most = self.look.rows.iter().filter_map(|row| row.used).max().unwrap_or(0).max(1);
        let row = self.look.rows.iter().find(|row| row.name == name);
        if let Some((row, past)) = row.zip(self.past.get(name)) {
            tenant_page::draw(frame, body, row, most, past);
        }
    }

    fn draw_text(&mut self, frame: &mut Frame<'_>, area: Rect, lines: &[String]) {
        let width = usize::from(area.width);
        let long = |line: &String| line.chars().count() > width;
        let wrapped: Vec<_> = lines
            .iter()
            .flat_map(|line| if long(line) { wrap(line, width, 2) } else { vec![line.clone()] })
            .collect();
        let most = (wrapped.len() as u16).saturating_sub(area.height);
        self.scrolled = self.scrolled.min(most);
        let lines: Vec<_> = wrapped.into_iter().skip(self.scrolled.into()).map(Line::raw).collect();
        frame.render_widget(Clear, area);
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn help(&self) -> Vec<String> {
        let mut lines: Vec<String> = [
            "↑ ↓ or k j  choose a tenant, or scroll a text",
            "Enter       the page of the chosen tenant: why it misses, and what would help",
            "Esc         back; from the table, quit",
            "1 … 6       sort by name, memory, reads, misses, waiting, cost of a miss;",
            "            the same key once more turns the order round",
            "s  r        sort by the next column; turn the order round",
        ]
        .map(str::to_owned)
        .into();
        lines.extend(self.look.texts.iter().map(|text| format!("{:<11} {}", text.key, text.title)));
        lines.extend(
            [
                "q           quit",
                "",
                "memory      █ held, relative to the largest tenant; ╎ floor, ┃ ceiling, │ budget",
                "over time   misses, and waiting in a wide terminal, in the last minutes: the line",
                "            runs from its lowest to its highest value; now is to the right",
                "waiting/s   time that clients waited for misses, in each second",
                "a miss      mean cost of a miss: from the read to the write of its key",
            ]
            .map(str::to_owned),
        );
        lines.push(String::new());
        lines.push(format!("Sorted by {}.", self.order.word()));
        lines
    }
}
