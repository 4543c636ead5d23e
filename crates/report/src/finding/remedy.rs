//! The settings that a finding proposes, as CONFIG SET takes them.

use super::Finding;
use crate::Report;

/// Settings to change: names and values.
pub type Remedy = Vec<(String, String)>;

/// The settings that carry out the proposal of a finding; `None` where a person must decide or act
/// elsewhere.
pub fn remedy(report: &Report, finding: &Finding) -> Option<Remedy> {
    if let Some(words) = finding.todo.strip_prefix("CONFIG SET ") {
        let words: Vec<&str> = words.split(' ').collect();
        let is_whole = words.len().is_multiple_of(2) && !finding.todo.ends_with('.');
        let pairs = words.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned()));
        return is_whole.then(|| pairs.collect());
    }
    // Findings about a floor or a ceiling quote the words that belong into the tenant's line.
    let quoted = finding.todo.split('`').nth(1)?;
    let (word, value) = quoted.split_once(' ')?;
    let is_bound = matches!(word, "min" | "max") && value.starts_with(|c: char| c.is_ascii_digit());
    let line = report.tenant(finding.tenant.as_deref()?)?.line.as_deref()?;
    is_bound.then(|| vec![("tenant".to_owned(), with_word(line, word, value))])
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
    use crate::Tenant;

    #[test]
    fn a_command_can_be_typed() {
        let line = Some("jobs match prefix jobs: min 1mb".to_owned());
        let tenant = Tenant { name: "jobs".into(), line, ..Tenant::default() };
        let report = Report { tenants: vec![tenant], ..Report::default() };
        let typed = |todo: &str| {
            let (todo, tenant) = (todo.to_owned(), Some("jobs".to_owned()));
            let finding = Finding { tenant, todo, ..Finding::default() };
            remedy(&report, &finding).map(|remedy| command(&remedy))
        };
        assert_eq!(
            typed("CONFIG SET maxmemory-policy auto recipe auto").as_deref(),
            Some("CONFIG SET maxmemory-policy auto recipe auto")
        );
        assert_eq!(
            typed("`min 43mb` in its tenant line brings its miss ratio back to 5 %.").as_deref(),
            Some("CONFIG SET tenant \"jobs match prefix jobs: min 43mb\"")
        );
        assert_eq!(
            typed("`max 9mb` limits its memory.").as_deref(),
            Some("CONFIG SET tenant \"jobs match prefix jobs: min 1mb max 9mb\"")
        );
        for todo in ["CONFIG SET maxmemory SIZE, such as 1gb.", "A lower `min` helps.", "Wait."] {
            assert_eq!(typed(todo), None);
        }
    }
}
