//! Several traces side by side, each a tenant; or a single one, divided by its clients.
//!
//! Traces are merged in the order of time. Their clocks are unrelated, and tenants that do not
//! overlap in time do not compete. So each trace can be stretched to the span of the longest.

use anyhow::{Context, ensure};
use base::{Access, Bytes, Filter, Micros, Op, Size, TenantId};
use load::open::{Options, open};
use std::collections::HashMap;
use trace::Source;
use trace::join::Merge;

/// Maximum number of tenants: nobody can read a plan for more.
const TENANTS_MAX: usize = 1_000;

/// Maximum number of keys whose sizes are kept to estimate a footprint.
const KEYS_MAX: usize = 1 << 14;

/// Traces merged by time. The tenant of an access is its index in `names`.
pub(crate) struct Requests {
    source: Merge,
    single: bool,
    /// Names of the tenants. With a single trace, the list grows as clients appear.
    pub(crate) names: Vec<String>,
    clients: HashMap<TenantId, TenantId>,
}

impl Requests {
    /// Opens the traces. `stretch` holds the factor by which each is slowed down.
    pub(crate) fn open(traces: &[String], read: &Options, stretch: &[f64]) -> anyhow::Result<Self> {
        let sources: Vec<_> = traces
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let source = open(name, read)?;
                let stretch = stretch.get(at).copied().unwrap_or(1.0);
                let tenant = (traces.len() > 1).then_some(at as TenantId);
                Ok(Box::new(Stretched { source, tenant, stretch }) as Box<dyn Source>)
            })
            .collect::<anyhow::Result<_>>()?;
        let single = traces.len() == 1;
        let names = if single { vec![] } else { stems(traces) };
        Ok(Self { source: Merge::new(sources, None), single, names, clients: HashMap::new() })
    }

    /// The next request.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<Access>> {
        let Some(access) = self.source.next() else { return Ok(None) };
        let mut access = access?;
        if self.single {
            let known = self.clients.len() as TenantId;
            let number = *self.clients.entry(access.tenant).or_insert(known);
            if number == known {
                ensure!(
                    self.names.len() < TENANTS_MAX,
                    "the trace has more than {TENANTS_MAX} clients: give each tenant a trace of \
                     its own"
                );
                let word = self.source.tenant_name(access.tenant);
                self.names.push(word.map_or_else(|| access.tenant.to_string(), str::to_owned));
            }
            access.tenant = number;
        }
        // A key that occurs in two traces is two objects.
        access.key = base::hash::mix(access.key ^ u64::from(access.tenant) << 32);
        Ok(Some(access))
    }
}

/// A source with stretched times. Where there are several sources, each is one tenant.
struct Stretched {
    source: Box<dyn Source>,
    tenant: Option<TenantId>,
    stretch: f64,
}

impl Source for Stretched {
    fn next(&mut self) -> Option<Result<Access, trace::Error>> {
        let access = self.source.next()?;
        Some(access.map(|access| Access {
            time: Micros((access.time.as_f64() * self.stretch) as u64),
            tenant: self.tenant.unwrap_or(access.tenant),
            ..access
        }))
    }

    /// Always empty: a plan needs no text of keys.
    fn key(&self) -> &[u8] {
        &[]
    }

    fn skipped(&self) -> u64 {
        self.source.skipped()
    }

    fn lost(&self) -> u64 {
        self.source.lost()
    }

    fn tenant_name(&self, tenant: TenantId) -> Option<&str> {
        self.source.tenant_name(tenant)
    }
}

/// Names of tenants: file names without folder and extensions, or names of generators. A repeated
/// name gets a number.
fn stems(traces: &[String]) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for trace in traces {
        let file = trace.rsplit('/').next().unwrap_or(trace);
        let stem = match trace.strip_prefix("synth:") {
            Some(generator) => generator.split(':').next().unwrap_or(generator),
            None => file.split('.').next().unwrap_or(file),
        };
        let mut name = stem.to_owned();
        let mut count = 1;
        while names.contains(&name) {
            count += 1;
            name = format!("{stem}#{count}");
        }
        names.push(name);
    }
    names
}

/// Estimates the bytes of all objects from a sample of at most `KEYS_MAX` keys.
#[derive(Debug)]
pub(crate) struct Footprint {
    filter: Filter,
    sizes: HashMap<u64, Size>,
}

impl Default for Footprint {
    fn default() -> Self {
        Self { filter: Filter::ALL, sizes: HashMap::new() }
    }
}

impl Footprint {
    pub(crate) fn see(&mut self, access: &Access) {
        if access.op == Op::Delete || !self.filter.keeps(access.key) {
            return;
        }
        let largest = self.sizes.entry(access.key).or_default();
        *largest = access.size.max(*largest);
        while self.sizes.len() > KEYS_MAX {
            self.filter = Filter::below(self.filter.threshold() / 2);
            let filter = self.filter;
            self.sizes.retain(|key, _| filter.keeps(*key));
        }
    }

    /// Mean size of an object.
    pub(crate) fn object(&self) -> Bytes {
        let sum: u64 = self.sizes.values().map(|&size| u64::from(size)).sum();
        Bytes(sum.div_ceil(self.sizes.len().max(1) as u64))
    }

    pub(crate) fn bytes(&self) -> Bytes {
        let sum: u64 = self.sizes.values().map(|&size| u64::from(size)).sum();
        Bytes((sum as f64 / self.filter.rate().max(f64::MIN_POSITIVE)) as u64)
    }
}

/// Reads a time such as 200us, 0.5ms or 2s.
pub(crate) fn duration(text: &str) -> anyhow::Result<Micros> {
    let units = [("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)];
    let found = units.iter().find_map(|(unit, scale)| {
        let number = text.trim().strip_suffix(unit)?.trim().parse::<f64>().ok()?;
        (number.is_finite() && number >= 0.0).then_some(Micros((number * scale) as u64))
    });
    found.with_context(|| format!("'{text}' is not a time: write 200us, 0.5ms or 2s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_are_named_after_files() {
        let names = ["/a/web.csv.zst", "b/web.bin", "cart", "synth:zipf:size=const/9"];
        assert_eq!(stems(&names.map(str::to_owned)), ["web", "web#2", "cart", "zipf"]);
    }
}
