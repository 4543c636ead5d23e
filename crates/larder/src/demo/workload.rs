//! The workload of the demo: five tenants that resemble a mixed production cache, or real traces.
//!
//! The built-in tenants share a cache as the services of one site do. Published studies give the
//! shape: popularity near Zipf's law with exponents from 0.7 to 1.1; log-normal values from tens of
//! bytes to tens of kilobytes; far more reads than writes; rates that differ more than sizes do;
//! and some tenants whose requests do not suit any LRU [1, 2, 3].
//!
//! | tenant | share | popularity | values, median | a miss costs | |
//! |---|--:|---|--:|--:|---|
//! | session | 30 % | Zipf 0.9, 20 000 keys | 300 B | 0.4 ms | 15 % writes |
//! | search | 20 % | Zipf 0.7, 15 000 keys | 700 B | 2 ms | flat: memory pays slowly |
//! | report | 15 % | Zipf 0.8, 6 000 keys | 1.2 KB | 0.1 ms | 40 % in scans of keys used once |
//! | feed | 25 % | Zipf 1.0, 12 000 keys | 2 KB | 5 ms | |
//! | image | 10 % | Zipf 0.8, 4 000 keys | 9 KB | 1 ms | most of the bytes |
//!
//! The cost of a miss does not follow the size of a value (the rank correlation of the medians is
//! 0.3: large ones cost a little more), nor the rate. A tuner that only favoured small items would
//! gain little. The memory is four tenths of all bytes ever requested, so a plain cache already
//! answers about seven of ten reads.
//!
//! Requests of all tenants follow each other in one fixed order. Each tenant is spread evenly over
//! the run, some requests of one tenant at a time. The order is the same for every recipe.
//!
//! [1] Atikoglu et al. Workload analysis of a large-scale key-value store. SIGMETRICS '12.
//! [2] Berg et al. The CacheLib caching engine. OSDI '20.
//! [3] Yang, Yue, Rashmi. A large scale analysis of hundreds of in-memory cache clusters at
//! Twitter. OSDI '20.

use anyhow::{Context, bail};
use base::Bytes;
use load::open;
use load::{Backend, Database, Distribution, Lane, Merge, Order, Origin, Owner, Values};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use trace::{Op, Source};

/// Share of all bytes ever requested that fits the memory of the built-in workload.
const MEMORY_BUILT_IN: f64 = 0.4;
/// Share of all bytes ever requested that fits the memory where the user names traces.
const MEMORY_TRACES: f64 = 1.0 / 3.0;

/// The penalties of traces, in the order of their names on the command line; the fifth trace starts
/// again with the first.
const PENALTIES_US: [u64; 4] = [200, 400, 1_000, 2_000];

/// Name, share of the requests in per cent, microseconds that a miss costs, generator.
const BUILT_IN: [(&str, u64, u64, &str); 5] = [
    ("session", 30, 400, "zipf:keys=20000:skew=0.9:size=lognormal/300/0.6:set=0.15"),
    ("search", 20, 2_000, "zipf:keys=15000:skew=0.7:size=lognormal/700/0.8"),
    ("report", 15, 100, "scan:keys=6000:skew=0.8:share=0.4:length=1000:size=lognormal/1200/0.5"),
    ("feed", 25, 5_000, "zipf:keys=12000:skew=1.0:size=lognormal/2000/0.7"),
    ("image", 10, 1_000, "zipf:keys=4000:skew=0.8:size=lognormal/9000/0.9"),
];

/// One tenant of the demo.
#[derive(Clone, Debug)]
pub(super) struct DemoTenant {
    /// The name, which is also the prefix of the keys.
    pub(super) name: String,
    /// Time that each miss takes in addition to the read.
    pub(super) penalty: Duration,
    /// The trace of the tenant's requests: a file, or a generator.
    trace: String,
    /// Number of requests of the tenant.
    requests: u64,
}

/// The tenants and requests of a run.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    /// The tenants, in order.
    pub(super) tenants: Vec<DemoTenant>,
    /// Number of requests of all tenants.
    pub(super) requests: u64,
    /// Bytes of all requested objects, as the store charges them.
    pub(super) footprint: Bytes,
    /// Share of the footprint that the memory holds by default.
    pub(super) memory_share: f64,
}

impl Workload {
    /// Makes the built-in tenants with about `requests` requests in all.
    pub(super) fn built_in(requests: u64, seed: u64) -> Self {
        let tenants =
            BUILT_IN.iter().zip(0..).map(|(&(name, share, penalty_us, generator), at)| {
                let requests = (requests * share / 100).max(1);
                // Seeds of the tenants lie far apart, so that the seeds of two runs never coincide.
                let seed = base::hash::mix(seed ^ base::hash::mix(at)) >> 16;
                DemoTenant {
                    name: name.to_owned(),
                    penalty: Duration::from_micros(penalty_us),
                    trace: format!("synth:{generator}:requests={requests}:seed={seed}"),
                    requests,
                }
            });
        Self::of(tenants.collect(), MEMORY_BUILT_IN)
    }

    /// Makes one tenant for each trace, with `requests` requests in all, or fewer where the traces
    /// end.
    pub(super) fn traces(traces: &[String], requests: u64) -> Self {
        let each = (requests / traces.len() as u64).max(1);
        let tenants = traces.iter().enumerate().map(|(at, trace)| DemoTenant {
            name: name_of(trace, traces, at),
            penalty: Duration::from_micros(PENALTIES_US[at % PENALTIES_US.len()]),
            trace: trace.clone(),
            requests: each,
        });
        Self::of(tenants.collect(), MEMORY_TRACES)
    }

    fn of(tenants: Vec<DemoTenant>, memory_share: f64) -> Self {
        Self { tenants, requests: 0, footprint: Bytes(0), memory_share }
    }

    /// Reads all requests once: counts them, adds up the bytes of their objects, and puts every
    /// object into the file of its tenant.
    pub(super) fn prepare(&mut self, objects: &Values) -> anyhow::Result<()> {
        for tenant in &mut self.tenants {
            let origin = Origin { trace: tenant.trace.clone(), requests: tenant.requests };
            let mut filler = objects.filler(&tenant.name, &origin)?;
            let mut source = tenant.source()?;
            let (mut requests, mut sizes) = (0, HashMap::new());
            while let Some(access) = source.next() {
                let access = access.with_context(|| format!("trace '{}'", tenant.trace))?;
                requests += 1;
                if access.op == Op::Delete {
                    continue;
                }
                filler.add(source.key(), access.value_size)?;
                let key = tenant.prefix().len() + source.key().len();
                let size = store::charge(key, access.value_size as usize, access.ttl.0 > 0);
                let largest = sizes.entry(access.key).or_insert(0);
                *largest = size.max(*largest);
            }
            filler.finish()?;
            if requests == 0 {
                bail!("trace '{}' has no requests: name another", tenant.trace);
            }
            tenant.requests = requests;
            self.requests += requests;
            self.footprint += Bytes(sizes.values().sum());
        }
        Ok(())
    }

    /// The requests, from the first, in the same order every time, with `together` requests of a
    /// tenant in a row.
    pub(super) fn order(&self, together: u64) -> anyhow::Result<Order> {
        let lanes = self.tenants.iter().enumerate().map(|(at, tenant)| {
            let requests = Some(tenant.requests);
            Ok(Lane { source: tenant.source()?, requests, owner: Owner::Tenant(at) })
        });
        let lanes = lanes.collect::<anyhow::Result<_>>()?;
        Ok(Order::new(lanes, Merge::InProportion(together)))
    }
}

impl DemoTenant {
    /// The prefix of the tenant's keys.
    pub(super) fn prefix(&self) -> String {
        format!("{}:", self.name)
    }

    /// Backend of the tenant's misses: a read of the file, and a delay for the distance of the
    /// database.
    pub(super) fn backend(&self, objects: &Arc<Values>) -> Backend {
        let delays = vec![Distribution::Fixed(self.penalty)];
        Backend { database: Some(objects.clone()), delays }
    }

    fn source(&self) -> anyhow::Result<Box<dyn Source>> {
        let options = open::Options { limit: Some(self.requests), ..open::Options::default() };
        open::open(&self.trace, &options)
    }
}

/// The file's name up to its first dot, in characters that the name of a tenant may have. A number
/// follows where the name is empty, reserved or taken.
fn name_of(trace: &str, all: &[String], at: usize) -> String {
    let stem = |trace: &str| {
        let file = trace.rsplit('/').next().unwrap_or(trace);
        let stem = file.split('.').next().unwrap_or(file);
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        stem.chars().map(plain).collect::<String>()
    };
    let name = stem(trace);
    let twin = all.iter().enumerate().any(|(other, trace)| other != at && stem(trace) == name);
    if twin || name.is_empty() || name == server::config::DEFAULT_NAME {
        format!("{name}{}", at + 1)
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_requests() {
        let keys = |seed| {
            let workload = Workload::built_in(1_000, seed);
            let order = workload.order(4).unwrap();
            order.map(|request| request.unwrap().key).collect::<Vec<_>>()
        };
        assert_eq!(keys(7), keys(7));
        assert_ne!(keys(7), keys(8));
        assert_eq!(keys(7).len(), 1_000);
    }

    /// The demo's files hold every object, and the footprint counts every object.
    #[test]
    fn every_object_is_in_a_file_and_in_the_footprint() {
        let folder = tempfile::tempdir().unwrap();
        let mut workload = Workload::built_in(2_000, 1);
        let path = folder.path().join("objects");
        workload.prepare(&Values::new(path.to_str().unwrap())).unwrap();
        assert_eq!(workload.requests, 2_000);
        let mut sizes = HashMap::new();
        for request in workload.order(4).unwrap().map(Result::unwrap) {
            let prefix = workload.tenants[request.tenant].prefix();
            let key = prefix + std::str::from_utf8(&request.key).unwrap();
            let size = store::charge(key.len(), request.value_size as usize, false);
            sizes.insert(key, size);
        }
        assert_eq!(workload.footprint, Bytes(sizes.values().sum()));
    }

    #[test]
    fn traces_name_tenants() {
        let traces: Vec<String> =
            ["/a/web.csv.zst", "b/web.csv", "c d.bin"].map(String::from).to_vec();
        let names: Vec<_> =
            Workload::traces(&traces, 9).tenants.into_iter().map(|tenant| tenant.name).collect();
        assert_eq!(names, ["web1", "web2", "c_d"]);
    }
}
