//! Survey of traces before the work: tenants, bytes touched, span of time, and the cost of misses.
//!
//! Several traces run side by side. Their clocks are unrelated, and tenants that do not overlap in
//! time do not compete. So each trace is stretched to the span of the longest.

use crate::requests::{Footprint, Requests, duration};
use anyhow::{Result, ensure};
use base::{Access, Bytes, Micros, Op};
use load::open::Options;
use std::collections::BTreeMap;

/// The cost of a miss where neither the trace nor the command line states one.
const PENALTY_DEFAULT: Micros = Micros::from_millis(1);

/// The tenants of the traces: one for each trace, or the clients of a single trace.
#[derive(Debug)]
pub(crate) struct Survey {
    /// Name of each tenant.
    pub(crate) names: Vec<String>,
    /// Footprint of each tenant, from a sample of the keys.
    pub(crate) footprints: Vec<Footprint>,
    /// Reads of each tenant.
    pub(crate) reads: Vec<u64>,
    /// Requests of all tenants.
    pub(crate) requests: u64,
    /// Time of the last request, in the longest trace.
    pub(crate) end: Micros,
    /// Factor by which each trace is slowed down to span as much time as the longest.
    pub(crate) stretch: Vec<f64>,
    /// Whether any request states the cost of its miss.
    has_penalties: bool,
}

impl Survey {
    /// Reads the traces once.
    ///
    /// # Errors
    /// A trace that cannot be read, or traces without a request.
    pub(crate) fn of(traces: &[String], read: &Options) -> Result<Self> {
        let mut requests = Requests::open(traces, read, &[])?;
        let mut footprints: Vec<Footprint> = vec![];
        let mut reads: Vec<u64> = vec![];
        let mut ends: Vec<Micros> = vec![];
        let (mut has_penalties, mut count) = (false, 0);
        while let Some(access) = requests.next()? {
            let at = usize::from(access.tenant);
            if footprints.len() <= at {
                footprints.resize_with(at + 1, Footprint::default);
                reads.resize(at + 1, 0);
                ends.resize(at + 1, Micros(1));
            }
            footprints[at].see(&access);
            reads[at] += u64::from(access.op == Op::Get);
            ends[at] = ends[at].max(access.time);
            has_penalties |= access.penalty > Micros(0);
            count += 1;
        }
        ensure!(!ends.is_empty(), "the traces have no requests");
        let end = ends.iter().max().copied().unwrap_or_default();
        let several = traces.len() > 1;
        let stretch = ends.iter().map(|own| end.as_f64() / own.as_f64());
        Ok(Self {
            names: requests.names,
            footprints,
            reads,
            requests: count,
            end,
            stretch: if several { stretch.collect() } else { vec![] },
            has_penalties,
        })
    }

    /// Bytes of all objects of all tenants.
    pub(crate) fn footprint(&self) -> Bytes {
        self.footprints.iter().map(Footprint::bytes).sum()
    }

    /// Miss cost of each tenant, as `said` on the command line: for one tenant (`web=2ms`) or for
    /// all (`0.5ms`). Without either, the trace states it.
    ///
    /// # Errors
    /// A tenant that does not exist, or a value that is not a time.
    pub(crate) fn penalties(&self, said: &[String]) -> Result<Penalties> {
        let mut by_name = BTreeMap::new();
        for text in said {
            let (name, value) = text.rsplit_once('=').unwrap_or(("", text));
            ensure!(
                name.is_empty() || self.names.iter().any(|known| known == name),
                "there is no tenant '{name}': the tenants of the traces are {}",
                self.names.join(", ")
            );
            by_name.insert(name, duration(value)?);
        }
        let default = (!self.has_penalties).then_some(PENALTY_DEFAULT);
        let of =
            |name: &String| by_name.get(name.as_str()).or(by_name.get("")).copied().or(default);
        Ok(Penalties(self.names.iter().map(of).collect()))
    }
}

/// Miss cost of each tenant; `None` where the trace states it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Penalties(Vec<Option<Micros>>);

impl Penalties {
    /// The request with the cost of its miss filled in.
    pub(crate) fn of(&self, access: &Access) -> Access {
        let said = self.0.get(usize::from(access.tenant)).copied().flatten();
        Access { penalty: said.unwrap_or(access.penalty), ..*access }
    }
}
