//! Redis, Valkey and Larder: their statistics, and the commands that watch them.

use super::cost::Reading;
use super::summary::Server;
use anyhow::{Context, bail};
use base::printable;
use load::{Address, Bounds, Link};
use std::collections::HashMap;
use std::net::TcpStream;
use std::time::Instant;
use wire::resp::Reply;

/// A connection for requests to the server, beside the watching one.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) link: Link,
    began: Instant,
}

/// The fields of INFO.
pub(crate) type Fields = HashMap<String, String>;

impl Control {
    /// Connects to an unknown server, within [`Bounds::STRANGER`].
    pub(crate) fn connect(to: &Address) -> anyhow::Result<Self> {
        Self::within(to, Bounds::STRANGER)
    }

    /// Connects within these bounds.
    pub(super) fn within(to: &Address, bounds: Bounds) -> anyhow::Result<Self> {
        Ok(Self { link: Link::within(to, 0, bounds)?, began: Instant::now() })
    }

    /// Sends a command whose answer is a text.
    pub(crate) fn text(&mut self, args: &[&str]) -> anyhow::Result<String> {
        self.link.put(args);
        self.link.flush()?;
        let answer = self.link.reply(|reply| match reply {
            Reply::Error(text) => Err(printable(&String::from_utf8_lossy(text)).into_owned()),
            reply => Ok(String::from_utf8_lossy(reply.as_bytes().unwrap_or_default()).into_owned()),
        })?;
        match answer {
            Ok(text) => Ok(text),
            Err(refusal) => bail!("{}", refused(args[0], &refusal)),
        }
    }

    /// The fields of INFO, by name.
    pub(crate) fn info(&mut self) -> anyhow::Result<Fields> {
        let text = self.text(&["INFO"])?;
        let field = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((printable(name).into_owned(), printable(value.trim()).into_owned()))
        };
        Ok(text.lines().filter_map(field).collect())
    }

    /// Whether it is a Redis or Valkey with Larder's module.
    pub(crate) fn has_module(&mut self) -> anyhow::Result<bool> {
        let modules = self.text(&["INFO", "modules"])?;
        Ok(modules.lines().any(|line| line.starts_with("module:name=larder,")))
    }

    /// Kind, version, memory and items of the server.
    pub(super) fn server(&mut self) -> anyhow::Result<Server> {
        let info = self.info()?;
        let word = |name: &str| info.get(name).cloned();
        let (kind, version) = match (word("larder_version"), word("valkey_version")) {
            (Some(version), _) => ("larder", Some(version)),
            (_, Some(version)) => ("valkey", Some(version)),
            _ => ("redis", word("redis_version")),
        };
        let bytes = |name: &str| number(&info, name).filter(|bytes| *bytes > 0);
        // Memory of an empty process, its clients and its replicas.
        let beside = [
            "used_memory_startup",
            "mem_clients_normal",
            "mem_clients_slaves",
            "mem_replication_backlog",
            "mem_aof_buffer",
        ];
        let beside: u64 = beside.iter().filter_map(|name| number(&info, name)).sum();
        let used = number(&info, "used_memory").zip(number(&info, "used_memory_startup"));
        let keys = info.iter().filter_map(|(name, value)| {
            name.strip_prefix("db")?.parse::<u32>().ok()?;
            value.strip_prefix("keys=")?.split(',').next()?.parse::<u64>().ok()
        });
        Ok(Server {
            items: Some(keys.sum()),
            items_used: used.map(|(used, _)| used.saturating_sub(beside)),
            kind: kind.to_owned(),
            version: version.unwrap_or_default(),
            memory_limit: bytes("maxmemory"),
            memory_used: bytes("used_memory"),
            policy: word("maxmemory_policy"),
            evicted: number(&info, "evicted_keys"),
        })
    }

    pub(crate) fn reading(&mut self) -> anyhow::Result<Reading> {
        let info = self.info()?;
        let seconds = |name: &str| info.get(name).and_then(|text| text.parse::<f64>().ok());
        let at = self.began.elapsed().as_secs_f64();
        Ok(Reading {
            at,
            cpu: seconds("used_cpu_sys").unwrap_or(0.0) + seconds("used_cpu_user").unwrap_or(0.0),
            commands: number(&info, "total_commands_processed").unwrap_or(0),
            misses: number(&info, "keyspace_misses").unwrap_or(0),
        })
    }
}

/// A field that is a number.
pub(crate) fn number(info: &Fields, name: &str) -> Option<u64> {
    info.get(name)?.parse().ok()
}

/// Begins to watch. Returns the connection, and the bytes that have already arrived on it.
pub(crate) fn open(
    to: &Address,
    trace: bool,
    bounds: Bounds,
) -> anyhow::Result<(TcpStream, Vec<u8>)> {
    let link = Link::within(to, 0, bounds)?;
    let args: &[&str] = if trace { &["MONITOR", "TRACE"] } else { &["MONITOR"] };
    match link.listen(args)? {
        Ok(listening) => Ok(listening),
        Err(refusal) => Err(anyhow::anyhow!(refused("MONITOR", &refusal)))
            .with_context(|| format!("cannot watch {}:{}", to.host, to.port)),
    }
}

/// A sentence with the reason of a refusal by the server, and its fix if known.
pub(super) fn refused(command: &str, refusal: &str) -> String {
    let fix = if refusal.starts_with("NOPERM") {
        ": give the user the rights with ACL SETUSER name +monitor +info +strlen +memory|usage \
         ~*, or name another user as redis://user:password@host"
    } else if refusal.starts_with("NOAUTH") {
        ": name the password as redis://user:password@host"
    } else {
        ""
    };
    format!("the server refuses {command} ({refusal}){fix}")
}
