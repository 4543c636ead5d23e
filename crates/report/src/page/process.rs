//! The history of the process as charts: connections, commands and their times, memory by use, and
//! what left the cache.

use super::PageData;
use super::series::{merged, over_time, places, seconds};
use crate::draw::{Axis, Chart, Colour, Format, Series};
use crate::process::{MEMORY, ProcessPoint};
use base::Cause;

/// The charts of the shown stretch; none if the process has no history.
pub(super) fn charts(shown: &PageData<'_>) -> String {
    let all = merged(shown, shown.history.process_since(shown.time().from));
    if all.is_empty() {
        return String::new();
    }
    let each = seconds(&all);
    let rate = |count: u32| Some(f64::from(count) / each);
    let ink =
        |name: &str, points| Series { colour: Some(Colour::Ink), ..Series::new(name, points) };
    let number = |title: &str, label: &str, format, series| {
        over_time(shown, title, Axis::new(label, format), series)
    };
    let clients = ink("connected", places(&all, |point| Some(f64::from(point.clients))));
    let commands = ink("commands", places(&all, |point| rate(point.commands)));
    let charts = [
        number("Connections", "clients", Format::Count, vec![clients]),
        number("Commands", "per second", Format::Number, vec![commands]),
        times(shown, &all),
        memory(shown, &all),
        left(shown, &all, each),
    ];
    charts.iter().map(Chart::svg).collect()
}

/// The times of commands, of the steps in which any was timed.
fn times(shown: &PageData<'_>, all: &[ProcessPoint]) -> Chart {
    let quantile = |at: usize| {
        places(all, |point| (point.timed > 0).then(|| f64::from(point.quantiles_us[at])))
    };
    let series = vec![
        Series { colour: Some(Colour::Ink), ..Series::new("50 %", quantile(0)) },
        Series { colour: Some(Colour::Soft), ..Series::new("99 %", quantile(1)) },
    ];
    let y = Axis::new("of a command, at most", Format::Micros);
    over_time(shown, "Times of commands", y, series)
}

/// Resident memory as areas, one for each use.
fn memory(shown: &PageData<'_>, all: &[ProcessPoint]) -> Chart {
    let area = |(at, name): (usize, &&str)| {
        let bytes = |point: &ProcessPoint| Some(1024.0 * f64::from(point.memory_kib[at]));
        Series { colour: Some(Colour::Use(at)), ..Series::new(*name, places(all, bytes)) }
    };
    let series = MEMORY.iter().enumerate().map(area).collect();
    let y = Axis::new("bytes resident", Format::Bytes);
    Chart { stacked: true, ..over_time(shown, "Resident memory by use", y, series) }
}

/// Items that left the cache, by cause.
fn left(shown: &PageData<'_>, all: &[ProcessPoint], each: f64) -> Chart {
    let line = |(at, cause): (usize, Cause)| {
        let colour = Cause::ALL.iter().position(|one| *one == cause).map(Colour::Cause);
        let rate = places(all, |point| Some(f64::from(point.left[at]) / each));
        Series { colour, ..Series::new(cause.name(), rate) }
    };
    let series = ProcessPoint::LEFT.into_iter().enumerate().map(line).collect();
    let y = Axis::new("items per second", Format::Number);
    Chart { stacked: true, ..over_time(shown, "What left the cache", y, series) }
}
