//! One fixed order for the requests of all tenants.
//!
//! Several traces are interleaved in proportion. The n-th of the N requests of a trace stands at
//! the place (n - ½) / N of the run, whatever its time, so all traces run over the same span. For
//! equal places, the trace named first goes first. Where several requests of a trace stay together,
//! as those of one page do, they share the middle place. Where the run follows the times of the
//! traces, they start together and are merged by time. One trace with many clients keeps its order.
//!
//! The order depends on the traces alone. Connections take their requests from it through queues of
//! a few batches, so a tenant gets ahead of another by no more than a queue holds.

use anyhow::Context;
use base::{Micros, Op, TenantId};
use std::collections::HashMap;
use trace::Source;

/// One request to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Index of the tenant in the list of tenants.
    pub tenant: usize,
    /// Text of the key, without the tenant's prefix.
    pub key: Vec<u8>,
    /// The operation.
    pub op: Op,
    /// Bytes of the value.
    pub value_size: u64,
    /// Time to live of the value when it is written, zero for no limit.
    pub ttl: Micros,
    /// Time of the request, since the start of its trace.
    pub time: Micros,
}

/// How the requests of several traces are interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Each trace is spread evenly over the run, with this many of its requests at a time.
    InProportion(u64),
    /// By the time of each request.
    ByTime,
}

/// The tenants of the requests of a trace.
#[derive(Clone, Debug)]
pub enum Owner {
    /// All requests belong to the tenant at this index in the list.
    Tenant(usize),
    /// The client of a request decides; the map has the index of each client's tenant.
    Client(HashMap<TenantId, usize>),
}

/// A trace to replay.
pub struct Lane {
    /// The source of the requests.
    pub source: Box<dyn Source>,
    /// Number of requests, if they were counted; several traces in proportion need it.
    pub requests: Option<u64>,
    /// The tenants of the requests.
    pub owner: Owner,
}

struct Head {
    place: f64,
    request: Request,
}

struct Waiting {
    lane: Lane,
    read: u64,
    head: Option<Head>,
}

/// The requests of all traces in one order.
pub struct Order {
    lanes: Vec<Waiting>,
    merge: Merge,
    started: bool,
}

impl Order {
    /// Interleaves the requests of `lanes`.
    pub fn new(lanes: Vec<Lane>, merge: Merge) -> Self {
        let lanes = lanes.into_iter().map(|lane| Waiting { lane, read: 0, head: None }).collect();
        Self { lanes, merge, started: false }
    }
}

impl Waiting {
    fn advance(&mut self, merge: Merge) -> anyhow::Result<()> {
        self.head = None;
        let Some(access) = self.lane.source.next() else { return Ok(()) };
        let access = access?;
        let tenant = match &self.lane.owner {
            Owner::Tenant(tenant) => *tenant,
            Owner::Client(places) => *places.get(&access.tenant).with_context(|| {
                format!(
                    "client {} was not in the trace when Larder counted its requests: do not \
                     change the trace during a run",
                    access.tenant
                )
            })?,
        };
        self.read += 1;
        let place = match merge {
            Merge::ByTime => access.time.as_f64(),
            Merge::InProportion(together) => {
                let before = (self.read - 1) / together * together;
                let all = self.lane.requests.unwrap_or(1).max(1);
                (before as f64 + together as f64 / 2.0) / all as f64
            }
        };
        let request = Request {
            tenant,
            key: self.lane.source.key().to_vec(),
            op: access.op,
            value_size: access.value_size,
            ttl: access.ttl,
            time: access.time,
        };
        self.head = Some(Head { place, request });
        Ok(())
    }
}

impl Iterator for Order {
    type Item = anyhow::Result<Request>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.started {
            self.started = true;
            for lane in &mut self.lanes {
                if let Err(error) = lane.advance(self.merge) {
                    return Some(Err(error));
                }
            }
        }
        let place = |lane: &Waiting| lane.head.as_ref().map_or(f64::INFINITY, |head| head.place);
        let first = self.lanes.iter_mut().min_by(|a, b| place(a).total_cmp(&place(b)))?;
        let Head { request, .. } = first.head.take()?;
        Some(first.advance(self.merge).map(|()| request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Access;
    use trace::Error;

    /// Requests `name1`, `name2`, …, made at the given times.
    struct List {
        name: &'static str,
        times: Vec<u64>,
        at: usize,
        key: String,
    }

    impl Source for List {
        fn next(&mut self) -> Option<Result<Access, Error>> {
            let time = Micros(*self.times.get(self.at)?);
            self.at += 1;
            self.key = format!("{}{}", self.name, self.at);
            Some(Ok(Access { time, tenant: self.at as u16 % 2, ..Access::get(0, 1) }))
        }
        fn key(&self) -> &[u8] {
            self.key.as_bytes()
        }
    }

    fn list(name: &'static str, times: Vec<u64>) -> Box<dyn Source> {
        Box::new(List { name, times, at: 0, key: String::new() })
    }

    fn keys(order: Order) -> Vec<String> {
        order.map(|request| String::from_utf8(request.unwrap().key).unwrap()).collect()
    }

    fn lanes() -> Vec<Lane> {
        let lane = |tenant, name, times: Vec<u64>| Lane {
            requests: Some(times.len() as u64),
            source: list(name, times),
            owner: Owner::Tenant(tenant),
        };
        vec![lane(0, "a", vec![10, 20, 30, 40]), lane(1, "b", vec![0, 100]), lane(2, "c", vec![])]
    }

    /// A short trace must not end before a long one has begun.
    #[test]
    fn traces_run_over_the_same_span() {
        let order = Order::new(lanes(), Merge::InProportion(1));
        assert_eq!(keys(order), ["a1", "b1", "a2", "a3", "b2", "a4"]);
    }

    #[test]
    fn requests_stay_together() {
        let order = Order::new(lanes(), Merge::InProportion(2));
        assert_eq!(keys(order), ["a1", "a2", "b1", "b2", "a3", "a4"]);
    }

    #[test]
    fn traces_are_merged_by_time() {
        let order = Order::new(lanes(), Merge::ByTime);
        assert_eq!(keys(order), ["b1", "a1", "a2", "a3", "a4", "b2"]);
    }

    #[test]
    fn clients_keep_the_order_of_their_trace() {
        let owner = Owner::Client([(0, 7), (1, 9)].into());
        let lane = Lane { source: list("a", vec![1, 2, 3]), requests: None, owner };
        let requests: Vec<_> =
            Order::new(vec![lane], Merge::InProportion(1)).map(Result::unwrap).collect();
        assert_eq!(requests.iter().map(|request| request.tenant).collect::<Vec<_>>(), [9, 7, 9]);
        assert_eq!(requests[2].key, b"a3");
    }
}
