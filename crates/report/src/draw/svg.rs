//! A chart as an SVG element, which needs only the style of the page.
//!
//! The colours are those of the page: `var(--c0)` and so on for lines, `currentColor` for text. A
//! wide chart has the names of its lines at their ends, and lines are dashed where colours repeat.
//! The legend below has all names. The page's script hides a line when its name in the legend is
//! clicked, and writes into the legend what each line has at the moment under the pointer: lines
//! carry the text of each point in `data-v`.

use super::chart::{Chart, Frame};
use super::colour::{COLOURS, Colour};
use super::html::escape;
use super::{names, ticks};
use std::fmt::Write;

/// The width of a chart that sets none, and the widths that a chart may have.
const WIDTH: f64 = 760.0;
const WIDTHS: (f64, f64) = (280.0, 1_600.0);
pub(super) const TOP: f64 = 34.0;
/// The height below the plot, without and with a label of the axis.
const BOTTOMS: (f64, f64) = (28.0, 50.0);

/// A chart narrower than this is low, and names its lines in the legend only.
const NARROW: f64 = 520.0;
/// Charts with more lines than this show names in the legend only.
const NAMED_MAX: usize = 12;
/// Approximate width of a letter.
pub(super) const LETTER: f64 = 6.8;
/// Pixels that a mark of the horizontal axis needs.
const TICK: f64 = 88.0;
/// Marks of events that are closer than this stand at one sign.
const MARK: f64 = 15.0;
/// Lines with more points than this do not carry the text of each point.
const TOLD_MAX: usize = 400;
/// A line of clock times is broken where a point lacks for this many steps.
const GAP: f64 = 4.0;

/// The area of the plot within the figure.
pub(super) struct Plot<'a> {
    pub(super) frame: &'a Frame,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Plot<'_> {
    pub(super) fn at(&self, point: (f64, f64)) -> (f64, f64) {
        let (x, y) = self.frame.at(point);
        let x = self.left + x * (self.right - self.left);
        (x, TOP + (1.0 - y) * (self.bottom - TOP))
    }
}

/// The width and the height of a figure that asks for this width; 0 asks for the default.
pub(super) fn extent(width: u32) -> (f64, f64) {
    let width = match width {
        0 => WIDTH,
        asked => f64::from(asked).clamp(WIDTHS.0, WIDTHS.1),
    };
    (width, if width < NARROW { 220.0 } else { 290.0 })
}

/// The head of a figure: its size, its title and the quantity that it shows.
pub(super) fn open((width, height): (f64, f64), title: &str, label: &str, data: &str) -> String {
    let label = if label.is_empty() { String::new() } else { format!(" · {label}") };
    format!(
        "<figure{data}><svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{0}\">\n\
         <text x=\"2\" y=\"17\" class=\"title\">{0}<tspan class=\"label\">{1}</tspan></text>\n",
        escape(title),
        escape(&label)
    )
}

impl Chart {
    /// The chart as an HTML `figure` with inline SVG and a legend.
    pub fn svg(&self) -> String {
        let lines = self.placed();
        let Some(frame) = self.frame(&lines) else {
            return format!("<p class=\"none\">{}: nothing to draw</p>\n", escape(&self.title));
        };
        let (width, height) = extent(self.width);
        let is_named = (2..=NAMED_MAX).contains(&self.series.len()) && width >= NARROW;
        let longest = self.series.iter().map(|series| names::short(&series.name).chars().count());
        let margin = match longest.max() {
            Some(longest) if is_named => LETTER * longest as f64 + 14.0,
            _ => 14.0,
        };
        let rows =
            ticks::marks(&self.y, frame.y, if height < 250.0 { 5 } else { ticks::TICKS_MAX });
        let longest = rows.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let bottom = if self.x.label.is_empty() { BOTTOMS.0 } else { BOTTOMS.1 };
        let (left, right) = (LETTER * longest as f64 + 14.0, width - margin);
        let plot = Plot { frame: &frame, left, right, bottom: height - bottom };
        let data = self.x.clock().map_or_else(String::new, |offset| {
            let (from, to) = frame.x;
            format!(
                " data-from=\"{from}\" data-to=\"{to}\" data-left=\"{left:.1}\" \
                 data-right=\"{right:.1}\" data-offset=\"{offset}\""
            )
        });
        let mut out = open((width, height), &self.title, &self.y.label, &data);
        self.axes(&plot, &rows, &mut out);
        for (at, line) in lines.iter().enumerate().rev().filter(|_| self.stacked) {
            let below = at.checked_sub(1).map(|below| &lines[below][..]);
            self.area(&plot, at, line, below, &mut out);
        }
        for (at, line) in lines.iter().enumerate().filter(|_| !self.stacked) {
            self.line(&plot, at, line, &mut out);
        }
        self.draw_marks(&plot, &mut out);
        names::write(self, &plot, &lines, is_named, &mut out);
        out += "</svg>\n<figcaption>";
        for (at, series) in self.series.iter().enumerate() {
            let _ = write!(
                out,
                "<button type=\"button\" data-series=\"{at}\"><i style=\"background:{}\"></i>{}\
                 <b></b></button> ",
                self.colour(at).css(),
                escape(&series.name)
            );
        }
        out + "</figcaption></figure>\n"
    }

    /// The colour of a line.
    pub(super) fn colour(&self, at: usize) -> Colour {
        self.series[at].colour.unwrap_or(Colour::Line(at))
    }

    fn axes(&self, plot: &Plot<'_>, rows: &[(f64, String)], out: &mut String) {
        let Plot { frame, left, right, bottom } = *plot;
        for (place, text) in rows {
            let (_, y) = plot.at((frame.x.0, *place));
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{y:.1}\" \
                 y2=\"{y:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 8.0,
                y + 4.0,
                escape(text),
            );
        }
        let most = ((right - left) / TICK).clamp(2.0, 12.0) as usize;
        for (place, text) in ticks::marks(&self.x, frame.x, most) {
            let (x, _) = plot.at((place, frame.y.0));
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom:.1}\" y2=\"{:.1}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 5.0,
                bottom + 20.0,
                escape(&text),
            );
        }
        if !self.x.label.is_empty() {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                f64::midpoint(left, right),
                bottom + 42.0,
                escape(&self.x.label),
            );
        }
    }

    /// The text of each point, for the script.
    fn told(&self, points: &[(f64, f64)]) -> String {
        if points.len() > TOLD_MAX || self.x.clock().is_none() {
            return String::new();
        }
        let all: Vec<_> = points.iter().map(|&(_, y)| self.y.format.told(y)).collect();
        format!(" data-v=\"{}\"", all.join("|"))
    }

    fn line(&self, plot: &Plot<'_>, at: usize, line: &[(f64, f64)], out: &mut String) {
        let colour = self.colour(at).css();
        let dash = ["", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 3\""];
        let dash = dash[if self.series[at].is_dashed { 1 } else { (at / COLOURS) % dash.len() }];
        let band = &self.series[at].band;
        if band.len() > 1 {
            let edge = |high: bool| {
                band.iter().map(move |&(x, low, top)| {
                    let y = if high { top } else { low };
                    plot.at((self.x.place(x), self.y.place(y)))
                })
            };
            let around: Vec<_> = edge(true).chain(edge(false).rev()).collect();
            let _ = writeln!(
                out,
                "<polygon data-series=\"{at}\" class=\"band\" style=\"fill:{colour}\" \
                 points=\"{}\"/>",
                path(&around)
            );
        }
        for piece in self.pieces(line) {
            let dots: Vec<(f64, f64)> = piece.iter().map(|&point| plot.at(point)).collect();
            let values: Vec<_> = piece.iter().map(|&(x, y)| (x, self.y.value(y))).collect();
            let _ = writeln!(
                out,
                "<polyline data-series=\"{at}\" style=\"stroke:{colour}\"{dash}{} points=\"{}\"/>",
                self.told(&values),
                path(&dots)
            );
        }
        if line.len() > 40 || self.x.clock().is_some() && line.len() > 1 {
            return;
        }
        for &(px, py) in line {
            let (x, y) = plot.at((px, py));
            let _ = writeln!(
                out,
                "<circle data-series=\"{at}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" \
                 style=\"fill:{colour}\"><title>{}: {}, {}</title></circle>",
                escape(&self.series[at].name),
                escape(&self.x.format.told(self.x.value(px))),
                escape(&self.y.format.told(self.y.value(py))),
            );
        }
    }

    /// The parts of a line: a line of clock times is broken where points lack.
    fn pieces<'l>(&self, line: &'l [(f64, f64)]) -> Vec<&'l [(f64, f64)]> {
        if self.x.clock().is_none() || line.len() < 3 {
            return vec![line];
        }
        let mut steps: Vec<f64> = line.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        steps.sort_by(f64::total_cmp);
        let most = GAP * steps[steps.len() / 2];
        line.chunk_by(|a, b| b.0 - a.0 <= most).collect()
    }

    fn area(
        &self,
        plot: &Plot<'_>,
        at: usize,
        line: &[(f64, f64)],
        below: Option<&[(f64, f64)]>,
        out: &mut String,
    ) {
        let floor = line.iter().map(|&(x, _)| (x, plot.frame.y.0)).collect::<Vec<_>>();
        let under = below.unwrap_or(&floor).iter().rev();
        let around: Vec<_> = line.iter().chain(under).map(|&point| plot.at(point)).collect();
        let _ = writeln!(
            out,
            "<polygon data-series=\"{at}\" class=\"area\" style=\"fill:{}\"{} points=\"{}\"/>",
            self.colour(at).css(),
            self.told(&self.series[at].points),
            path(&around)
        );
    }

    /// Draws the events: a line each, and one sign for those that are close to each other.
    fn draw_marks(&self, plot: &Plot<'_>, out: &mut String) {
        let mut places: Vec<_> = self.marks.iter().collect();
        places.sort_by(|a, b| a.x.total_cmp(&b.x));
        let placed = places.into_iter().map(|mark| {
            let (x, _) = plot.at((self.x.place(mark.x), plot.frame.y.0));
            (x, mark)
        });
        let inside: Vec<_> = placed.filter(|(x, _)| (plot.left..=plot.right).contains(x)).collect();
        for group in inside.chunk_by(|(a, _), (b, _)| b - a < MARK) {
            let Some(&(x, last)) = group.last() else { continue };
            let sign = match group.len() {
                1 => last.sign.clone(),
                many => many.to_string(),
            };
            let texts: Vec<_> = group.iter().map(|(_, mark)| mark.text.as_str()).collect();
            let _ = writeln!(
                out,
                "<a class=\"mark\"{}><title>{}</title><line x1=\"{x:.1}\" x2=\"{x:.1}\" \
                 y1=\"{TOP}\" y2=\"{:.1}\"/><rect x=\"{:.1}\" y=\"{:.1}\" width=\"14\" \
                 height=\"14\" rx=\"3\"/><text x=\"{x:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{}</text></a>",
                last.href.as_ref().map_or_else(String::new, |href| format!(" href=\"{href}\"")),
                escape(&texts.join("\n")),
                plot.bottom,
                x - 7.0,
                TOP - 12.0,
                TOP - 1.0,
                escape(&sign),
            );
        }
    }
}

fn path(dots: &[(f64, f64)]) -> String {
    dots.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}
