//! The answers as text, as one JSON document, as one page.

use super::answer::CurveOutput;
use crate::compressed::assumption;
use crate::report::format::{Format, bytes};
use crate::report::{Axis, Chart, Page, Series, Table, json as document, sign};
use crate::whole_file;
use base::{Bytes, MissRatio};
use curve::{Envelope, MissRatioCurve};
use std::io::IsTerminal;
use std::path::Path;

/// Prints one object, or a list of objects for several answers.
pub(super) fn json(mut answers: Vec<CurveOutput>) -> anyhow::Result<()> {
    if answers.len() == 1 {
        return document::print(&answers.remove(0));
    }
    document::print(&answers)
}

pub(super) fn text(trace: &str, answers: &[CurveOutput]) {
    println!("{}", chart(trace, answers).text(72, 18, std::io::stdout().is_terminal()));
    println!("{}", table(answers));
    if let Some(line) = assumed(answers) {
        println!("{line}");
    }
    for line in answers.iter().flat_map(sentences).chain(winners(answers)) {
        println!("{line}");
    }
}

pub(super) fn page(path: &Path, trace: &str, answers: &[CurveOutput]) -> anyhow::Result<()> {
    let mut page = Page::new(format!("Miss ratio curves of {trace}"));
    sign(&mut page);
    page.chart(&chart(trace, answers)).table(&table(answers));
    if let Some(line) = assumed(answers) {
        page.paragraph(&line);
    }
    for line in answers.iter().flat_map(sentences).chain(winners(answers)) {
        page.paragraph(&line);
    }
    whole_file::write(path, &[trace.to_owned()], &page.to_string())
}

/// The assumption of all answers, if they have one.
fn assumed(answers: &[CurveOutput]) -> Option<String> {
    answers.first().and_then(|answer| answer.compress_ratio).map(assumption)
}

fn name(answer: &CurveOutput) -> String {
    format!("{} of {}", answer.model, answer.policy)
}

fn chart(trace: &str, answers: &[CurveOutput]) -> Chart {
    let line = |points: &[(u64, f64)]| {
        std::iter::once((0.0, 1.0)).chain(points.iter().map(|&(x, y)| (x as f64, y))).collect()
    };
    let mut series: Vec<Series> =
        answers.iter().map(|answer| Series::new(name(answer), line(&answer.points))).collect();
    for answer in answers {
        let name = format!("exact {}", answer.policy);
        if let Some(points) = &answer.against
            && series.iter().all(|known| known.name != name)
        {
            series.push(Series::new(name, line(points)));
        }
    }
    Chart {
        title: format!("miss ratio, {trace}"),
        x: Axis::new("cache size", Format::Bytes),
        y: Axis::new("miss ratio", Format::Percent),
        series,
        ..Chart::default()
    }
}

fn table(answers: &[CurveOutput]) -> Table {
    let mut table = Table::new([
        "model", "policy", "rate", "at 10 %", "at 25 %", "at 50 %", "at 100 %", "error", "largest",
        "seconds", "memory",
    ]);
    for answer in answers {
        let at = |share: f64| {
            let goal = (answer.footprint as f64 * share) as u64;
            let near = answer.points.iter().min_by_key(|(size, _)| size.abs_diff(goal));
            near.map_or(String::new(), |(_, ratio)| format!("{ratio:.4}"))
        };
        let error = |error: Option<f64>| error.map_or("-".into(), |error| format!("{error:.5}"));
        table.row([
            answer.model.to_owned(),
            answer.policy.clone(),
            format!("{:.6}", answer.rate),
            at(0.1),
            at(0.25),
            at(0.5),
            at(1.0),
            error(answer.mae),
            error(answer.error_max),
            format!("{:.3}", answer.seconds),
            bytes(answer.model_bytes),
        ]);
    }
    table
}

/// Sentences that name the best policy up to each size, where there are several policies.
fn winners(answers: &[CurveOutput]) -> Vec<String> {
    let curves: Vec<MissRatioCurve> = answers.iter().map(CurveOutput::curve).collect();
    let envelope = Envelope::new(&curves.iter().collect::<Vec<_>>());
    let points: Vec<_> = envelope.points().iter().filter(|(size, ..)| size.0 > 0).collect();
    let several = answers.iter().any(|answer| answer.policy != answers[0].policy);
    if !several {
        return vec![];
    }
    let who = |point: &(Bytes, MissRatio, usize)| answers[point.2].policy.as_str();
    let mut lines = vec![];
    for (at, point) in points.iter().enumerate() {
        if points.get(at + 1).is_none_or(|next| who(next) != who(point)) {
            lines.push(format!("best up to {}: {}", bytes(point.0.0), who(point)));
        }
    }
    // Where the best policy changes all the time, the curves differ only by noise.
    if lines.len() > 6 {
        return vec![format!(
            "the best policy changes {} times: the policies hardly differ",
            lines.len()
        )];
    }
    lines
}

fn sentences(answer: &CurveOutput) -> Vec<String> {
    let name = name(answer);
    let mut lines = vec![];
    if let Some((size, low, high)) =
        answer.band.iter().max_by(|a, b| (a.2 - a.1).total_cmp(&(b.2 - b.1)))
    {
        let (low, high) = (low * 100.0, high * 100.0);
        let size = bytes(*size);
        lines.push(format!(
            "{name}: between {low:.2} and {high:.2} % at {size}, where its band is widest"
        ));
    }
    for &(from, to) in &answer.plateaus {
        let (from, to) = (bytes(from), bytes(to));
        lines.push(format!("{name}: from {from} to {to} the miss ratio hardly falls"));
    }
    if let Some(goal) = &answer.goal {
        let text = match (goal.bytes, &goal.why) {
            (Some(size), _) => {
                format!("{} for a miss ratio of {:.2} %", bytes(size), goal.miss_ratio * 100.0)
            }
            (None, why) => why.clone().unwrap_or_default(),
        };
        lines.push(format!("{name}: {text}"));
    }
    if let Some(step) = &answer.at {
        let percent = |ratio: f64| format!("{:.2} %", ratio * 100.0);
        if let Some(ratio) = step.miss_ratio {
            lines.push(format!("{name}: {} misses {}", bytes(step.bytes), percent(ratio)));
        }
        if let (Some(ratio), Some(more)) = (step.miss_ratio, step.with_more) {
            let gain = (ratio - more) * 100.0;
            let step = bytes(step.more_bytes);
            lines.push(format!("{name}: {step} more misses {}, {gain:.2} less", percent(more)));
        }
        lines.extend(step.why.iter().map(|why| format!("{name}: {why}")));
    }
    lines
}
