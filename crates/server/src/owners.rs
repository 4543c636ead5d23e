//! The tenant that owns a key: the tenants' rules, as one client meets them.
//!
//! Of the rules a client's user, port and database decide most once and for all. What remains for
//! each key is a short list of prefixes, usually empty, and who has the rest.

use crate::config::{self, DEFAULT, Match, TenantConfig};
use base::TenantId;

/// Facts of a client that the rules may look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    pub(crate) user: Option<&'a str>,
    pub(crate) listener: u16,
    pub(crate) db: u8,
}

/// The rules left for a client's keys in its database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owners {
    /// Tried in order.
    prefixes: Vec<(Vec<u8>, TenantId)>,
    rest: TenantId,
}

impl Owners {
    /// Works the rules out for a client. `tenants` come in the order of configuration, with their
    /// numbers.
    pub(crate) fn new<'a>(
        tenants: impl Iterator<Item = (TenantId, &'a TenantConfig)>,
        origin: Origin<'_>,
    ) -> Self {
        let mut prefixes = vec![];
        for (id, tenant) in tenants {
            let always = tenant.matches.iter().any(|rule| match rule {
                Match::Db(db) => *db == u32::from(origin.db),
                Match::Prefix(prefix) => prefix.is_empty(),
                Match::User(user) => origin.user == Some(user),
                Match::Listener(port) => *port == origin.listener,
            });
            if always {
                return Self { prefixes, rest: id };
            }
            for rule in &tenant.matches {
                if let Match::Prefix(prefix) = rule {
                    prefixes.push((prefix.clone(), id));
                }
            }
        }
        Self { prefixes, rest: DEFAULT }
    }

    /// The tenant that owns `key`.
    #[inline]
    pub(crate) fn of(&self, key: &[u8]) -> TenantId {
        for (prefix, tenant) in &self.prefixes {
            if key.starts_with(prefix) {
                return *tenant;
            }
        }
        self.rest
    }

    /// The one tenant of all keys, if there is but one.
    pub(crate) fn only(&self) -> Option<TenantId> {
        self.prefixes.iter().all(|(_, tenant)| *tenant == self.rest).then_some(self.rest)
    }

    /// Every tenant a key may belong to, each once.
    pub(crate) fn all(&self) -> Vec<TenantId> {
        let mut all: Vec<_> = self.prefixes.iter().map(|(_, tenant)| *tenant).collect();
        all.push(self.rest);
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Whether an item that `tenant` holds may still be found by some client. Items become unfindable
/// when the rules change.
pub(crate) fn is_findable(
    tenants: &[(TenantId, &config::TenantConfig)],
    tenant: TenantId,
    db: u8,
    key: &[u8],
) -> bool {
    let private = |known: &&(TenantId, &TenantConfig)| known.0 == tenant && known.1.is_private();
    if tenants.iter().any(|known| private(&known)) {
        return true;
    }
    let origin = Origin { user: None, listener: 0, db };
    Owners::new(tenants.iter().copied(), origin).of(key) == tenant
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::words;

    fn tenants(lines: &[&str]) -> Vec<TenantConfig> {
        lines.iter().map(|line| TenantConfig::parse(&words(line).unwrap()).unwrap()).collect()
    }

    fn numbered(tenants: &[TenantConfig]) -> Vec<(TenantId, &TenantConfig)> {
        (1..).zip(tenants).collect()
    }

    #[test]
    fn the_first_rule_that_matches_wins() {
        let tenants = tenants(&[
            "a match prefix a: match db 3",
            "b match user bob",
            "c match listener 7001",
            "d match prefix a match prefix d:",
        ]);
        let owner = |user, listener, db, key: &str| {
            let origin = Origin { user, listener, db };
            Owners::new(numbered(&tenants).into_iter(), origin).of(key.as_bytes())
        };
        assert_eq!(owner(None, 6379, 0, "x"), DEFAULT);
        assert_eq!(owner(None, 6379, 0, "a:1"), 1);
        assert_eq!(owner(None, 6379, 3, "x"), 1);
        assert_eq!(owner(Some("bob"), 6379, 0, "x"), 2);
        assert_eq!(owner(Some("bob"), 6379, 0, "a:1"), 1, "a's prefix stands before bob");
        assert_eq!(owner(Some("bob"), 7001, 0, "d:"), 2, "bob stands before the port");
        assert_eq!(owner(None, 7001, 0, "d:"), 3);
        assert_eq!(owner(None, 6379, 0, "abc"), 4);
        assert_eq!(owner(None, 6379, 0, "d:1"), 4);
    }

    #[test]
    fn without_prefixes_there_is_one_owner() {
        let tenants = tenants(&["a match db 3", "b match prefix b:"]);
        let owners = |db| {
            let origin = Origin { user: None, listener: 1, db };
            Owners::new(numbered(&tenants).into_iter(), origin)
        };
        assert_eq!(owners(3).only(), Some(1));
        assert_eq!(owners(0).only(), None);
        assert_eq!(owners(0).all(), [0, 2]);
    }

    /// An item that nobody can find would be bytes kept for nobody, and wrong if the rule returned.
    #[test]
    fn a_changed_rule_makes_items_unfindable() {
        let tenants = tenants(&["a match prefix a:", "b match user bob"]);
        let tenants = numbered(&tenants);
        assert!(is_findable(&tenants, 1, 0, b"a:1"));
        assert!(!is_findable(&tenants, 0, 0, b"a:1"));
        assert!(!is_findable(&tenants, 1, 0, b"b:1"));
        assert!(is_findable(&tenants, 2, 0, b"a:1"), "bob's key space is his own");
    }
}
