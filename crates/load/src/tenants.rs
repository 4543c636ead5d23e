//! The tenants of a replay, and the requests that each of them sends.

use crate::args::{Args, By, Namespace};
use crate::backend::Backend;
use crate::order::Owner;
use crate::prepare::Prepared;
use crate::run::ReplayTenant;
use anyhow::bail;

/// The most tenants; more would need too many connections for one machine.
const TENANTS_MAX: usize = 64;

/// A trace's share of the run.
pub(crate) struct Share {
    /// Number of requests, if they were counted.
    pub(crate) requests: Option<u64>,
    pub(crate) owner: Owner,
}

impl Args {
    /// The tenants with their databases counted from zero, the share of each trace, and the
    /// contents of their backends. Where the number of requests, the list of clients or a filled
    /// table is needed, each trace is read once in advance.
    pub(crate) fn tenants(
        &self,
        backends: &[Backend],
    ) -> anyhow::Result<(Vec<ReplayTenant>, Vec<Share>, Vec<Prepared>)> {
        let by_client = self.tenants == By::ClientId;
        if by_client && self.traces.len() > 1 {
            bail!("--tenants client-id takes one trace: with several traces, each is a tenant");
        }
        let tenant = |at: usize, word: Option<&String>| {
            let name = self.names.get(at).or(word).cloned();
            let name = name.unwrap_or_else(|| format!("t{}", at + 1));
            ReplayTenant {
                prefix: match self.namespace {
                    Namespace::Prefix => format!("{name}:"),
                    Namespace::Db | Namespace::None => String::new(),
                },
                db: if self.namespace == Namespace::Db { at as u32 } else { 0 },
                backend: backends[at % backends.len()].clone(),
                name,
            }
        };
        let (mut shares, mut prepared) = (vec![], vec![]);
        let mut tenants: Vec<ReplayTenant> = vec![];
        for (at, trace) in self.traces.iter().enumerate() {
            let stored = backends.iter().any(|backend| backend.database.is_some());
            let counted = self.traces.len() > 1 || by_client || self.warmup > 0.0 || stored;
            if trace == "-" && (counted || self.servers.compares()) {
                bail!("this run reads its traces twice: name a file instead of -");
            }
            let survey = if counted { Some(self.survey(trace)?) } else { None };
            let owner = match &survey {
                Some(survey) if by_client => {
                    if survey.clients.len() > TENANTS_MAX {
                        let clients = survey.clients.len();
                        bail!(
                            "{clients} clients are too many tenants: the maximum is {TENANTS_MAX}"
                        );
                    }
                    let words = survey.clients.iter().map(|client| survey.names.get(client));
                    tenants = words.enumerate().map(|(at, word)| tenant(at, word)).collect();
                    Owner::Client(survey.clients.iter().copied().zip(0..).collect())
                }
                _ => {
                    tenants.push(tenant(at, None));
                    Owner::Tenant(at)
                }
            };
            let requests = survey.as_ref().map(|survey| survey.requests);
            if let Some(requests) = requests {
                prepared.extend(self.fill(trace, requests, &tenants, &owner)?);
            }
            shares.push(Share { requests, owner });
        }
        Ok((tenants, shares, prepared))
    }
}
