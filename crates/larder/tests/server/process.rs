//! A server as its users run it: the binary, in a process of its own, on a free port.

use crate::programs;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use wire::resp::split_line;

/// A server process; it is killed at the end of its test.
pub(crate) struct Server {
    child: Child,
    /// The JSON document that the server prints once it listens.
    document: serde_json::Value,
    log: tempfile::NamedTempFile,
}

/// Subcommands that `larder` runs itself; the lab has the others.
const OWN: [&str; 5] = ["serve", "ping", "config", "demo", "replay"];

/// The binary with a typed command line. The lab is built before a command that needs it.
pub(crate) fn larder(words: &str) -> Command {
    let words = split_line(words.as_bytes()).unwrap();
    let words: Vec<String> =
        words.into_iter().map(|word| String::from_utf8(word).unwrap()).collect();
    if words.first().is_some_and(|word| !OWN.contains(&word.as_str())) {
        programs::build_lab();
    }
    // An unoptimised test can measure an optimised server.
    let binary = std::env::var_os("LARDER_BINARY");
    let mut command = Command::new(binary.unwrap_or_else(|| env!("CARGO_BIN_EXE_larder").into()));
    command.args(words);
    command
}

/// Starts a server on a free port, with these directives.
pub(crate) fn serve(arguments: &str) -> Server {
    start(&mut serve_command(arguments))
}

/// The command that starts a server; a caller may add to it.
pub(crate) fn serve_command(arguments: &str) -> Command {
    let mut command =
        larder(&format!("serve --json --port 0 --http-port 0 --io-threads 2 {arguments}"));
    // Most tests write values of one letter, and compressed they would never fill the memory.
    command.env("LARDER_CONFIG_COMPRESSION", "no");
    command
}

/// Runs a command in a process with a limit of open files.
pub(crate) fn with_files(limit: u32, command: &Command) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" \"$@\"")]);
    limited.arg(command.get_program()).args(command.get_args());
    limited
}

/// Starts a server for both protocols; also returns memcached's port.
pub(crate) fn serve_both(arguments: &str) -> (Server, u16) {
    let (redis, port) = (free_port(), free_port());
    (serve(&format!("--port {redis} --memcached-port {port} {arguments}")), port)
}

/// The error of `larder serve` when it refuses these directives.
pub(crate) fn refuses(arguments: &str) -> String {
    let output = larder(&format!("serve --http-port 0 {arguments}")).output().unwrap();
    assert!(!output.status.success(), "{arguments}: it started");
    String::from_utf8(output.stderr).unwrap()
}

/// Starts a server, and waits until it listens.
pub(crate) fn start(command: &mut Command) -> Server {
    let log = tempfile::NamedTempFile::new().unwrap();
    command.stdout(Stdio::piped()).stderr(File::create(log.path()).unwrap());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said = || std::fs::read_to_string(log.path()).unwrap_or_default();
    let document = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no start: {}", said()));
    Server { child, document, log }
}

/// The name of the group that owns a file, if the group has one.
pub(crate) fn group_of(path: &Path) -> Option<String> {
    let number = std::fs::metadata(path).unwrap().gid().to_string();
    let groups = std::fs::read_to_string("/etc/group").unwrap();
    groups.lines().find_map(|line| {
        let mut words = line.split(':');
        let (name, its) = (words.next()?, words.nth(1)?);
        (its == number).then(|| name.to_owned())
    })
}

/// A free port below the range that the system assigns by itself.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = 12_000 + std::process::id() % 10_000;
    let mut ports = (0..1_000).map(|_| (first + NEXT.fetch_add(1, Ordering::Relaxed)) as u16);
    ports.find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok()).expect("one is free")
}

impl Server {
    pub(crate) fn addr(&self) -> SocketAddr {
        let port = self.document["port"].as_u64().unwrap() as u16;
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The address of the HTTP port.
    pub(crate) fn http_addr(&self) -> SocketAddr {
        self.document["http"].as_str().unwrap().parse().unwrap()
    }

    pub(crate) fn listening(&self) -> Vec<&str> {
        let places = self.document["listening"].as_array().unwrap().iter();
        places.map(|place| place.as_str().unwrap()).collect()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Waits until the server ends by itself.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Ends the server as a service manager does, with SIGTERM.
    pub(crate) fn stop(self) {
        self.signal("-TERM");
        assert!(self.wait().success());
    }

    /// Kills the server without warning.
    pub(crate) fn kill(self) {
        drop(self);
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log.path()).unwrap_or_default()
    }

    /// Waits until the log has a line with these words; returns the line.
    pub(crate) fn logged(&self, words: &str) -> String {
        let begun = Instant::now();
        loop {
            let log = self.log();
            if let Some(line) = log.lines().find(|line| line.contains(words)) {
                return line.to_owned();
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no '{words}' in: {log}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
