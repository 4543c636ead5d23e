//! Charts of the series in the history.

use super::PageData;
use super::events::marks;
use crate::Point;
use crate::draw::{Axis, Chart, Colour, Format, Series};
use crate::rings::RingStep;

/// Tenants that have a line of their own in a chart.
const LINES_MAX: usize = 8;
/// A tenant with a smaller share than this of everything has no line.
const SCORE_MIN: f64 = 1e-3;
/// Points of a line, at most; a longer series is summed up into fewer points.
const POINTS_MAX: u64 = 150;
/// Seconds of a point, unless the stretch is short: the misses of single seconds are mostly chance.
const CALM_S: u64 = 5;
/// Points that a line has at least: those of a short stretch are shorter than [`CALM_S`].
const POINTS_MIN: u64 = 60;

/// The points of a tenant, or of all, within the shown stretch, merged into as many as a chart
/// shows.
pub(super) fn points(shown: &PageData<'_>, tenant: Option<&str>) -> Vec<Point> {
    merged(shown, shown.history.since(tenant, shown.time().from))
}

/// The points within the shown stretch, merged into as many as a chart shows.
pub(super) fn merged<P: RingStep>(shown: &PageData<'_>, mut all: Vec<P>) -> Vec<P> {
    let time = shown.time();
    all.retain(|point| time.contains(point.unix_s().into()));
    let (own, length) = (seconds(&all) as u32, time.to - time.from);
    let wanted = length.div_ceil(POINTS_MAX).max(CALM_S.min(length / POINTS_MIN));
    // Groups begin at round times, so that points do not jitter when the stretch moves on.
    let step = own * (wanted as u32).div_ceil(own).max(1);
    let groups = all.chunk_by(|a, b| a.unix_s() / step == b.unix_s() / step);
    let mut sums: Vec<P> = groups.map(P::sum).collect();
    if sums.len() < 3 {
        // So few steps do not tell their length.
        return all;
    }
    // The rates of a first step without its beginning, or of one that is not over yet, would be
    // too low.
    let begins = (all[0].unix_s() + 1).saturating_sub(own);
    if step > own && begins % step >= own {
        sums.remove(0);
    }
    let is_open = |last: &P| step > 1 && !(last.unix_s() + 1).is_multiple_of(step);
    if sums.last().is_some_and(is_open) {
        sums.pop();
    }
    sums
}

/// The tenants with a line of their own on this page: those with the largest shares of memory,
/// reads and waiting; in the order of the report.
pub(super) fn lines<'a>(shown: &PageData<'a>) -> Vec<&'a str> {
    let tenants = &shown.report.tenants;
    let sum = |of: fn(&crate::Tenant) -> f64| tenants.iter().map(of).sum::<f64>().max(1e-9);
    let of: [fn(&crate::Tenant) -> f64; 3] =
        [|one| one.used as f64, |one| one.recent.reads as f64, |one| one.recent.wait_ms];
    let sums = of.map(sum);
    let score = |one: &crate::Tenant| of.iter().zip(sums).map(|(of, sum)| of(one) / sum).sum();
    let mut all: Vec<(f64, usize)> =
        tenants.iter().enumerate().map(|(at, one)| (score(one), at)).collect();
    all.retain(|(score, _)| *score > SCORE_MIN);
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut shown: Vec<usize> = all.into_iter().take(LINES_MAX).map(|(_, at)| at).collect();
    shown.sort_unstable();
    shown.into_iter().map(|at| tenants[at].name.as_str()).collect()
}

/// The colour of each tenant of `names`: its place in the report decides, and the next free colour
/// where two tenants have the same.
pub(super) fn colours(shown: &PageData<'_>, names: &[&str]) -> Vec<Colour> {
    let mut taken = [false; LINES_MAX];
    let place = |name: &str| shown.report.tenants.iter().position(|tenant| tenant.name == name);
    let colour = |name: &&str| {
        let first = place(name).unwrap_or_default();
        let all = (first..first + LINES_MAX).map(|at| at % LINES_MAX);
        let free = all.clone().find(|&at| !taken[at]).unwrap_or(first % LINES_MAX);
        taken[free] = true;
        Colour::Line(free)
    };
    names.iter().map(colour).collect()
}

/// The colour that a tenant has on the first page.
pub(super) fn colour_of(shown: &PageData<'_>, name: &str) -> Colour {
    let names = lines(shown);
    let at = names.iter().position(|&one| one == name);
    at.map_or(Colour::Line(0), |at| colours(shown, &names)[at])
}

/// A chart over the shown stretch.
pub(super) fn over_time(shown: &PageData<'_>, title: &str, y: Axis, series: Vec<Series>) -> Chart {
    Chart {
        title: title.to_owned(),
        x: shown.time().axis(),
        y,
        series: series.into_iter().filter(|series| !series.points.is_empty()).collect(),
        marks: marks(shown),
        width: shown.view.width,
        ..Chart::default()
    }
}

/// The places and values of points; those without a value are left out.
pub(super) fn places<P: RingStep>(points: &[P], of: impl Fn(&P) -> Option<f64>) -> Vec<(f64, f64)> {
    points.iter().filter_map(|point| Some((f64::from(point.unix_s()), of(point)?))).collect()
}

/// A line for each tenant, of the value `of` at each moment.
pub(super) fn tenants(
    shown: &PageData<'_>,
    names: &[&str],
    of: impl Fn(&Point, f64) -> Option<f64>,
) -> Vec<Series> {
    let colours = colours(shown, names);
    let line = |(&name, colour): (&&str, Colour)| {
        let points = points(shown, Some(name));
        let seconds = seconds(&points);
        let series = Series::new(name, places(&points, |point| of(point, seconds)));
        Series { colour: Some(colour), ..series }
    };
    names.iter().zip(colours).map(line).collect()
}

/// The seconds that a point covers.
pub(super) fn seconds<P: RingStep>(points: &[P]) -> f64 {
    let mut steps: Vec<u32> =
        points.windows(2).map(|pair| pair[1].unix_s().saturating_sub(pair[0].unix_s())).collect();
    steps.sort_unstable();
    f64::from(steps.get(steps.len() / 2).copied().unwrap_or(1).max(1))
}

/// The memory of the tenants as stacked areas.
pub(super) fn memory(shown: &PageData<'_>, names: &[&str]) -> Chart {
    let used = |point: &Point| Some(f64::from(point.used_kib) * 1024.0);
    let mut series = tenants(shown, names, |point, _| used(point));
    if names.len() < shown.report.tenants.len() {
        let all = Series::new("others", places(&points(shown, None), used));
        series.push(Series { colour: Some(Colour::Soft), ..all });
        align(&mut series);
        let (rest, others) = series.split_last_mut().expect("a series was pushed");
        for (at, point) in rest.points.iter_mut().enumerate() {
            let own: f64 = others.iter().map(|one| one.points[at].1).sum();
            point.1 = (point.1 - own).max(0.0);
        }
        let whole = shown.report.server.used as f64;
        if rest.points.iter().all(|(_, bytes)| *bytes < SCORE_MIN * whole) {
            series.pop();
        }
    } else {
        align(&mut series);
    }
    let y = Axis::new("bytes held", Format::Bytes);
    Chart { stacked: true, ..over_time(shown, "Memory of the tenants", y, series) }
}

/// Gives all series the places of the longest, because areas are stacked place by place. A series
/// is 0 before its first point.
pub(super) fn align(series: &mut [Series]) {
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
