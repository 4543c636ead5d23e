//! The miss ratio of a tenant at every size of memory.

use crate::draw::{Axis, Chart, Format, Series};
use crate::sizing::{Sizing, divide};
use crate::words::{percent, points, size};
use crate::{Report, Tenant};

/// Points of the curve that are drawn.
const POINTS: u64 = 40;

/// Size of the plot in cells; with its labels the chart is 80 columns wide.
const WIDTH: usize = 66;
const HEIGHT: usize = 14;

/// The chart of the curve, marked at the tenant's present memory and at its share under a division
/// by waiting.
pub fn curve(report: &Report, tenant: &Tenant) -> Vec<String> {
    let Some(sizing) = Sizing::of(tenant) else {
        return vec![
            "Too few reads of this tenant were sampled: a curve needs some thousand.".to_owned(),
        ];
    };
    let sizes = sizing.sizes(POINTS);
    let line = sizes.iter().map(|&size| (size as f64, sizing.at(size).ratio));
    let mark =
        |name: &str, size: u64| Series::new(name, vec![(size as f64, sizing.at(size).ratio)]);
    let mut series = vec![Series::new("misses", line.collect()), mark("now", tenant.used)];
    let at = report.tenants.iter().position(|one| one.name == tenant.name);
    let division = divide(report, report.server.divided);
    if let Some(&share) = at.and_then(|at| division.shares.get(at)) {
        series.push(mark("by waiting", share));
    }
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
    text.push(format!(
        "Now {} with {}, give or take {}. There is no data beyond {}.",
        percent(now.ratio),
        size(tenant.used),
        points(now.band),
        size(sizing.end())
    ));
    text
}
