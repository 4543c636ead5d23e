//! Charts of the series in the history.

use super::PageData;
use super::phrases::back;
use crate::Point;
use crate::draw::{Axis, Chart, Format, Series};

/// Tenants that have a line of their own in a chart.
const LINES_MAX: usize = 8;
/// Points of a line, at most; a longer series is summed up into fewer points.
const POINTS_MAX: usize = 150;

/// The points of a tenant, or of all, merged into as many as a chart shows.
pub(super) fn points(shown: &PageData<'_>, tenant: Option<&str>) -> Vec<Point> {
    let since = shown.report.server.now_unix_s.saturating_sub(shown.span_s);
    let all = shown.history.since(tenant, since);
    let each = all.len().div_ceil(POINTS_MAX).max(1);
    all.chunks(each).map(Point::sum).collect()
}

/// The axis of time, and a function that places a moment on it. Places are negative, relative to
/// now, in a unit that fits the span.
pub(super) fn time(shown: &PageData<'_>) -> (Axis, impl Fn(u64) -> f64 + use<>) {
    let (unit, name) = match shown.span_s {
        0..=7_200 => (60.0, "minutes"),
        7_201..=172_800 => (3_600.0, "hours"),
        _ => (86_400.0, "days"),
    };
    let now = shown.report.server.now_unix_s as f64;
    let axis = Axis::new(format!("{name} from now, {}", back(shown)), Format::Number);
    (axis, move |unix_s: u64| (unix_s as f64 - now) / unit)
}

/// The tenants that a chart shows: up to [`LINES_MAX`], with the largest value of `of` first.
pub(super) fn most<'a>(shown: &PageData<'a>, of: impl Fn(&crate::Tenant) -> f64) -> Vec<&'a str> {
    let mut all: Vec<_> = shown.report.tenants.iter().map(|one| (of(one), &one.name)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.retain(|(much, _)| *much > 0.0);
    all.into_iter().take(LINES_MAX).map(|(_, name)| name.as_str()).collect()
}

/// A chart with one line per tenant, of the value `of` at each moment.
pub(super) fn chart(
    shown: &PageData<'_>,
    title: &str,
    y: Axis,
    names: &[&str],
    of: impl Fn(&Point) -> Option<f64>,
) -> Chart {
    let (x, place) = time(shown);
    let line = |&name: &&str| {
        let points = points(shown, Some(name));
        let at = |point: &Point| Some((place(u64::from(point.unix_s)), of(point)?));
        // A tenant has the same colour in every chart.
        let colour = shown.report.tenants.iter().position(|tenant| tenant.name == name);
        Series { colour, ..Series::new(name, points.iter().filter_map(at).collect()) }
    };
    let series = names.iter().map(line).filter(|series| !series.points.is_empty()).collect();
    Chart { title: title.to_owned(), x, y, series, marks: marks(shown), ..Chart::default() }
}

/// The memory of the tenants as stacked areas, with the changes as marks.
pub(super) fn memory(shown: &PageData<'_>) -> Chart {
    let names = most(shown, |tenant| tenant.used as f64);
    let y = Axis::new("memory", Format::Bytes);
    let used = |point: &Point| Some(f64::from(point.used_kib) * 1024.0);
    let mut chart = chart(shown, "Memory of the tenants", y, &names, used);
    align(&mut chart.series);
    let left = shown.report.tenants.len().saturating_sub(names.len());
    let (_, place) = time(shown);
    if left > 0 {
        let all = points(shown, None);
        let rest: Vec<_> = all
            .iter()
            .map(|point| (place(u64::from(point.unix_s)), f64::from(point.used_kib) * 1024.0))
            .collect();
        let shown_of = |x: f64| -> f64 {
            let at = |series: &Series| {
                let near =
                    series.points.iter().min_by(|a, b| (a.0 - x).abs().total_cmp(&(b.0 - x).abs()));
                near.map_or(0.0, |(_, y)| *y)
            };
            chart.series.iter().map(at).sum()
        };
        let rest: Vec<_> = rest.into_iter().map(|(x, y)| (x, (y - shown_of(x)).max(0.0))).collect();
        chart.series.push(Series::new("others", rest));
        align(&mut chart.series);
    }
    chart.stacked = true;
    chart
}

/// The changes, with their places on the axis of time.
fn marks(shown: &PageData<'_>) -> Vec<(f64, String)> {
    let (_, place) = time(shown);
    let changes = shown.report.changes.iter();
    changes.map(|change| (place(change.unix_s), change.text.clone())).collect()
}

/// Gives all series the places of the longest, because areas are stacked place by place. A series
/// is 0 before its first point.
fn align(series: &mut [Series]) {
    let Some(longest) = series.iter().max_by_key(|one| one.points.len()) else { return };
    let places: Vec<f64> = longest.points.iter().map(|(x, _)| *x).collect();
    for one in series {
        let known = std::mem::take(&mut one.points);
        let at = |&x: &f64| {
            let before = known.partition_point(|(place, _)| *place <= x + 1e-9);
            (x, before.checked_sub(1).map_or(0.0, |at| known[at].1))
        };
        one.points = places.iter().map(at).collect();
    }
}
