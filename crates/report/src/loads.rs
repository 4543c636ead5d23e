//! The loads of the tenants: when each began, and the last change of each that was noted.

use crate::shift::LoadShift;
use std::collections::BTreeMap;

/// A load begins with reads after so many seconds without any.
const BEGINS_AFTER_S: u64 = 60;

/// The reads of a tenant in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reads {
    pub(crate) last_unix_s: u64,
    /// The beginning of a load that is not noted yet.
    pub(crate) begins_unix_s: Option<u64>,
}

/// The last change of a load that was noted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NotedLoad {
    /// The time of its event.
    pub(crate) unix_s: u64,
    /// The time of its last step.
    pub(crate) until_unix_s: u64,
    pub(crate) shift: LoadShift,
    /// Whether the event is about other tenants, too.
    pub(crate) is_shared: bool,
}

/// The loads of all tenants.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Loads {
    pub(crate) reads: BTreeMap<String, Reads>,
    pub(crate) noted: BTreeMap<String, NotedLoad>,
}

impl Loads {
    /// Notes that a tenant was read.
    pub(crate) fn read(&mut self, name: &str, unix_s: u64) {
        if !self.reads.contains_key(name) {
            self.reads.insert(name.to_owned(), Reads::default());
        }
        let Some(reads) = self.reads.get_mut(name) else { return };
        if unix_s.saturating_sub(reads.last_unix_s) >= BEGINS_AFTER_S {
            // The point stands at the end of its second.
            reads.begins_unix_s = Some(unix_s - 1);
        }
        reads.last_unix_s = unix_s;
    }

    /// The time of the last change of this load, in Unix seconds; 0 for none.
    pub(crate) fn until(&self, name: &str) -> u64 {
        self.noted.get(name).map_or(0, |noted| noted.until_unix_s)
    }
}
