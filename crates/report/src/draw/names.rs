//! The names of lines, beside their ends in a chart. Names that would overlap are moved apart.

use super::chart::Chart;
use super::html::escape;
use super::svg::{LETTER, Plot, TOP};
use std::fmt::Write;

/// Vertical distance between two names.
const NAME_HEIGHT: f64 = 14.0;
/// Letters of a name at the end of a line. Longer names are shortened there, and are whole in the
/// legend.
const NAME_MAX: usize = 16;

/// A name that fits beside a line.
pub(super) fn short(name: &str) -> String {
    if name.chars().count() <= NAME_MAX {
        return name.to_owned();
    }
    name.chars().take(NAME_MAX - 1).chain(['…']).collect()
}

/// Writes the names of points, and those of lines if `is_named`.
pub(super) fn write(
    chart: &Chart,
    plot: &Plot<'_>,
    lines: &[Vec<(f64, f64)>],
    is_named: bool,
    out: &mut String,
) {
    let mut named = points(chart, plot, lines);
    if is_named {
        named.extend(ends(chart, plot, lines).into_iter().map(|(y, at)| (plot.right + 6.0, y, at)));
    }
    for (x, y, at) in named {
        let _ = writeln!(
            out,
            "<text data-series=\"{at}\" class=\"name\" x=\"{x:.1}\" y=\"{:.1}\" \
             style=\"fill:{}\">{}</text>",
            y + 4.0,
            chart.colour(at).css(),
            escape(&short(&chart.series[at].name))
        );
    }
}

/// The places of the names of single points: above the point, or where no other name stands.
fn points(chart: &Chart, plot: &Plot<'_>, lines: &[Vec<(f64, f64)>]) -> Vec<(f64, f64, usize)> {
    let mut named: Vec<(f64, f64, usize)> = vec![];
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.len() == 1) {
        if lines.iter().all(|line| line.len() == 1) {
            break;
        }
        let (x, y) = plot.at(line[0]);
        let width = |at: usize| LETTER * short(&chart.series[at].name).chars().count() as f64 + 6.0;
        let x = (x - 4.0).min(plot.right + 8.0 - width(at)).max(plot.left);
        let is_free = |place: f64| {
            let near = |&(other_x, other_y, other): &(f64, f64, usize)| {
                (other_y - place).abs() < NAME_HEIGHT
                    && x < other_x + width(other)
                    && other_x < x + width(at)
            };
            place > TOP && place < plot.bottom && !named.iter().any(near)
        };
        let places = [-12.0, 14.0, -28.0, 30.0, -44.0].map(|by| y + by);
        named.push((x, places.into_iter().find(|&place| is_free(place)).unwrap_or(y - 12.0), at));
    }
    named
}

/// The heights of the names at the ends of lines.
fn ends(chart: &Chart, plot: &Plot<'_>, lines: &[Vec<(f64, f64)>]) -> Vec<(f64, usize)> {
    let mut ends: Vec<(f64, usize)> = vec![];
    let mut below = plot.frame.y.0;
    for (at, line) in lines.iter().enumerate() {
        let Some(&(x, y)) = line.last().filter(|_| line.len() > 1) else { continue };
        // The name of an area stands in its middle; an area that is too thin has none.
        let middle = if chart.stacked { f64::midpoint(below, y) } else { y };
        let is_thin = chart.stacked && plot.at((x, below)).1 - plot.at((x, y)).1 < 4.0;
        below = y;
        if !is_thin {
            ends.push((plot.at((x, middle)).1, at));
        }
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    for at in 1..ends.len() {
        ends[at].0 = ends[at].0.max(ends[at - 1].0 + NAME_HEIGHT);
    }
    let mut lowest = plot.bottom;
    for end in ends.iter_mut().rev() {
        end.0 = end.0.min(lowest);
        lowest = end.0 - NAME_HEIGHT;
    }
    ends
}
