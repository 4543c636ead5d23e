//! A line chart: braille dots in the terminal, or the same series as inline SVG.
//!
//! A terminal cell holds 2 × 4 dots, so a chart of 72 × 16 cells draws 144 × 64 points. Lines are
//! dots; at its data points each series has a mark of its own, so that series can be told apart
//! without colour.

use super::format::Format;
use super::html::escape;
use super::ticks;
use std::fmt::Write;

/// One line of a chart.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// From left to right. Points that are not finite are left out.
    pub points: Vec<(f64, f64)>,
}

/// One axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// How its numbers are written.
    pub format: Format,
    /// Equal distances for equal ratios; points at zero or below are then left out.
    pub log: bool,
}

impl Axis {
    /// A linear axis.
    pub fn new(label: impl Into<String>, format: Format) -> Self {
        Self { label: label.into(), format, log: false }
    }

    /// The same axis, logarithmic.
    #[must_use]
    pub fn log(self) -> Self {
        Self { log: true, ..self }
    }

    fn place(&self, value: f64) -> f64 {
        if self.log { value.ln() } else { value }
    }

    fn value(&self, place: f64) -> f64 {
        if self.log { place.exp() } else { place }
    }
}

/// Several series over common axes.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Stands above it.
    pub title: String,
    /// Left to right.
    pub x: Axis,
    /// Bottom to top. A linear one starts at zero.
    pub y: Axis,
    /// The lines, in the order of the legend.
    pub series: Vec<Series>,
}

const MARKS: [char; 10] = ['●', '■', '▲', '◆', '○', '□', '△', '◇', '+', '×'];
/// ANSI colours of the lines, in the same order; they repeat after six.
const ANSI: [u8; 6] = [34, 31, 32, 35, 36, 33];

/// Where the values lie on the axes, as [`Axis::place`] gives them.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    /// Position of a point, both from 0 (left, bottom) to 1.
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        ((x - self.x.0) / (self.x.1 - self.x.0), (y - self.y.0) / (self.y.1 - self.y.0))
    }
}

impl Chart {
    /// The points that can be drawn, on the axes' scales.
    fn placed(&self) -> Vec<Vec<(f64, f64)>> {
        let place = |points: &[(f64, f64)]| {
            let on_axes = points.iter().map(|&(x, y)| (self.x.place(x), self.y.place(y)));
            on_axes.filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
        };
        self.series.iter().map(|series| place(&series.points)).collect()
    }

    fn frame(&self, lines: &[Vec<(f64, f64)>]) -> Option<Frame> {
        let range = |pick: fn(&(f64, f64)) -> f64| {
            let values = lines.iter().flatten().map(pick);
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            })
        };
        let (mut x, mut y) = (range(|point| point.0), range(|point| point.1));
        if x.0 > x.1 {
            return None;
        }
        if !self.y.log {
            y.0 = y.0.min(0.0);
        }
        for (low, high) in [&mut x, &mut y].map(|range| (&mut range.0, &mut range.1)) {
            if *high - *low <= f64::EPSILON * high.abs() {
                *low -= 0.5;
                *high += 0.5;
            }
        }
        if !self.y.log {
            let step = ticks::step(self.y.format, y.1 - y.0);
            y.1 = (y.1 / step - 1e-9).ceil() * step;
        }
        Some(Frame { x, y })
    }

    /// The chart as lines of text, its plot `width` × `height` cells; with ANSI colours if wanted.
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
            // Marks further apart than three cells, or a dense line would be nothing but marks.
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

    /// Title, axes and legend around the plot.
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

    /// The chart as an SVG element that takes its colours from the page: `var(--c0)` and so on for
    /// lines, `currentColor` for text.
    pub fn svg(&self) -> String {
        const W: f64 = 760.0;
        const H: f64 = 400.0;
        const LEFT: f64 = 80.0;
        const TOP: f64 = 34.0;
        const PLOT: (f64, f64) = (W - LEFT - 20.0, H - TOP - 60.0);
        let lines = self.placed();
        let Some(frame) = self.frame(&lines) else {
            return format!("<p>{}: nothing to draw</p>\n", escape(&self.title));
        };
        let to = |point: (f64, f64)| {
            let (x, y) = frame.at(point);
            (LEFT + x * PLOT.0, TOP + (1.0 - y) * PLOT.1)
        };
        let mut out = format!(
            "<figure><svg viewBox=\"0 0 {W} {H}\" role=\"img\" aria-label=\"{0}\">\n\
             <text x=\"{LEFT}\" y=\"18\" class=\"title\">{0}</text>\n",
            escape(&self.title)
        );
        for place in ticks::places(&self.y, frame.y) {
            let (_, y) = to((frame.x.0, place));
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT + PLOT.0,
                LEFT - 8.0,
                y + 4.0,
                escape(&self.y.format.show(self.y.value(place))),
            );
        }
        for place in ticks::places(&self.x, frame.x) {
            let (x, bottom) = (to((place, frame.y.0)).0, TOP + PLOT.1);
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom:.1}\" y2=\"{:.1}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 5.0,
                bottom + 20.0,
                escape(&self.x.format.show(self.x.value(place))),
            );
        }
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            LEFT + PLOT.0 / 2.0,
            TOP + PLOT.1 + 42.0,
            escape(&self.x.label),
            TOP + PLOT.1 / 2.0,
            escape(&self.y.label),
        );
        for (at, (line, series)) in lines.iter().zip(&self.series).enumerate() {
            let colour = at % super::html::COLOURS;
            let dash = ["", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 3\""]
                [(at / super::html::COLOURS) % 3];
            let dots: Vec<(f64, f64)> = line.iter().map(|&point| to(point)).collect();
            let path: Vec<String> = dots.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(
                out,
                "<polyline style=\"stroke:var(--c{colour})\"{dash} points=\"{}\"/>",
                path.join(" ")
            );
            if dots.len() <= 40 {
                for ((x, y), &(px, py)) in dots.iter().zip(line) {
                    let _ = writeln!(
                        out,
                        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" \
                         style=\"fill:var(--c{colour})\"><title>{}: {}, {}</title></circle>",
                        escape(&series.name),
                        escape(&self.x.format.show(self.x.value(px))),
                        escape(&self.y.format.show(self.y.value(py))),
                    );
                }
            }
        }
        out += "</svg>\n<figcaption>";
        for (at, series) in self.series.iter().enumerate() {
            let colour = at % super::html::COLOURS;
            let _ = write!(
                out,
                "<span><i style=\"background:var(--c{colour})\"></i>{}</span> ",
                escape(&series.name)
            );
        }
        out + "</figcaption></figure>\n"
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

    /// The dot of a position from 0 to 1 on both axes; dots count from the top left.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let falling = (1..=10).map(|i| (f64::from(1 << i), 1.0 / f64::from(i))).collect();
        let level = vec![(2.0, 0.5), (1024.0, 0.5)];
        Chart {
            title: "miss ratio".into(),
            x: Axis::new("cache size", Format::Bytes).log(),
            y: Axis::new("misses", Format::Percent),
            series: vec![
                Series { name: "falling".into(), points: falling },
                Series { name: "<level>".into(), points: level },
            ],
        }
    }

    /// A rising line must end higher than it starts: rows count from the top.
    #[test]
    fn up_is_up() {
        let points = vec![(0.0, 0.0), (1.0, 1.0)];
        let chart = Chart { series: vec![Series { name: "a".into(), points }], ..Chart::default() };
        let text = chart.text(20, 8, false);
        let rows: Vec<&str> = text.lines().skip(2).take(8).collect();
        assert!(rows[0].ends_with('●'), "{text}");
        assert!(rows[7].contains("┤●"), "{text}");
    }

    #[test]
    fn axes_and_legend_name_everything() {
        let text = chart().text(60, 12, false);
        for part in ["miss ratio", "100 %", "2 B", "1 KiB", "● falling", "■ <level>", "cache size"]
        {
            assert!(text.contains(part), "{part} is missing from\n{text}");
        }
        let svg = chart().svg();
        assert!(svg.contains("&lt;level&gt;") && !svg.contains("<level>"), "names are escaped");
        assert_eq!(svg.matches("<polyline").count(), 2);
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        let points = vec![(0.0, 1.0), (f64::NAN, 2.0), (3.0, f64::INFINITY)];
        let mut chart = chart();
        chart.series = vec![Series { name: "none".into(), points }];
        assert!(chart.text(40, 8, false).contains("nothing to draw"));
        assert!(chart.svg().contains("nothing to draw"));
        chart.series[0].points.push((4.0, 0.5));
        assert!(chart.text(40, 8, false).contains('●'), "a single point is a chart");
    }
}
