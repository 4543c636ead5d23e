//! The settings that a finding proposes, as CONFIG SET takes them.

use super::kind::{Finding, Remedy};
use crate::{Report, Tenant};

/// The settings that carry out the action of a finding, each whole: a bound stands in the line of
/// its tenant. `None` where a person must decide or act elsewhere.
pub fn remedy(report: &Report, finding: &Finding) -> Option<Remedy> {
    let is_bound = |(name, _): &(String, String)| matches!(name.as_str(), "min" | "max");
    if !finding.sets.iter().any(is_bound) {
        return Some(finding.sets.clone()).filter(|sets| !sets.is_empty());
    }
    let line = report.tenant(finding.tenant.as_deref()?)?.line.clone()?;
    let with = |line: String, (word, value): &(String, String)| with_word(&line, word, value);
    Some(vec![("tenant".to_owned(), finding.sets.iter().fold(line, with))])
}

/// The command that gives a tenant a bound (`min` or `max`); `None` if it has no line.
pub fn bound(tenant: &Tenant, word: &str, value: &str) -> Option<String> {
    let line = with_word(tenant.line.as_deref()?, word, value);
    Some(command(&vec![("tenant".to_owned(), line)]))
}

/// The settings as a command to type.
pub fn command(remedy: &Remedy) -> String {
    let pair = |(name, value): &(String, String)| {
        let is_plain = value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b));
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
        if is_plain { format!("{name} {value}") } else { format!("{name} \"{escaped}\"") }
    };
    let pairs: Vec<_> = remedy.iter().map(pair).collect();
    format!("CONFIG SET {}", pairs.join(" "))
}

/// A tenant's line with this word set to `value`.
fn with_word(line: &str, word: &str, value: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    match words.iter().rposition(|one| *one == word).filter(|at| at + 1 < words.len()) {
        // The first word is the tenant's name.
        Some(at) if at > 0 => words[at + 1] = value,
        _ => words.extend([word, value]),
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed() {
        let line = Some("jobs match prefix jobs: min 1mb".to_owned());
        let tenant = Tenant { name: "jobs".into(), line, ..Tenant::default() };
        let report = Report { tenants: vec![tenant], ..Report::default() };
        let typed = |sets: &[(&str, &str)]| {
            let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
            let (sets, tenant) = (sets.iter().map(owned).collect(), Some("jobs".to_owned()));
            let finding = Finding { tenant, sets, ..Finding::default() };
            remedy(&report, &finding).map(|remedy| command(&remedy))
        };
        assert_eq!(
            typed(&[("maxmemory-policy", "auto"), ("recipe", "auto")]).as_deref(),
            Some("CONFIG SET maxmemory-policy auto recipe auto")
        );
        assert_eq!(
            typed(&[("min", "43mb")]).as_deref(),
            Some("CONFIG SET tenant \"jobs match prefix jobs: min 43mb\"")
        );
        assert_eq!(
            typed(&[("max", "9mb")]).as_deref(),
            Some("CONFIG SET tenant \"jobs match prefix jobs: min 1mb max 9mb\"")
        );
        assert_eq!(typed(&[]), None);
    }
}
