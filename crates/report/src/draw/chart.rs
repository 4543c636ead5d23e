//! A chart of lines or of stacked areas: braille dots in the terminal (`plot.rs`), or the same
//! series as inline SVG (`svg.rs`).

use super::colour::Colour;
use super::format::Format;
use super::ticks;

/// One line of a chart.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// Points (x, y) from left to right. Points that are not finite are not drawn.
    pub points: Vec<(f64, f64)>,
    /// The band as (x, lowest, highest) at each place. Only the SVG shows it.
    pub band: Vec<(f64, f64, f64)>,
    /// The colour of the line. The default is the position of the series among the colours of
    /// lines; set it where a series keeps its colour across charts.
    pub colour: Option<Colour>,
    /// Whether the line is dashed.
    pub is_dashed: bool,
}

/// A vertical line at a place, with a sign at its upper end.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    /// The place on the horizontal axis.
    pub x: f64,
    /// A letter for the kind of event.
    pub sign: String,
    /// The event in words.
    pub text: String,
    /// The link behind the sign, as an attribute of HTML.
    pub href: Option<String>,
}

impl Series {
    /// A line without a band.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, ..Self::default() }
    }
}

/// One axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// The quantity that the axis measures, written beside it.
    pub label: String,
    /// How its numbers are written.
    pub format: Format,
    /// Whether the scale is logarithmic; points at zero or below are then not drawn.
    pub log: bool,
    /// The least and the greatest value that the axis shows; `None` for those of the points.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis.
    pub fn new(label: impl Into<String>, format: Format) -> Self {
        Self { label: label.into(), format, ..Self::default() }
    }

    /// An axis of clock times from `from` to `to`, in Unix seconds.
    pub fn time((from, to): (f64, f64), utc_offset_s: i32) -> Self {
        let format = Format::Clock { utc_offset_s };
        Self { format, range: Some((from, to)), ..Self::default() }
    }

    /// Makes the axis logarithmic.
    #[must_use]
    pub fn log(self) -> Self {
        Self { log: true, ..self }
    }

    /// The offset of local time from UTC if the axis shows clock times.
    pub(super) const fn clock(&self) -> Option<i32> {
        match self.format {
            Format::Clock { utc_offset_s } => Some(utc_offset_s),
            _ => None,
        }
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        if self.log { value.ln() } else { value }
    }

    pub(super) fn value(&self, place: f64) -> f64 {
        if self.log { place.exp() } else { place }
    }
}

/// Several series over common axes.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// The heading above the chart.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis. A linear one starts at zero, unless all values are far above it.
    pub y: Axis,
    /// The lines, in the order of the legend.
    pub series: Vec<Series>,
    /// Whether the series are stacked areas. They must then have the same places.
    pub stacked: bool,
    /// Events with a vertical line each. Only the SVG shows them.
    pub marks: Vec<Mark>,
    /// The width of the SVG in CSS pixels; 0 for the default.
    pub width: u32,
}

/// A linear axis begins at zero unless the lowest value is more than this share of the highest.
const FAR: f64 = 0.7;

/// The ranges of both axes, in the scale of [`Axis::place`].
pub(super) struct Frame {
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
}

impl Frame {
    /// Position of a point, both from 0 (left, bottom) to 1.
    pub(super) fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        ((x - self.x.0) / (self.x.1 - self.x.0), (y - self.y.0) / (self.y.1 - self.y.0))
    }
}

impl Chart {
    /// The finite points of each series on the scales of the axes; stacked if the chart is.
    pub(super) fn placed(&self) -> Vec<Vec<(f64, f64)>> {
        let place = |points: &[(f64, f64)]| {
            let on_axes = points.iter().map(|&(x, y)| (self.x.place(x), self.y.place(y)));
            on_axes.filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
        };
        let mut lines: Vec<Vec<_>> = self.series.iter().map(|one| place(&one.points)).collect();
        if self.stacked {
            for at in 1..lines.len() {
                let (below, above) = lines.split_at_mut(at);
                for (point, under) in above[0].iter_mut().zip(&below[at - 1]) {
                    point.1 += under.1;
                }
            }
        }
        lines
    }

    pub(super) fn frame(&self, lines: &[Vec<(f64, f64)>]) -> Option<Frame> {
        let range = |pick: fn(&(f64, f64)) -> f64| {
            let values = lines.iter().flatten().map(pick);
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            })
        };
        let (mut x, mut y) = (range(|point| point.0), range(|point| point.1));
        for &(_, low, high) in self.series.iter().flat_map(|series| &series.band) {
            let edges = (self.y.place(low), self.y.place(high));
            if edges.0.is_finite() && edges.1.is_finite() {
                y = (y.0.min(edges.0), y.1.max(edges.1));
            }
        }
        if x.0 > x.1 {
            return None;
        }
        x = self.x.range.map_or(x, |(low, high)| (self.x.place(low), self.x.place(high)));
        // On an axis from zero, lines close together and far above zero would look like one.
        let is_far = !self.stacked && y.0 < y.1 && y.0 > FAR * y.1;
        if !self.y.log && !is_far {
            y.0 = y.0.min(0.0);
        }
        if !self.y.log && y == (0.0, 0.0) {
            // A line of zeros lies on the axis.
            y.1 = 1.0;
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
            y.0 = (y.0 / step + 1e-9).floor() * step;
        }
        Some(Frame { x, y })
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
            series: vec![Series::new("falling", falling), Series::new("<level>", level)],
            ..Chart::default()
        }
    }

    /// A rising line must end higher than it starts: rows of text count from the top.
    #[test]
    fn up_is_up() {
        let points = vec![(0.0, 0.0), (1.0, 1.0)];
        let chart = Chart { series: vec![Series::new("a", points)], ..Chart::default() };
        let text = chart.text(20, 8, false);
        let rows: Vec<&str> = text.lines().skip(2).take(8).collect();
        assert!(rows[0].ends_with('●'), "{text}");
        assert!(rows[7].contains("┤●"), "{text}");
    }

    /// A quantity that is zero all the time has no values below zero on its axis.
    #[test]
    fn zeros_lie_on_the_axis() {
        let points = vec![(0.0, 0.0), (1.0, 0.0)];
        let y = Axis::new("waiting", Format::Micros);
        let chart = Chart { y, series: vec![Series::new("a", points)], ..Chart::default() };
        let svg = chart.svg();
        assert!(!svg.contains(">-") && svg.contains(">0 µs<"), "{svg}");
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
        chart.series = vec![Series::new("none", points)];
        assert!(chart.text(40, 8, false).contains("nothing to draw"));
        assert!(chart.svg().contains("nothing to draw"));
        chart.series[0].points.push((4.0, 0.5));
        assert!(chart.text(40, 8, false).contains('●'), "a single point is a chart");
    }
}
