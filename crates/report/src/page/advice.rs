//! The advice page: all findings with their evidence and the command to type, the most important
//! first.

use super::PageData;
use super::cards::{self, CardCell, by, number, plain, text};
use super::phrases::{bar, command, link, prose};
use crate::finding::{Finding, Severity};
use crate::say;
use crate::words::{percent, plus_or_minus, wait};
use std::fmt::Write;

pub(super) fn render(shown: &PageData<'_>) -> String {
    let mut out = String::from("<h1>Advice</h1>\n");
    let found = &shown.advice.findings;
    if found.is_empty() {
        out += "<p>The measurements show no problem.</p>\n";
    }
    for one in found {
        out += &article(shown, one);
    }
    let text = shown.advice.lines.join("\n");
    out += &policies(shown);
    out + &format!(
        "<h2>The answer of <code>LARDER ADVISE</code></h2>\n<pre>{}</pre>\n",
        prose(&text)
    )
}

/// A finding: what is, its evidence, what to do, and the command that does it.
fn article(shown: &PageData<'_>, one: &Finding) -> String {
    let (class, word) = match one.severity {
        Severity::Warning => ("warning", "Warning"),
        Severity::Advice => ("advice", "Advice"),
        Severity::Note => ("note", "Note"),
    };
    let whose = one.tenant.as_ref().map_or_else(String::new, |name| link(shown, name) + " ");
    let worth = match 1e3 * one.worth_ms {
        us if us > 0.0 => format!(" · concerns {} of waiting per second", wait(us)),
        _ => String::new(),
    };
    let mut out = format!(
        "<article class=\"{class}\"><h2>{word}{worth}</h2>\n<p>{whose}{}</p>\n\
         <p><span class=\"head\">Evidence</span> {}</p>\n",
        prose(&one.says),
        prose(&one.evidence),
    );
    let remedy = say::command_of(shown.report, one);
    if remedy.as_ref() != Some(&one.todo) {
        let _ = writeln!(out, "<p><span class=\"head\">To do</span> {}</p>", prose(&one.todo));
    }
    if let Some(typed) = remedy {
        out += &command(&typed);
    }
    out + "</article>\n"
}

/// The policies beside each other.
pub(super) fn policies(shown: &PageData<'_>) -> String {
    let mut trials = shown.report.policies.clone();
    trials.sort_by(|a, b| a.waits.total_cmp(&b.waits));
    let first = say::policies(shown.report);
    // Lines before the terminal's table, which begins with two spaces.
    let lead: Vec<_> = first.iter().take_while(|line| !line.starts_with(' ')).cloned().collect();
    let mut out = format!("<h2>Policies</h2>\n<p>{}</p>\n", prose(&lead.join(" ")));
    if trials.is_empty() {
        return out;
    }
    let most = trials.iter().map(|trial| trial.waits).fold(0.0, f64::max).max(1e-9);
    let columns = [
        text("policy"),
        number("waiting"),
        text("beside the others"),
        number("give or take"),
        number("misses"),
    ];
    let rows = trials.iter().map(|trial| -> Vec<CardCell> {
        let name = say::standing(trial)
            .map_or_else(|| trial.policy.clone(), |mark| format!("{} ({mark})", trial.policy));
        let band = if trial.is_present {
            "–".to_owned()
        } else {
            format!("{} points", plus_or_minus(trial.band))
        };
        vec![
            plain(&name),
            by(trial.waits, percent(trial.waits)),
            by(trial.waits, bar(trial.waits / most, "")),
            by(trial.band, band),
            by(trial.miss_ratio, percent(trial.miss_ratio)),
        ]
    });
    out += &cards::table(shown, "", &columns, rows.collect());
    let _ = writeln!(
        out,
        "<p class=\"legend\">Waiting: the time that clients wait for misses, beside the policy in \
         force, when the same sampled requests are replayed. Give or take: its error, in 19 of 20 \
         cases. {}</p>",
        prose(&say::policy_words(shown.report))
    );
    out
}
