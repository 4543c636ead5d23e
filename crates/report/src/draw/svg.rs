//! A chart as an SVG element, which needs only the style of the page.
//!
//! The colours are those of the page: `var(--c0)` and so on for lines, `currentColor` for text. Up
//! to twelve lines have their names at their ends, and lines are dashed where colours repeat. The
//! page's script hides a line when its name in the legend is clicked.

use super::chart::{Chart, Frame};
use super::html::{COLOURS, escape};
use super::ticks;
use std::fmt::Write;

const W: f64 = 760.0;
const H: f64 = 340.0;
const LEFT: f64 = 80.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 60.0;

/// Charts with more lines than this show names in the legend only.
const NAMED_MAX: usize = 12;
/// Vertical distance between two names.
const NAME_HEIGHT: f64 = 13.0;
/// Approximate width of a letter.
const LETTER: f64 = 6.6;
/// Letters of a name at the end of a line. Longer names are cut there, and are whole in the legend.
const NAME_MAX: usize = 16;

/// The area of the plot within the figure.
struct Plot<'a> {
    frame: &'a Frame,
    right: f64,
}

impl Plot<'_> {
    fn at(&self, point: (f64, f64)) -> (f64, f64) {
        let (x, y) = self.frame.at(point);
        (LEFT + x * (self.right - LEFT), TOP + (1.0 - y) * (H - TOP - BOTTOM))
    }
}

impl Chart {
    /// The chart as an HTML `figure` with inline SVG and a legend.
    pub fn svg(&self) -> String {
        let lines = self.placed();
        let Some(frame) = self.frame(&lines) else {
            return format!("<p>{}: nothing to draw</p>\n", escape(&self.title));
        };
        let names = self.series.iter().map(|series| series.name.chars().count().min(NAME_MAX));
        let is_named = (2..=NAMED_MAX).contains(&self.series.len());
        let margin = if is_named { LETTER * names.max().unwrap_or(0) as f64 + 14.0 } else { 20.0 };
        let plot = Plot { frame: &frame, right: W - margin };
        let mut out = format!(
            "<figure><svg viewBox=\"0 0 {W} {H}\" role=\"img\" aria-label=\"{0}\">\n\
             <text x=\"{LEFT}\" y=\"18\" class=\"title\">{0}</text>\n",
            escape(&self.title)
        );
        self.axes(&plot, &mut out);
        for (at, line) in lines.iter().enumerate().rev().filter(|_| self.stacked) {
            let below = at.checked_sub(1).map(|below| &lines[below][..]);
            area(&plot, (at, self.colour(at)), line, below, &mut out);
        }
        for (at, line) in lines.iter().enumerate().filter(|_| !self.stacked) {
            self.line(&plot, at, line, &mut out);
        }
        for (x, word) in &self.marks {
            let (x, _) = plot.at((self.x.place(*x), frame.y.0));
            if (LEFT..=plot.right).contains(&x) {
                let _ = writeln!(
                    out,
                    "<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{:.1}\">\
                     <title>{}</title></line>",
                    H - BOTTOM,
                    escape(word)
                );
            }
        }
        if is_named {
            self.names(&plot, &lines, &mut out);
        }
        out += "</svg>\n<figcaption>";
        for (at, series) in self.series.iter().enumerate() {
            let _ = write!(
                out,
                "<button type=\"button\" data-series=\"{at}\"><i style=\"background:var(--c{})\">\
                 </i>{}</button> ",
                self.colour(at),
                escape(&series.name)
            );
        }
        out + "</figcaption></figure>\n"
    }

    /// The number of a line's colour.
    fn colour(&self, at: usize) -> usize {
        self.series[at].colour.unwrap_or(at) % COLOURS
    }

    fn axes(&self, plot: &Plot<'_>, out: &mut String) {
        let frame = plot.frame;
        for place in ticks::places(&self.y, frame.y) {
            let (_, y) = plot.at((frame.x.0, place));
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                plot.right,
                LEFT - 8.0,
                y + 4.0,
                escape(&self.y.format.show(self.y.value(place))),
            );
        }
        let bottom = H - BOTTOM;
        for place in ticks::places(&self.x, frame.x) {
            let (x, _) = plot.at((place, frame.y.0));
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
            f64::midpoint(LEFT, plot.right),
            bottom + 42.0,
            escape(&self.x.label),
            f64::midpoint(TOP, bottom),
            escape(&self.y.label),
        );
    }

    fn line(&self, plot: &Plot<'_>, at: usize, line: &[(f64, f64)], out: &mut String) {
        let colour = self.colour(at);
        let dash = ["", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 3\""];
        let dash = dash[(at / COLOURS) % dash.len()];
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
                "<polygon data-series=\"{at}\" class=\"band\" style=\"fill:var(--c{colour})\" \
                 points=\"{}\"/>",
                path(&around)
            );
        }
        let dots: Vec<(f64, f64)> = line.iter().map(|&point| plot.at(point)).collect();
        let _ = writeln!(
            out,
            "<polyline data-series=\"{at}\" style=\"stroke:var(--c{colour})\"{dash} \
             points=\"{}\"/>",
            path(&dots)
        );
        if dots.len() > 40 {
            return;
        }
        for ((x, y), &(px, py)) in dots.iter().zip(line) {
            let _ = writeln!(
                out,
                "<circle data-series=\"{at}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" \
                 style=\"fill:var(--c{colour})\"><title>{}: {}, {}</title></circle>",
                escape(&self.series[at].name),
                escape(&self.x.format.show(self.x.value(px))),
                escape(&self.y.format.show(self.y.value(py))),
            );
        }
    }

    /// Writes the names at the ends of the lines, moved apart where they would overlap.
    fn names(&self, plot: &Plot<'_>, lines: &[Vec<(f64, f64)>], out: &mut String) {
        let mut ends: Vec<(f64, usize)> = vec![];
        // The name of a single point stands above it.
        let points = lines.iter().enumerate().filter(|(_, line)| line.len() == 1);
        let mut named: Vec<(f64, f64, usize)> = points
            .map(|(at, line)| {
                let (x, y) = plot.at(line[0]);
                (x - 4.0, y - 12.0, at)
            })
            .collect();
        let mut below = plot.frame.y.0;
        for (at, line) in lines.iter().enumerate() {
            let Some(&(x, y)) = line.last().filter(|_| line.len() > 1) else { continue };
            // The name of an area stands in its middle; an area that is too thin has none.
            let middle = if self.stacked { f64::midpoint(below, y) } else { y };
            let is_thin = self.stacked && plot.at((x, below)).1 - plot.at((x, y)).1 < 4.0;
            below = y;
            if !is_thin {
                ends.push((plot.at((x, middle)).1, at));
            }
        }
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        for at in 1..ends.len() {
            ends[at].0 = ends[at].0.max(ends[at - 1].0 + NAME_HEIGHT);
        }
        let mut lowest = H - BOTTOM;
        for end in ends.iter_mut().rev() {
            end.0 = end.0.min(lowest);
            lowest = end.0 - NAME_HEIGHT;
        }
        named.extend(ends.into_iter().map(|(y, at)| (plot.right + 6.0, y, at)));
        for (x, y, at) in named {
            let name: String = self.series[at].name.chars().take(NAME_MAX).collect();
            let _ = writeln!(
                out,
                "<text data-series=\"{at}\" class=\"name\" x=\"{:.1}\" y=\"{:.1}\" \
                 style=\"fill:var(--c{})\">{}</text>",
                x,
                y + 4.0,
                self.colour(at),
                escape(&name)
            );
        }
    }
}

fn area(
    plot: &Plot<'_>,
    (at, colour): (usize, usize),
    line: &[(f64, f64)],
    below: Option<&[(f64, f64)]>,
    out: &mut String,
) {
    let floor = line.iter().map(|&(x, _)| (x, plot.frame.y.0)).collect::<Vec<_>>();
    let under = below.unwrap_or(&floor).iter().rev();
    let around: Vec<_> = line.iter().chain(under).map(|&point| plot.at(point)).collect();
    let _ = writeln!(
        out,
        "<polygon data-series=\"{at}\" class=\"area\" style=\"fill:var(--c{colour})\" \
         points=\"{}\"/>",
        path(&around)
    );
}

fn path(dots: &[(f64, f64)]) -> String {
    dots.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}
