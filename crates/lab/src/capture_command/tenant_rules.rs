//! Rules that assign the keys of another server to tenants.

use base::TenantId;
use std::collections::HashMap;
use tune::tenant::{DEFAULT, DEFAULT_NAME, Match, Origin, Owners, TenantConfig};
use wire::resp::split_line;

/// Finds the tenant that owns a key, by lines of configuration.
#[derive(Debug)]
pub(crate) struct TenantRules {
    tenants: Vec<(TenantId, TenantConfig)>,
    listener: u16,
    by_db: HashMap<u8, Owners>,
}

impl TenantRules {
    /// Reads the words behind `tenant`, a line for each tenant. All clients are taken to use the
    /// port `listener`.
    ///
    /// # Errors
    /// A sentence with the form that is expected.
    pub(crate) fn parse(lines: &[String], listener: u16) -> Result<Self, String> {
        let mut tenants: Vec<(TenantId, TenantConfig)> = vec![];
        for (line, number) in lines.iter().zip(1..) {
            let words = split_line(line.as_bytes());
            let words = words.ok_or_else(|| format!("'{line}' has an unclosed quote"))?;
            let text = |word: Vec<u8>| String::from_utf8_lossy(&word).into_owned();
            let words: Vec<String> = words.into_iter().map(text).collect();
            let tenant = TenantConfig::parse(&words)?;
            if tenant.matches.iter().any(|rule| matches!(rule, Match::User(_))) {
                return Err(format!(
                    "tenant {}: a capture does not show the user of a request: use match prefix, \
                     db or listener instead",
                    tenant.name
                ));
            }
            if tenants.iter().any(|(_, known)| known.name == tenant.name) {
                return Err(format!(
                    "tenant {} has two lines: put all its matches into one",
                    tenant.name
                ));
            }
            let number = if tenant.name == DEFAULT_NAME { DEFAULT } else { number };
            tenants.push((number, tenant));
        }
        Ok(Self { tenants, listener, by_db: HashMap::new() })
    }

    /// The name of the tenant that owns `key` in a database.
    pub(crate) fn owner(&mut self, db: u32, key: &[u8]) -> &str {
        let Self { tenants, listener, by_db } = self;
        let db = u8::try_from(db).unwrap_or(u8::MAX);
        let owners = by_db.entry(db).or_insert_with(|| {
            let numbered = tenants.iter().map(|(number, tenant)| (*number, tenant));
            Owners::new(numbered, Origin { user: None, listener: *listener, db })
        });
        let owner = owners.of(key);
        let found = tenants.iter().find(|(number, _)| *number == owner);
        found.map_or(DEFAULT_NAME, |(_, tenant)| &tenant.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(lines: &[&str]) -> Result<TenantRules, String> {
        TenantRules::parse(&lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>(), 7_001)
    }

    #[test]
    fn keys_have_the_owners_that_the_server_gives_them() {
        let mut rules = rules(&[
            "web match prefix web: min 1mb",
            "'jobs' match db 3",
            "default weight 2",
            "late match prefix web:x",
        ])
        .unwrap();
        for (db, key, owner) in [
            (0, "web:x", "web"),
            (3, "web:1", "web"),
            (3, "other", "jobs"),
            (0, "other", "default"),
            (300, "other", "default"),
        ] {
            assert_eq!(rules.owner(db, key.as_bytes()), owner, "{db} {key}");
        }
        let mut port = self::rules(&["all match listener 7001"]).unwrap();
        assert_eq!(port.owner(0, b"x"), "all");
    }

    #[test]
    fn what_cannot_be_told_is_refused() {
        for (line, fix) in [
            ("web match user bob", "prefix, db or listener"),
            ("web match prefix 'a", "unclosed quote"),
            ("web", "matches nothing"),
        ] {
            let error = rules(&[line]).unwrap_err();
            assert!(error.contains(fix), "{error}");
        }
        assert!(rules(&["a match db 1", "a match db 2"]).unwrap_err().contains("two lines"));
    }
}
