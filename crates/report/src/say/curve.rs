//! The miss ratio of a tenant at every size of memory.

use super::lines::COLUMNS;
use super::memory::unread;
use super::sampled::too_few;
use crate::draw::{Axis, Chart, Format, Series};
use crate::sizing::{Sizing, divide};
use crate::words::{percent, points, size, wrap};
use crate::{Report, Tenant};

/// Points of the curve that are drawn.
const POINTS: u64 = 40;

/// Size of the plot in cells; with its labels the chart is 80 columns wide.
const WIDTH: usize = 66;
const HEIGHT: usize = 14;

/// The least distance of two marks whose labels do not collide, as a share of the chart.
const APART_MIN: f64 = 0.12;

/// The memory of a tenant under the division that makes all clients wait least; `None` where it is
/// about the present memory, or not known.
pub fn best_share(report: &Report, tenant: &Tenant) -> Option<u64> {
    let end = Sizing::of(tenant)?.sizes(1)[1];
    let at = report.tenants.iter().position(|one| one.name == tenant.name)?;
    let share = *divide(report, report.server.divided).shares.get(at)?;
    let apart = share.abs_diff(tenant.used) as f64 / end.max(1) as f64;
    (apart >= APART_MIN).then_some(share)
}

/// A sentence on the best share.
pub fn best_share_says(report: &Report, tenant: &Tenant) -> String {
    match best_share(report, tenant) {
        Some(share) => format!(
            "All clients together would wait least if {} had {}, its “best share”.",
            tenant.name,
            size(share)
        ),
        None => format!(
            "No other share of the memory for {} would make all clients together wait clearly \
             less.",
            tenant.name
        ),
    }
}

/// The chart of the curve, marked at the tenant's present memory and at its best share.
pub fn curve(report: &Report, tenant: &Tenant) -> Vec<String> {
    if tenant.is_silent() {
        return wrap(&unread(report, tenant), COLUMNS, 0);
    }
    let Some(sizing) = Sizing::with_band(tenant) else {
        return wrap(&too_few(report, tenant), COLUMNS, 0);
    };
    let sizes = sizing.sizes(POINTS);
    let line = sizes.iter().map(|&size| (size as f64, sizing.at(size).ratio));
    let mark =
        |name: &str, size: u64| Series::new(name, vec![(size as f64, sizing.at(size).ratio)]);
    let mut series = vec![Series::new("misses", line.collect()), mark("now", tenant.used)];
    series.extend(best_share(report, tenant).map(|share| mark("best share", share)));
    let chart = Chart {
        title: format!("{}: reads that miss, by memory", tenant.name),
        x: Axis::new("memory", Format::Bytes),
        y: Axis::new("", Format::Percent),
        series,
        ..Chart::default()
    };
    let mut text: Vec<String> =
        chart.text(WIDTH, HEIGHT, false).lines().map(|line| line.trim_end().to_owned()).collect();
    text.retain(|line| !line.is_empty());
    let now = sizing.at(tenant.used);
    let says = format!(
        "Now {} with {}, give or take {}. {} There is no data beyond {}.",
        percent(now.ratio),
        size(tenant.used),
        points(now.band),
        best_share_says(report, tenant),
        size(sizing.end())
    );
    text.extend(wrap(&says, COLUMNS, 0));
    text
}
