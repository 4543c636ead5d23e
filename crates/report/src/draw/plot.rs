//! A chart in the terminal.
//!
//! A cell holds 2 × 4 dots, so a chart of 72 × 16 cells draws 144 × 64 points. Lines are drawn as
//! dots. Each series marks its data points with its own sign, so that series can be told apart
//! without colour.

use super::chart::{Chart, Frame};
use std::fmt::Write;

const MARKS: [char; 10] = ['●', '■', '▲', '◆', '○', '□', '△', '◇', '+', '×'];
/// ANSI colours of the lines, in the same order; they repeat after six.
const ANSI: [u8; 6] = [34, 31, 32, 35, 36, 33];

impl Chart {
    /// The chart as lines of text, with a plot of `width` × `height` cells, and with ANSI colours
    /// if `colour` is set.
    pub fn text(&self, width: usize, height: usize, colour: bool) -> String {
        let (width, height) = (width.max(8), height.max(4));
        let lines = self.placed();
        let Some(frame) = self.frame(&lines) else {
            return format!("{}: nothing to draw\n", self.title);
        };
        let mut canvas = Canvas::new(width, height);
        for (owner, line) in lines.iter().enumerate() {
            let mut dots = line.iter().map(|&point| canvas.dot(frame.at(point)));
            let Some(mut last) = dots.next() else { continue };
            for dot in dots.collect::<Vec<_>>() {
                canvas.line(last, dot, owner);
                last = dot;
            }
        }
        for (owner, line) in lines.iter().enumerate() {
            // Marks keep three cells apart, otherwise a dense line would consist of marks only.
            let mut last = None;
            for &point in line {
                let (x, y) = canvas.dot(frame.at(point));
                if last.is_none_or(|last: usize| x.abs_diff(last) >= 6) {
                    canvas.mark(x, y, owner);
                    last = Some(x);
                }
            }
        }
        self.around(&canvas, &frame, colour)
    }

    /// Writes title, axes and legend around the plot.
    fn around(&self, canvas: &Canvas, frame: &Frame, colour: bool) -> String {
        let label = |share: f64| {
            let value = self.y.value(frame.y.0 + share * (frame.y.1 - frame.y.0));
            self.y.format.show(value)
        };
        let rows = canvas.height;
        let labels: Vec<String> = (0..rows)
            .map(|row| match row {
                _ if row == 0 => label(1.0),
                _ if row == rows - 1 => label(0.0),
                _ if row == rows / 2 => label(1.0 - row as f64 / (rows - 1) as f64),
                _ => String::new(),
            })
            .collect();
        let margin = labels.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let mut out = format!("{}\n{}\n", self.title, self.y.label);
        for (row, text) in labels.iter().enumerate() {
            let edge = if text.is_empty() { '│' } else { '┤' };
            let _ = writeln!(out, "{text:>margin$} {edge}{}", canvas.row(row, colour));
        }
        let _ = writeln!(out, "{:margin$} └{}", "", "─".repeat(canvas.width));
        let ends = [frame.x.0, f64::midpoint(frame.x.0, frame.x.1), frame.x.1]
            .map(|place| self.x.format.show(self.x.value(place)));
        let length = |text: &str| text.chars().count();
        let free = canvas.width.saturating_sub(ends.iter().map(|text| length(text)).sum());
        let _ = writeln!(
            out,
            "{:margin$}  {}{}{}{}{}",
            "",
            ends[0],
            " ".repeat(free / 2),
            ends[1],
            " ".repeat(free - free / 2),
            ends[2]
        );
        let _ = writeln!(out, "{:margin$}  {:^2$}", "", self.x.label, canvas.width);
        let legend = self.series.iter().enumerate().map(|(owner, series)| {
            format!("{} {}", paint(MARKS[owner % MARKS.len()], owner, colour), series.name)
        });
        let _ = writeln!(out, "{:margin$}  {}", "", legend.collect::<Vec<_>>().join("   "));
        out
    }
}

fn paint(mark: char, owner: usize, colour: bool) -> String {
    if colour {
        format!("\x1b[{}m{mark}\x1b[0m", ANSI[owner % ANSI.len()])
    } else {
        mark.to_string()
    }
}

#[derive(Clone, Copy, Default)]
struct Cell {
    /// Bits of the braille pattern.
    dots: u8,
    mark: Option<char>,
    owner: usize,
}

struct Canvas {
    width: usize,
    height: usize,
    cells: Vec<Cell>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Self {
        Self { width, height, cells: vec![Cell::default(); width * height] }
    }

    /// The dot at a position from 0 to 1 on both axes; dots count from the top left.
    fn dot(&self, (x, y): (f64, f64)) -> (usize, usize) {
        let across = (x * (self.width * 2 - 1) as f64).round() as usize;
        let down = ((1.0 - y) * (self.height * 4 - 1) as f64).round() as usize;
        (across.min(self.width * 2 - 1), down.min(self.height * 4 - 1))
    }

    fn cell(&mut self, x: usize, y: usize) -> &mut Cell {
        &mut self.cells[y / 4 * self.width + x / 2]
    }

    fn line(&mut self, from: (usize, usize), to: (usize, usize), owner: usize) {
        // Bits of the eight dots of a braille cell, by row and column.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
        for step in 0..=steps {
            let share = step as f64 / steps as f64;
            let between = |a: usize, b: usize| (a as f64 + share * (b as f64 - a as f64)).round();
            let (x, y) = (between(from.0, to.0) as usize, between(from.1, to.1) as usize);
            let cell = self.cell(x, y);
            cell.dots |= BITS[y % 4][x % 2];
            cell.owner = owner;
        }
    }

    fn mark(&mut self, x: usize, y: usize, owner: usize) {
        let cell = self.cell(x, y);
        cell.mark = Some(MARKS[owner % MARKS.len()]);
        cell.owner = owner;
    }

    fn row(&self, row: usize, colour: bool) -> String {
        let cells = &self.cells[row * self.width..][..self.width];
        let text = cells.iter().map(|cell| {
            let braille = char::from_u32(0x2800 + u32::from(cell.dots)).unwrap_or(' ');
            match cell.mark {
                Some(mark) => paint(mark, cell.owner, colour),
                None if cell.dots == 0 => " ".into(),
                None => paint(braille, cell.owner, colour),
            }
        });
        text.collect::<String>().trim_end().to_owned()
    }
}
