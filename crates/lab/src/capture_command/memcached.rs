//! memcached: its statistics, and the command that watches it.

use super::cost::Reading;
use super::summary::Server;
use anyhow::{bail, ensure};
use base::printable;
use load::{Address, Bounds, Pipe, login};
use std::collections::HashMap;
use std::net::TcpStream;
use std::time::Instant;

/// Maximum bytes of a line, and of a table.
const LINE_MAX: usize = 64 << 10;
const TABLE_MAX: usize = 4 << 20;

/// A connection for requests to the server, beside the watching one.
#[derive(Debug)]
pub(crate) struct Control {
    pipe: Pipe,
    began: Instant,
}

fn connect(to: &Address, bounds: Bounds) -> anyhow::Result<Pipe> {
    let mut pipe = Pipe::connect(to, Bounds { bytes: LINE_MAX, ..bounds })?;
    if let Some((user, password)) = &to.login {
        let stored = ask(&mut pipe, &login(user, password))?;
        ensure!(stored == "STORED", "{} refuses the user and password of the URL", pipe.place());
    }
    Ok(pipe)
}

/// Sends a request, and returns the first line of the answer.
fn ask(pipe: &mut Pipe, request: &str) -> anyhow::Result<String> {
    pipe.outgoing.extend_from_slice(request.as_bytes());
    pipe.flush()?;
    answer(pipe)
}

/// Reads the next line of an answer.
fn answer(pipe: &mut Pipe) -> anyhow::Result<String> {
    loop {
        let arrived = pipe.arrived();
        if let Some(end) = arrived.iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&arrived[..end]);
            let line = printable(line.trim_end()).into_owned();
            pipe.consume(end + 1);
            return Ok(line);
        }
        pipe.fill()?;
    }
}

impl Control {
    /// Connects to an unknown server, within [`Bounds::STRANGER`].
    pub(crate) fn connect(to: &Address) -> anyhow::Result<Self> {
        Self::within(to, Bounds::STRANGER)
    }

    /// Connects within these bounds.
    pub(super) fn within(to: &Address, bounds: Bounds) -> anyhow::Result<Self> {
        Ok(Self { pipe: connect(to, bounds)?, began: Instant::now() })
    }

    /// Sends a line, and returns the first line of the answer.
    pub(crate) fn say(&mut self, line: &str) -> anyhow::Result<String> {
        ask(&mut self.pipe, &format!("{line}\r\n"))
    }

    /// The general statistics of the server, by name (`stats`).
    pub(crate) fn stats(&mut self) -> anyhow::Result<HashMap<String, String>> {
        self.table("stats")
    }

    /// Statistics of one form, by name: `stats slabs`, `stats items` or `stats settings`.
    pub(crate) fn table(&mut self, form: &str) -> anyhow::Result<HashMap<String, String>> {
        let mut stats = HashMap::new();
        let mut line = self.say(form)?;
        let mut bytes = 0;
        loop {
            bytes += line.len();
            ensure!(bytes < TABLE_MAX, "the server's answer to {form} has no end");
            let mut words = line.split(' ');
            match (words.next(), words.next(), words.next()) {
                (Some("END"), ..) => return Ok(stats),
                (Some("STAT"), Some(name), Some(value)) => {
                    stats.insert(name.to_owned(), value.to_owned());
                }
                _ => bail!("the server refuses {form} ({line}): is it a memcached?"),
            }
            line = answer(&mut self.pipe)?;
        }
    }

    pub(super) fn server(&mut self) -> anyhow::Result<Server> {
        let stats = self.stats()?;
        let number = |name: &str| stats.get(name).and_then(|text| text.parse::<u64>().ok());
        // The server allocates whole pages, and chunks are longer than the items in them.
        let slabs = self.table("stats slabs")?;
        let pages = slabs.get("total_malloced").and_then(|text| text.parse::<u64>().ok());
        Ok(Server {
            items: number("curr_items"),
            items_used: pages.or_else(|| number("bytes")),
            kind: "memcached".to_owned(),
            version: stats.get("version").cloned().unwrap_or_default(),
            memory_limit: number("limit_maxbytes").filter(|bytes| *bytes > 0),
            memory_used: number("bytes"),
            policy: None,
            evicted: number("evictions"),
        })
    }

    pub(crate) fn reading(&mut self) -> anyhow::Result<Reading> {
        let stats = self.stats()?;
        let seconds = |name: &str| stats.get(name).and_then(|text| text.parse::<f64>().ok());
        let number = |name: &str| stats.get(name).and_then(|text| text.parse::<u64>().ok());
        let commands = ["cmd_get", "cmd_set", "cmd_touch", "delete_hits", "delete_misses"];
        Ok(Reading {
            at: self.began.elapsed().as_secs_f64(),
            cpu: seconds("rusage_user").unwrap_or(0.0) + seconds("rusage_system").unwrap_or(0.0),
            commands: commands.iter().filter_map(|name| number(name)).sum(),
            misses: number("get_misses").unwrap_or(0),
        })
    }
}

/// Begins to watch. Returns the connection, the bytes that have already arrived on it, and whether
/// the server reports removals.
pub(crate) fn open(to: &Address, bounds: Bounds) -> anyhow::Result<(TcpStream, Vec<u8>, bool)> {
    let mut pipe = connect(to, bounds)?;
    // Versions before 1.6.22 do not know the word `deletions`.
    let with_deletions = ask(&mut pipe, "watch fetchers mutations deletions\r\n")? == "OK";
    if !with_deletions {
        let refusal = ask(&mut pipe, "watch fetchers mutations\r\n")?;
        ensure!(
            refusal == "OK",
            "the server refuses watch ({refusal}): start it without -W, or with a version above 1.5"
        );
    }
    let (stream, arrived) = pipe.into_parts()?;
    Ok((stream, arrived, with_deletions))
}
