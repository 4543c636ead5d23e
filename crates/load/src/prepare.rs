//! The work before a replay: counting traces, and storing objects in the backends.
//!
//! An embedded database is filled by the first run that uses it. A database server may have other
//! users, so only `--prepare` makes its tables. A replay merely checks whether they hold the
//! objects of its traces.

use crate::args::Args;
use crate::backend::{Database, Filled, Origin};
use crate::open::{self, open};
use crate::order::Owner;
use crate::progress::progress_bar;
use crate::run::ReplayTenant;
use anyhow::{Context, bail};
use base::{Bytes, Op, TenantId};
use report::words;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Objects stored between two updates of the progress bar.
const LOOK: u64 = 1_024;

/// Facts about a trace from a first reading.
#[derive(Default)]
pub(crate) struct Survey {
    pub(crate) requests: u64,
    pub(crate) clients: BTreeSet<TenantId>,
    /// The words for the clients, if the trace has words.
    pub(crate) names: BTreeMap<TenantId, String>,
}

/// The objects of a tenant in its database.
#[derive(serde::Serialize)]
pub(crate) struct Prepared {
    tenant: String,
    database: String,
    trace: String,
    requests: u64,
    /// `None` if an earlier run stored the objects.
    #[serde(flatten)]
    filled: Option<Filled>,
}

/// The objects of all tenants in their databases.
#[derive(serde::Serialize)]
pub(crate) struct AllPrepared {
    pub(crate) prepared: Vec<Prepared>,
}

impl fmt::Display for AllPrepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Prepared { tenant, database, trace, requests, filled }) in
            self.prepared.iter().enumerate()
        {
            let (line, requests) = (if at > 0 { "\n" } else { "" }, words::count(*requests));
            write!(f, "{line}{database} has the objects of {tenant} from {requests} requests of ")?;
            match filled {
                Some(Filled { rows, bytes }) => {
                    write!(f, "{trace}: {} rows, {}.", words::count(*rows), Bytes(*bytes))?;
                }
                None => write!(f, "{trace} since an earlier run.")?,
            }
        }
        Ok(())
    }
}

impl Args {
    /// Reads a trace to count its requests and clients.
    pub(crate) fn survey(&self, trace: &str) -> anyhow::Result<Survey> {
        let mut source = open(trace, &self.reading)?;
        let mut survey = Survey::default();
        while let Some(access) = source.next() {
            survey.requests += 1;
            survey.clients.insert(access.with_context(|| format!("trace '{trace}'"))?.tenant);
        }
        survey.names = open::tenant_names(&*source);
        if survey.requests == 0 {
            bail!("trace '{trace}' has no requests");
        }
        Ok(survey)
    }

    /// Makes sure that the tenants of `trace` have their objects in their databases.
    pub(crate) fn fill(
        &self,
        trace: &str,
        requests: u64,
        tenants: &[ReplayTenant],
        owner: &Owner,
    ) -> anyhow::Result<Vec<Prepared>> {
        let mut prepared = vec![];
        // One tenant after the other, because an embedded database takes one writer at a time.
        for (at, tenant) in tenants.iter().enumerate() {
            let Some(database) = &tenant.backend.database else { continue };
            let client = match owner {
                Owner::Tenant(owner) if *owner == at => None,
                Owner::Tenant(_) => continue,
                Owner::Client(places) => {
                    places.iter().find(|(_, place)| **place == at).map(|(client, _)| *client)
                }
            };
            let requests = requests + self.reading.skip;
            let origin = Origin { trace: trace.to_owned(), requests };
            let known = database.origin(&tenant.name)?;
            let filled = if known.is_some_and(|known| known.covers(&origin)) {
                None
            } else if self.prepare || database.is_filled_at_once() {
                Some(self.fill_one(&**database, &tenant.name, &origin, client)?)
            } else {
                bail!(
                    "{} has no objects of tenant {} from {requests} requests of '{trace}': run \
                     the same command with --prepare first",
                    database.name(),
                    tenant.name
                );
            };
            let (tenant, trace) = (tenant.name.clone(), trace.to_owned());
            prepared.push(Prepared { tenant, database: database.name(), trace, requests, filled });
        }
        Ok(prepared)
    }

    /// Stores the objects of a tenant: those of `client`, or of the whole trace. The objects of
    /// requests that a run skips are stored too.
    fn fill_one(
        &self,
        database: &dyn Database,
        tenant: &str,
        origin: &Origin,
        client: Option<TenantId>,
    ) -> anyhow::Result<Filled> {
        let context = || format!("objects of tenant {tenant} for {}", database.name());
        let bar = progress_bar(Some(origin.requests));
        bar.set_message(context());
        let mut filler = database.filler(tenant, origin)?;
        let limit = self.reading.limit.map(|limit| limit + self.reading.skip);
        let reading = open::Options { skip: 0, limit, ..self.reading.clone() };
        let mut source = open(&origin.trace, &reading)?;
        let mut requests = 0u64;
        while let Some(access) = source.next() {
            let access = access.with_context(|| format!("trace '{}'", origin.trace))?;
            // No request asks the backend for a deleted object, and a deletion has no size.
            if client.is_none_or(|client| client == access.tenant) && access.op != Op::Delete {
                filler.add(source.key(), access.value_size).with_context(context)?;
            }
            requests += 1;
            if requests.is_multiple_of(LOOK) {
                bar.set_position(requests);
            }
        }
        let filled = filler.finish().with_context(context)?;
        bar.finish_and_clear();
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    const TRACE: &str = "synth:zipf:keys=300:skew=0.8:requests=2000:size=const/100:seed=1";

    fn prepared(words: &[&str]) -> AllPrepared {
        let Cli { args } = Cli::parse_from([&["replay", TRACE, "--prepare"], words].concat());
        let backends = crate::Backend::parse_all(&args.backend, args.pool, &[]).unwrap();
        let (.., prepared) = args.tenants(&backends).unwrap();
        AllPrepared { prepared }
    }

    #[test]
    fn objects_are_filled_in_once() {
        let folder = tempfile::tempdir().unwrap();
        let backend = format!("file:{}/values", folder.path().display());
        let words = ["--backend", &backend, "--names", "web"];
        let first = prepared(&words);
        let filled = first.prepared[0].filled.unwrap();
        assert!((200..=300).contains(&filled.rows), "{filled:?}");
        assert_eq!(filled.bytes, filled.rows * 100);
        let text = first.to_string();
        assert!(text.contains("objects of web from 2 000 requests"), "{text}");

        let again = prepared(&words);
        assert!(again.prepared[0].filled.is_none());
        let json = serde_json::to_value(&again).unwrap();
        assert_eq!(json["prepared"][0]["tenant"], "web");
        // An origin with fewer requests is covered, one with another tenant is not.
        assert!(prepared(&[&words[..], &["--limit", "9"]].concat()).prepared[0].filled.is_none());
        let other = prepared(&["--backend", &backend, "--names", "kv"]);
        assert!(other.prepared[0].filled.is_some());
    }

    #[test]
    fn preparing_needs_no_server() {
        let parse = |words: &[&str]| Cli::try_parse_from(words).map(|_| ());
        assert!(parse(&["replay", TRACE, "--prepare"]).is_ok());
        assert!(parse(&["replay", TRACE]).unwrap_err().to_string().contains("--to"));
    }
}
