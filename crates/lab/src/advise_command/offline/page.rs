//! The advice as one page of HTML.

use super::play::Cache;
use super::verdict::Advice;
use crate::report::format::bytes;
use crate::report::{Axis, Chart, Format, Page, Series, sign};

pub(super) fn page(advice: &Advice) -> Page {
    let mut page = Page::new(format!("What would help {}", advice.from));
    page.paragraph(&advice.answer());
    for line in advice.alternatives() {
        page.paragraph(&line);
    }
    page.chart(&chart(advice));
    page.heading("Tenants").table(&advice.table());
    page.paragraph(
        "misses: misses of one shared cache, as now; Larder: misses of Larder in the same memory; \
         share: the tenant's memory in a fixed division; with share: its misses with that share.",
    );
    page.heading("Why");
    for reason in advice.reasons() {
        page.paragraph(&reason);
    }
    page.heading("Assumptions");
    for assumption in &advice.assumptions {
        page.paragraph(assumption);
    }
    let commands = advice.commands();
    if !commands.is_empty() {
        page.heading("Commands");
    }
    for command in &commands {
        page.paragraph(command);
    }
    page.heading("How this was made");
    page.paragraph(&format!(
        "larder {}, {} requests of {:.1} s from {}, {} of memory, seed {}.",
        env!("CARGO_PKG_VERSION"),
        advice.requests,
        advice.seconds,
        advice.from,
        bytes(advice.memory),
        advice.seed
    ));
    // The command line may hold a password.
    if !std::env::args().any(|word| word.contains("://") && word.contains('@')) {
        sign(&mut page);
    }
    page
}

fn chart(advice: &Advice) -> Chart {
    let series = |cache: Cache| {
        let points = advice.points.iter().filter(|point| point.cache == cache);
        let points = points.map(|point| (point.memory as f64, point.waiting_ms_per_s / 1e3));
        Series::new(cache.name(), points.collect())
    };
    Chart {
        title: "Seconds that all clients wait for misses, per second".to_owned(),
        x: Axis::new("memory", Format::Bytes).log(),
        y: Axis::new("waiting", Format::Number),
        series: Cache::ALL.into_iter().map(series).collect(),
        ..Chart::default()
    }
}
