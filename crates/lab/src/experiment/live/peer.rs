//! Servers that a live experiment starts: this program, and peers whose commands the user gives.
//!
//! A server listens on a free port of this machine, has its data in a folder of its own, stores
//! nothing on disk, and is killed when its run is over. So every run begins with an empty server
//! that knows nothing, and leaves nothing behind.

use anyhow::{Context, Result, bail, ensure};
use base::Bytes;
use load::programs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Longest wait for a server that starts.
const PATIENCE: Duration = Duration::from_secs(30);

/// Protocol of a server, and the form of its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// This program.
    Larder,
    /// This program with memcached's protocol.
    LarderForMemcached,
    /// A server that takes the directives of a redis.conf: Redis, Valkey, or one made of them.
    Redis,
    Memcached,
}

/// A server that can be started, by the name of its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The program and its own arguments.
    command: Vec<String>,
}

impl FromStr for Peer {
    type Err = String;

    /// Reads `NAME=COMMAND`: `redis=redis-server`, `valkey=/opt/valkey-server --io-threads 2`.
    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("'{text}' is not NAME=COMMAND, such as redis=redis-server");
        let (name, command) = text.split_once('=').ok_or_else(form)?;
        let command: Vec<_> = command.split_whitespace().map(str::to_owned).collect();
        if name.is_empty() || command.is_empty() {
            return Err(form());
        }
        let kind = match name {
            "redis" | "valkey" | "predis" => Kind::Redis,
            "memcached" => Kind::Memcached,
            _ => {
                return Err(format!(
                    "'{name}' is not a known peer: write redis, valkey, memcached, or predis (the \
                     server of the authors of pRedis)"
                ));
            }
        };
        Ok(Self { name: name.to_owned(), kind, command })
    }
}

impl Peer {
    /// Larder, from the program beside this one.
    pub(super) fn larder() -> Result<Self> {
        let program = programs::find(programs::LARDER)?;
        let command = vec![program.to_string_lossy().into_owned(), "serve".to_owned()];
        Ok(Self { name: "larder".to_owned(), kind: Kind::Larder, command })
    }

    /// Larder as a server for clients of memcached.
    pub(super) fn larder_for_memcached() -> Result<Self> {
        Ok(Self { kind: Kind::LarderForMemcached, ..Self::larder()? })
    }

    /// The program and its own arguments, as typed.
    pub(super) fn command(&self) -> String {
        self.command.join(" ")
    }

    /// Starts the server with this memory and the arguments of a row.
    pub(super) fn start(&self, memory: Bytes, arguments: &[String]) -> Result<Running> {
        let folder = tempfile::tempdir()?;
        let port = free_port()?;
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).args(self.settings(memory, port, folder.path())?);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(Stdio::null()).spawn();
        let child = child.with_context(|| {
            format!("could not start {}: check that {} is installed", self.name, self.command[0])
        })?;
        let scheme = match self.kind {
            Kind::Larder | Kind::Redis => "redis",
            Kind::LarderForMemcached | Kind::Memcached => "memcached",
        };
        let url = format!("{scheme}://127.0.0.1:{port}");
        let mut running = Running { child, url, _folder: folder };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = running.child.try_wait()?;
            ensure!(
                ended.is_none(),
                "{} ended at once: run it by hand to see why: {} {}",
                self.name,
                self.command.join(" "),
                arguments.join(" ")
            );
            ensure!(begun.elapsed() < PATIENCE, "{} does not answer", self.name);
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }

    fn settings(&self, memory: Bytes, port: u16, folder: &Path) -> Result<Vec<String>> {
        let folder = folder.to_string_lossy();
        let text = match self.kind {
            Kind::Larder => format!("--port {port} --http-port 0 --maxmemory {}", memory.0),
            Kind::LarderForMemcached => {
                format!("--port 0 --memcached-port {port} --http-port 0 --maxmemory {}", memory.0)
            }
            Kind::Redis => format!(
                "--port {port} --dir {folder} --save  --appendonly no --maxmemory {} \
                 --maxmemory-policy allkeys-lru",
                memory.0
            ),
            Kind::Memcached => {
                format!("-p {port} -U 0 -l 127.0.0.1 -u nobody -m {}", memory.0 >> 20)
            }
        };
        if self.kind == Kind::Memcached && memory.0 >> 20 == 0 {
            bail!("memcached needs at least 1 MB of memory");
        }
        // The empty word is intended: `--save ""` stores nothing.
        Ok(text.split(' ').map(str::to_owned).collect())
    }
}

/// A port on which no server listens.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// A running server, which is killed when it is dropped.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    /// URL of the server for `larder replay`.
    pub(super) url: String,
    _folder: tempfile::TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// CPU time that its threads have taken.
    pub(super) fn cpu(&self) -> Result<Duration> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()))?;
        let mut ns = 0;
        for task in tasks {
            // The first number is the time on a processor, in nanoseconds.
            let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
            ns += text.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0);
        }
        Ok(Duration::from_nanos(ns))
    }

    /// Resident memory, in megabytes.
    pub(super) fn resident_mb(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kb = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        Ok(kb.context("the system does not report resident memory")? * 1024.0 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_named() {
        let peer: Peer = "valkey=/opt/valkey-server --io-threads 2".parse().unwrap();
        assert_eq!((peer.name.as_str(), peer.kind), ("valkey", Kind::Redis));
        assert_eq!(peer.command, ["/opt/valkey-server", "--io-threads", "2"]);
        for (text, fix) in
            [("redis", "NAME=COMMAND"), ("redis=", "NAME=COMMAND"), ("ks=k", "write")]
        {
            assert!(text.parse::<Peer>().unwrap_err().contains(fix), "{text}");
        }
    }

    /// If the split lost the empty word, `--save` would take the next one.
    #[test]
    fn nothing_is_stored_on_disk() {
        let peer: Peer = "redis=redis-server".parse().unwrap();
        let words = peer.settings(Bytes(1 << 20), 7, Path::new("/d")).unwrap();
        let at = words.iter().position(|word| word == "--save").unwrap();
        assert_eq!((words[at + 1].as_str(), words[at + 2].as_str()), ("", "--appendonly"));
        let small: Peer = "memcached=memcached".parse().unwrap();
        assert!(small.settings(Bytes(1000), 7, Path::new("/d")).is_err());
    }

    #[test]
    fn a_peer_that_is_not_here_is_named() {
        let peer: Peer = "redis=/nowhere/redis-server".parse().unwrap();
        let error = format!("{:#}", peer.start(Bytes(1 << 20), &[]).unwrap_err());
        assert!(error.contains("/nowhere/redis-server"), "{error}");
    }
}
