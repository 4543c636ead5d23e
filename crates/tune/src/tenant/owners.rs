//! The tenant that owns a key: the tenants' rules, as they apply to one client.
//!
//! A client's user, port and database decide most rules once and for all. Each key then needs only
//! a list of prefixes, usually short or empty, and the tenant of the remaining keys. A long list,
//! with a tenant for each customer, is searched by hash: by the hash of a key's first bytes, for
//! each length of a prefix.

use super::{DEFAULT, Match, TenantConfig};
use base::TenantId;
use base::hash::{self, KeyMap};
use std::collections::{HashMap, HashSet};

/// The most prefixes that are compared in turn: a hash takes as long as some comparisons.
const TRIED: usize = 8;

/// The properties of a client that rules may use.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// Its user.
    pub user: Option<&'a str>,
    /// The port of its connection.
    pub listener: u16,
    /// Its selected database.
    pub db: u8,
}

/// The rules that remain for a client's keys in its database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    /// Prefixes in the order of configuration; the first match wins.
    prefixes: Vec<(Vec<u8>, TenantId)>,
    /// For a long list: by length, the positions of the prefixes with a hash.
    by_hash: Vec<(usize, KeyMap<Vec<u32>>)>,
    rest: TenantId,
}

impl Owners {
    /// Reduces the rules for a client. `tenants` are in the order of configuration, with their
    /// numbers.
    pub fn new<'a>(
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
                return Self::of_prefixes(prefixes, id);
            }
            for rule in &tenant.matches {
                if let Match::Prefix(prefix) = rule {
                    prefixes.push((prefix.clone(), id));
                }
            }
        }
        Self::of_prefixes(prefixes, DEFAULT)
    }

    fn of_prefixes(prefixes: Vec<(Vec<u8>, TenantId)>, rest: TenantId) -> Self {
        let mut by_hash: Vec<(usize, KeyMap<Vec<u32>>)> = vec![];
        let many = if prefixes.len() > TRIED { prefixes.as_slice() } else { &[] };
        for ((prefix, _), place) in many.iter().zip(0..) {
            let known = by_hash.iter().position(|(length, _)| *length == prefix.len());
            let at = known.unwrap_or_else(|| {
                by_hash.push((prefix.len(), KeyMap::default()));
                by_hash.len() - 1
            });
            by_hash[at].1.entry(hash::bytes(0, prefix)).or_default().push(place);
        }
        Self { prefixes, by_hash, rest }
    }

    /// The tenant that owns `key`.
    #[inline]
    pub fn of(&self, key: &[u8]) -> TenantId {
        let matches = |(prefix, _): &&(Vec<u8>, TenantId)| key.starts_with(prefix);
        let found = if self.by_hash.is_empty() {
            self.prefixes.iter().find(matches)
        } else {
            let places = self.by_hash.iter().filter_map(|(length, places)| {
                let places = places.get(&hash::bytes(0, key.get(..*length)?))?;
                places.iter().copied().find(|&at| matches(&&self.prefixes[at as usize]))
            });
            places.min().map(|first| &self.prefixes[first as usize])
        };
        found.map_or(self.rest, |(_, tenant)| *tenant)
    }

    /// The tenant of all keys, if there is only one.
    pub fn only(&self) -> Option<TenantId> {
        self.prefixes.iter().all(|(_, tenant)| *tenant == self.rest).then_some(self.rest)
    }

    /// The tenant of the keys that match no prefix.
    pub const fn rest(&self) -> TenantId {
        self.rest
    }

    /// Whether a key may belong to a tenant.
    pub fn has(&self, tenant: TenantId) -> bool {
        self.rest == tenant || self.prefixes.iter().any(|(_, owner)| *owner == tenant)
    }

    /// Every tenant that a key may belong to, each once.
    pub fn all(&self) -> Vec<TenantId> {
        let mut all: Vec<_> = self.prefixes.iter().map(|(_, tenant)| *tenant).collect();
        all.push(self.rest);
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Tells whether any client can still find an item. A change of rules can make items unreachable.
#[derive(Debug)]
pub struct Finders<'a> {
    tenants: Vec<(TenantId, &'a TenantConfig)>,
    /// Tenants whose keys are found by user or port.
    private: HashSet<TenantId>,
    /// Rules by database, for databases looked up so far.
    by_db: HashMap<u8, Owners>,
}

impl<'a> Finders<'a> {
    /// Takes the rules of these tenants.
    pub fn new(tenants: impl Iterator<Item = (TenantId, &'a TenantConfig)>) -> Self {
        let tenants: Vec<_> = tenants.collect();
        let private = tenants.iter().filter(|(_, config)| config.is_private());
        Self { private: private.map(|(id, _)| *id).collect(), tenants, by_db: HashMap::new() }
    }

    /// Whether some client can find this item of `tenant`.
    pub fn find(&mut self, tenant: TenantId, db: u8, key: &[u8]) -> bool {
        let Self { tenants, private, by_db } = self;
        let owners = by_db.entry(db).or_insert_with(|| {
            Owners::new(tenants.iter().copied(), Origin { user: None, listener: 0, db })
        });
        owners.of(key) == tenant || private.contains(&tenant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenant::words;

    fn tenants(lines: &[&str]) -> Vec<TenantConfig> {
        lines.iter().map(|line| TenantConfig::parse(&words(line)).unwrap()).collect()
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

    /// An item that no client can find would only take memory, and be wrong if the rule came back.
    #[test]
    fn a_changed_rule_makes_items_unfindable() {
        let tenants = tenants(&["a match prefix a:", "b match user bob"]);
        let tenants = numbered(&tenants);
        let mut finders = Finders::new(tenants.into_iter());
        assert!(finders.find(1, 0, b"a:1"));
        assert!(!finders.find(0, 0, b"a:1"));
        assert!(!finders.find(1, 0, b"b:1"));
        assert!(finders.find(2, 0, b"a:1"), "bob's key space is his own");
    }

    /// Among thousands of prefixes, of several lengths and one within the other, the first match in
    /// the configuration wins, as in a short list.
    #[test]
    fn many_prefixes_are_met_in_their_order() {
        let lines: Vec<_> = (0..3_000)
            .map(|at| match at {
                700 => "t700 match prefix t9".to_owned(),
                1_500 => "t1500 match prefix t1400:x match prefix t15".to_owned(),
                at => format!("t{at} match prefix t{at}:"),
            })
            .collect();
        let tenants = tenants(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let origin = Origin { user: None, listener: 1, db: 0 };
        let owners = Owners::new(numbered(&tenants).into_iter(), origin);
        let slowly = |key: &[u8]| {
            let found = owners.prefixes.iter().find(|(prefix, _)| key.starts_with(prefix));
            found.map_or(DEFAULT, |(_, tenant)| *tenant)
        };
        for at in 0..3_100 {
            for key in [format!("t{at}:x"), format!("t{at}"), format!("{at}"), String::new()] {
                assert_eq!(owners.of(key.as_bytes()), slowly(key.as_bytes()), "{key}");
            }
        }
        assert_eq!(owners.of(b"t999:1"), 701);
        assert_eq!(owners.of(b"t1400:x"), 1_401, "its own stands first");
    }
}
