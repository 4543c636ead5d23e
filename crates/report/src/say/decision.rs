//! The decision: whether all is well, in one sentence, and the commands to type.
//!
//! The page Now, the head of LARDER ADVISE and `larder top` show the same decision.

use crate::Report;
use crate::finding::{self, Finding, Severity};

/// The state of the cache and what to do about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether all is well or what is wrong, in a sentence.
    pub health: String,
    /// The commands that carry out the findings, the most important first, each once.
    pub commands: Vec<String>,
}

/// The decision that follows from the findings of a report.
pub fn decision(report: &Report, findings: &[Finding]) -> Decision {
    let mut commands: Vec<String> = vec![];
    for command in findings.iter().filter_map(|one| command_of(report, one)) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let warnings = findings.iter().filter(|one| one.severity == Severity::Warning);
    let state = if report.server.quiet_s > 0 {
        "Idle. If clients should read now, look at them first. Otherwise"
    } else {
        "Healthy"
    };
    let health = match (warnings.clone().next(), commands.len()) {
        (Some(first), _) => {
            let whose = first.tenant.as_ref().map_or_else(String::new, |name| format!("{name} "));
            let more = match warnings.count() - 1 {
                0 => String::new(),
                1 => " There is one more warning.".to_owned(),
                more => format!(" There are {more} more warnings."),
            };
            format!("Not healthy: {whose}{}{more}", first.says)
        }
        (None, 0) => format!("{state}: no setting has to change now."),
        (None, 1) => format!("{state}: nothing is wrong, and one change of settings is advised."),
        (None, many) => {
            format!("{state}: nothing is wrong, and {many} changes of settings are advised.")
        }
    };
    Decision { health, commands }
}

/// The command that carries out a finding; `None` where a person must decide or act elsewhere.
pub fn command_of(report: &Report, finding: &Finding) -> Option<String> {
    finding::remedy(report, finding).map(|remedy| finding::command(&remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{healthy, with_fault};
    use crate::{History, page, say};

    /// A cache from which nobody reads is idle: whether that is well, only its operator knows.
    #[test]
    fn a_silent_cache_is_idle() {
        let mut report = healthy();
        report.server.quiet_s = 1_500;
        let health = decision(&report, &[]).health;
        assert!(health.starts_with("Idle. If clients should read now"), "{health}");
    }

    /// One sentence about the state stands first in the advice and on the page Now.
    #[test]
    fn health_comes_first() {
        for (fault, wanted) in [
            (None, "Healthy: no setting has to change now."),
            (
                Some("too_small"),
                "Healthy: nothing is wrong, and one change of settings is advised.",
            ),
            (Some("starved"), "Not healthy: jobs has missed"),
        ] {
            let report = fault.map_or_else(healthy, with_fault);
            let advice = page::Advice::of(&report);
            let health = &advice.decision.health;
            assert!(health.starts_with(wanted), "{health}");
            let lines = advice.lines.join(" ");
            assert!(lines.starts_with(health), "{lines}");
            let (history, view) = (History::default(), page::Choices::default());
            let shown =
                page::PageData { report: &report, advice: &advice, history: &history, view: &view };
            let html = page::middle(page::find("/").unwrap(), &shown).replace('\u{a0}', " ");
            assert!(html.contains(&format!("<h1>{health}</h1>")), "{html}");
        }
    }

    /// Two findings with one remedy have one command, and it stands on a line of its own.
    #[test]
    fn commands_are_told_once() {
        let report = with_fault("too_small");
        let found = finding::all(&report);
        let twice = [found.clone(), found].concat();
        let told = decision(&report, &twice);
        assert_eq!(told.commands, ["CONFIG SET maxmemory 400mb"]);
        let lines = say::advise(&report, None);
        assert!(lines.contains(&"    CONFIG SET maxmemory 400mb".to_owned()), "{lines:?}");
    }
}
