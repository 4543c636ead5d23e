//! A census: counts the keys of each tenant in a database that several share, by a scan.
//!
//! The first census, after loading, finds the keys that exist already, and is quick. Later ones
//! follow one another slowly. During a census keys are born and die. So its result replaces the
//! running counts only where the two differ by more than these changes explain.

use crate::scan::Scan;
use base::TenantId;
use std::time::{Duration, Instant};

/// Time for the first census in each tick of the timer, and for later ones in each tenth of a
/// second.
const FIRST: Duration = Duration::from_micros(400);
const LATER: Duration = Duration::from_micros(50);

/// A census under way.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// The database being scanned, and the scan.
    scan: Option<(u16, Scan)>,
    /// Keys found, by tenant.
    found: Vec<i64>,
    /// Births and deaths counted before it began, by tenant.
    changes: Vec<u64>,
    /// Databases whose first census is done.
    done: Vec<u16>,
}

/// The result of a census of a database.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) db: u16,
    /// Keys by tenant, with the births and deaths counted before the census.
    pub(crate) tenants: Vec<(TenantId, i64, u64)>,
    pub(crate) is_first: bool,
}

impl Census {
    /// A census that needs no first scan of these databases: they are empty, so every birth in them
    /// is counted.
    pub(crate) fn with_empty(dbs: Vec<u16>) -> Self {
        Self { done: dbs, ..Self::default() }
    }

    /// Whether the census of a database is the first.
    pub(crate) fn is_first(&self) -> bool {
        self.scan.as_ref().is_some_and(|(db, _)| !self.done.contains(db))
    }

    /// Whether each of these databases has had a census.
    pub(crate) fn knows(&self, mut dbs: impl Iterator<Item = u16>) -> bool {
        dbs.all(|db| self.done.contains(&db))
    }

    /// Continues for a limited time with one of `dbs`. `step` scans a little, and returns whether
    /// anything is left. `changes` are the births and deaths of each tenant so far.
    pub(crate) fn go_on(
        &mut self,
        dbs: &[u16],
        changes: impl Fn() -> Vec<u64>,
        mut step: impl FnMut(u16, &Scan, &mut Vec<i64>, bool) -> bool,
    ) -> Option<Counted> {
        if self.scan.as_ref().is_none_or(|(db, _)| !dbs.contains(db)) {
            let last = self.scan.as_ref().map(|(db, _)| *db);
            let next = dbs.iter().find(|&&db| !self.done.contains(&db));
            let next = next.or_else(|| dbs.iter().find(|&&db| Some(db) != last)).or(dbs.first())?;
            self.scan = Some((*next, Scan::new()));
            self.changes = changes();
            self.found = vec![0; self.changes.len()];
        }
        let is_first = self.is_first();
        let (db, scan) = self.scan.as_ref()?;
        let (started, most) = (Instant::now(), if is_first { FIRST } else { LATER });
        while started.elapsed() < most {
            if step(*db, scan, &mut self.found, is_first) {
                continue;
            }
            let db = *db;
            self.scan = None;
            self.done.push(db);
            self.done.sort_unstable();
            self.done.dedup();
            let tenants = self.found.drain(..).zip(self.changes.drain(..)).zip(0..);
            let tenants = tenants.map(|((found, changes), id)| (id, found, changes)).collect();
            return Some(Counted { db, tenants, is_first });
        }
        None
    }
}
