//! The server of a run: in this process, on a free port of loopback, shut down when it is dropped.

use super::result::Holding;
use super::workload::DemoTenant;
use anyhow::{Context, anyhow};
use base::Bytes;
use load::{Address, Link};
use serde_json::Value;
use server::config::{Match, Settings};

/// A server with one tenant for each tenant of the workload.
pub(super) struct Cache {
    handle: server::Handle,
    link: Link,
    names: Vec<String>,
}

impl Cache {
    /// Starts an empty server that follows `recipe`.
    pub(super) fn start(
        recipe: &str,
        memory: Bytes,
        tenants: &[DemoTenant],
    ) -> anyhow::Result<Self> {
        let tenant = |tenant: &DemoTenant| server::config::TenantConfig {
            name: tenant.name.clone(),
            matches: vec![Match::Prefix(tenant.prefix().into())],
            ..server::config::TenantConfig::fallback()
        };
        let settings = Settings {
            port: 0,
            bind: vec!["127.0.0.1".into()],
            maxmemory: memory,
            recipe: tune::recipe::parse(recipe).map_err(anyhow::Error::msg)?,
            tenants: tenants.iter().map(tenant).collect(),
            // Load and cache share the machine: one thread of the server leaves the other of two
            // cores to the load.
            io_threads: 1,
            http_port: Some(0),
            ..Settings::default()
        };
        let handle = server::start(settings)?;
        handle.share_process();
        let link = Link::connect(&Address::loopback(handle.addr().port()), 0)?;
        let names = tenants.iter().map(|tenant| tenant.name.clone()).collect();
        Ok(Self { handle, link, names })
    }

    /// The address on which the server listens.
    pub(super) fn address(&self) -> Address {
        Address::loopback(self.handle.addr().port())
    }

    /// The memory that each tenant holds now, in the order of the workload, from LARDER TENANTS as
    /// any client gets it.
    pub(super) fn holdings(&mut self) -> anyhow::Result<Vec<Holding>> {
        self.link.put(&["LARDER", "TENANTS", "JSON"]);
        self.link.flush()?;
        let text = self.link.reply(|reply| reply.as_bytes().map(<[u8]>::to_vec))?;
        let text = text.context("the answer of LARDER TENANTS is not text")?;
        let rows: Value = serde_json::from_slice(&text)?;
        let holding = |name: &String| {
            let rows = rows.as_array().into_iter().flatten();
            let row = rows.into_iter().find(|row| row["name"] == *name.as_str());
            let number = |key: &str| row.and_then(|row| row[key].as_u64());
            let bytes = number("used");
            let bytes = bytes
                .ok_or_else(|| anyhow!("the answer of LARDER TENANTS has no tenant {name}"))?;
            Ok(Holding { bytes })
        };
        self.names.iter().map(holding).collect()
    }
}
