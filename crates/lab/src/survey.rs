//! What a first look at traces tells: who asks, how much they touch, for how long, and what misses
//! cost.
//!
//! Several traces run side by side: each is stretched to the span of the longest, for their clocks
//! have nothing to do with each other, and tenants that do not meet do not compete.

use crate::requests::{Footprint, Requests, duration};
use anyhow::{Result, ensure};
use base::{Access, Bytes, Micros, Op};
use load::open::Options;
use std::collections::BTreeMap;

/// The cost of a miss where neither the trace nor the command line tells.
const PENALTY_DEFAULT: Micros = Micros::from_millis(1);

/// The tenants of some traces: one a trace, or the clients of a single one.
#[derive(Debug)]
pub(crate) struct Survey {
    /// Their names.
    pub(crate) names: Vec<String>,
    /// The objects of each, from a sample of the keys.
    pub(crate) footprints: Vec<Footprint>,
    /// Reads of each.
    pub(crate) reads: Vec<u64>,
    /// Requests of all.
    pub(crate) requests: u64,
    /// When the last request comes, of the longest trace.
    pub(crate) end: Micros,
    /// How much slower each trace must run to span as much time as the longest.
    pub(crate) stretch: Vec<f64>,
    /// Whether any request says what its miss costs.
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
        ensure!(!ends.is_empty(), "the traces hold no request");
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

    /// What a miss costs each tenant by what was `said`: of one (`web=2ms`) or of all (`0.5ms`).
    /// Where nothing was, the trace tells.
    ///
    /// # Errors
    /// A tenant that is not there, or what is no time.
    pub(crate) fn penalties(&self, said: &[String]) -> Result<Penalties> {
        let mut by_name = BTreeMap::new();
        for text in said {
            let (name, value) = text.rsplit_once('=').unwrap_or(("", text));
            ensure!(
                name.is_empty() || self.names.iter().any(|known| known == name),
                "there is no tenant '{name}': the traces have {}",
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

/// What a miss of each tenant costs, where it is not the trace that tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Penalties(Vec<Option<Micros>>);

impl Penalties {
    /// The request with what its miss costs.
    pub(crate) fn of(&self, access: &Access) -> Access {
        let said = self.0.get(usize::from(access.tenant)).copied().flatten();
        Access { penalty: said.unwrap_or(access.penalty), ..*access }
    }
}
