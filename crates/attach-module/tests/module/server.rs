//! Servers to load the module into, and a client for them.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The available servers: the installed one, and those in LARDER_SERVERS, separated by colons.
pub(crate) fn all() -> Vec<String> {
    let more = std::env::var("LARDER_SERVERS").unwrap_or_default();
    let named = more.split(':').filter(|path| !path.is_empty()).map(str::to_owned);
    let known = std::iter::once("redis-server".to_owned()).chain(named);
    let runs =
        |path: &String| Command::new(path).arg("--version").stdout(Stdio::null()).status().is_ok();
    known.filter(runs).collect()
}

/// The installed server; without one, notes the skipped test.
pub(crate) fn installed() -> Option<String> {
    let found = all().into_iter().next();
    if found.is_none() {
        skip::skip("redis-server", "apt-get install redis-server");
    }
    found
}

/// The path of the module that Cargo built beside this test.
pub(crate) fn module() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().find(|at| at.join("liblarder_module.so").exists());
    folder.expect("Cargo builds the library before its tests").join("liblarder_module.so")
}

/// A reply of the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    Text(String),
    Error(String),
    Number(i64),
    Nothing,
    List(Vec<Reply>),
}

impl Reply {
    /// All its texts, a line each.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) | Self::Error(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Nothing => String::new(),
            Self::List(all) => all.iter().map(Self::text).collect::<Vec<_>>().join("\n"),
        }
    }
}

/// A connection to a server.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(port: u16) -> Option<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Some(Self { stream: BufReader::new(stream) })
    }

    /// Sends commands at once and reads their replies.
    pub(crate) fn all(&mut self, commands: &[Vec<String>]) -> Vec<Reply> {
        self.attempt(commands).unwrap()
    }

    /// Sends commands at once to a server that may end meanwhile.
    pub(crate) fn attempt(&mut self, commands: &[Vec<String>]) -> io::Result<Vec<Reply>> {
        let mut bytes = vec![];
        for words in commands {
            write!(bytes, "*{}\r\n", words.len())?;
            for word in words {
                write!(bytes, "${}\r\n{word}\r\n", word.len())?;
            }
        }
        self.stream.get_mut().write_all(&bytes)?;
        commands.iter().map(|_| self.read()).collect()
    }

    /// Sends one command.
    pub(crate) fn call(&mut self, words: &[&str]) -> Reply {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        self.all(&[words]).remove(0)
    }

    /// The text of the reply to one command, given as words separated by spaces.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.call(&line.split(' ').collect::<Vec<_>>()).text()
    }

    fn read(&mut self) -> io::Result<Reply> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let (kind, rest) = line.trim_end().split_at(1);
        Ok(match kind {
            "+" => Reply::Text(rest.to_owned()),
            "-" => Reply::Error(rest.to_owned()),
            ":" => Reply::Number(rest.parse().unwrap()),
            "$" if rest == "-1" => Reply::Nothing,
            "$" => {
                let mut bytes = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.stream.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Reply::Text(String::from_utf8(bytes).unwrap())
            }
            "*" => {
                let count = rest.parse().unwrap_or(0);
                Reply::List((0..count).map(|_| self.read()).collect::<io::Result<_>>()?)
            }
            _ => panic!("{line:?}"),
        })
    }

    /// The fields of INFO.
    pub(crate) fn info(&mut self, section: &str) -> HashMap<String, String> {
        let text = self.ask(&format!("INFO {section}"));
        let fields = text.lines().filter_map(|line| line.split_once(':'));
        fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// A number in INFO.
    pub(crate) fn number(&mut self, section: &str, field: &str) -> f64 {
        let info = self.info(section);
        let value = info.get(field).unwrap_or_else(|| panic!("INFO {section} lacks {field}"));
        value.parse().unwrap_or_else(|_| panic!("{field}:{value}"))
    }
}

/// A port without a listener.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server with the module, on its own port and in its own folder.
pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
    folder: TempDir,
}

impl Server {
    /// Starts a server with the module and these settings.
    pub(crate) fn start(path: &str, settings: &[(&str, &str)]) -> Self {
        let port = free_port();
        let folder = tempfile::tempdir().unwrap();
        let mut lines = vec![
            format!("port {port}"),
            "save \"\"".to_owned(),
            "enable-module-command yes".to_owned(),
            "maxmemory-policy allkeys-lru".to_owned(),
            format!("dir {}", folder.path().display()),
            format!("loadmodule {}", module().display()),
        ];
        lines.extend(settings.iter().map(|(name, value)| format!("{name} {value}")));
        let file = folder.path().join("server.conf");
        std::fs::write(&file, lines.join("\n") + "\n").unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let process = Command::new(path).arg(&file).stdout(log).spawn().unwrap();
        let server = Self { process, port, folder };
        let begun = Instant::now();
        while Client::connect(port).is_none_or(|mut client| client.ask("PING") != "PONG") {
            assert!(begun.elapsed() < Duration::from_secs(20), "{path}: {}", server.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// Kills the process, as a power failure does.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Opens another connection.
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.port).unwrap_or_else(|| panic!("{}", self.log()))
    }

    /// The server's log.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// A busy machine may take this many times as long as an idle one.
const BUSY: u32 = 10;

/// Waits until a condition holds, which takes at most `seconds` seconds on an idle machine.
pub(crate) fn until(seconds: u64, what: &str, mut is_so: impl FnMut() -> bool) {
    let (begun, most) = (Instant::now(), BUSY * Duration::from_secs(seconds));
    while !is_so() {
        assert!(begun.elapsed() < most, "{what}: not in {most:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
