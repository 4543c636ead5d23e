//! memcached: what it says of itself, and how it is watched.

use super::cost::Reading;
use super::summary::Server;
use anyhow::{Context, bail, ensure};
use load::{Address, login};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A server that says nothing for so long is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// A connection by which the server is asked.
#[derive(Debug)]
pub(crate) struct Control {
    lines: Lines,
    began: Instant,
}

type Lines = BufReader<TcpStream>;

fn connect(to: &Address) -> anyhow::Result<Lines> {
    let place = format!("{}:{}", to.host, to.port);
    let stream = TcpStream::connect((to.host.as_str(), to.port))
        .with_context(|| format!("cannot connect to {place}: is a memcached running there?"))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    let mut lines = BufReader::new(stream);
    if let Some((user, password)) = &to.login {
        let text = login(user, password);
        lines.get_mut().write_all(text.as_bytes())?;
        ensure!(answer(&mut lines)? == "STORED", "{place} refuses user and password of the URL");
    }
    Ok(lines)
}

/// The next line.
fn answer(lines: &mut Lines) -> anyhow::Result<String> {
    let mut line = vec![];
    let got = lines.by_ref().take(1 << 16).read_until(b'\n', &mut line)?;
    ensure!(got > 0, "the server closed the connection");
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

impl Control {
    pub(crate) fn connect(to: &Address) -> anyhow::Result<Self> {
        Ok(Self { lines: connect(to)?, began: Instant::now() })
    }

    /// Says a line, and tells the line that is answered.
    pub(crate) fn say(&mut self, line: &str) -> anyhow::Result<String> {
        self.lines.get_mut().write_all(format!("{line}\r\n").as_bytes())?;
        answer(&mut self.lines)
    }

    /// What `stats` tells.
    pub(crate) fn stats(&mut self) -> anyhow::Result<HashMap<String, String>> {
        self.table("stats")
    }

    /// What a form of `stats` tells: `stats slabs`, `stats items`, `stats settings`.
    pub(crate) fn table(&mut self, form: &str) -> anyhow::Result<HashMap<String, String>> {
        self.lines.get_mut().write_all(format!("{form}\r\n").as_bytes())?;
        let mut stats = HashMap::new();
        loop {
            let line = answer(&mut self.lines)?;
            let mut words = line.split(' ');
            match (words.next(), words.next(), words.next()) {
                (Some("END"), ..) => return Ok(stats),
                (Some("STAT"), Some(name), Some(value)) => {
                    stats.insert(name.to_owned(), value.to_owned());
                }
                _ => bail!("the server refuses {form} ({line}): is it a memcached?"),
            }
        }
    }

    pub(super) fn server(&mut self) -> anyhow::Result<Server> {
        let stats = self.stats()?;
        let number = |name: &str| stats.get(name).and_then(|text| text.parse::<u64>().ok());
        Ok(Server {
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

/// Begins to watch: the connection, what has arrived on it already, and whether removals are told.
pub(crate) fn open(to: &Address) -> anyhow::Result<(TcpStream, Vec<u8>, bool)> {
    let mut lines = connect(to)?;
    let mut ask = |what: &[u8]| {
        lines.get_mut().write_all(what)?;
        answer(&mut lines)
    };
    // Versions before 1.6.22 do not know the word.
    let with_deletions = ask(b"watch fetchers mutations deletions\r\n")? == "OK";
    if !with_deletions {
        let refusal = ask(b"watch fetchers mutations\r\n")?;
        ensure!(
            refusal == "OK",
            "the server refuses watch ({refusal}): start it without -W, or with a version above 1.5"
        );
    }
    let arrived = lines.buffer().to_vec();
    Ok((lines.into_inner(), arrived, with_deletions))
}
