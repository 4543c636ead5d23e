//! The instructions that a request costs the server, from socket to socket, counted by callgrind.
//! The count does not depend on other programs on the machine. The test finds a change that costs
//! more than 3 %.
//!
//! No command is timed here. The server times the first batches of each second, so a busy machine,
//! which serves fewer requests a second, would count more instructions.
//! The count depends on the build of the binary. The budget holds for the build that `.ci/run`
//! tests, with the compiler [`COMPILER`]; with another compiler the test is skipped. It holds for
//! the recipe `static`; `LARDER_SPEED_RECIPE` counts under another one, and `LARDER_SPEED_KEYS`
//! with another number of keys.

use super::client::Client;
use super::process::{free_port, larder};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wire::resp::encode_command;

/// The compiler for whose build the budget holds.
const COMPILER: &str = "rustc 1.95.0";
/// Command, depth of the pipeline, and budget of instructions for a request.
const BUDGET: [(&str, usize, f64); 4] =
    [("GET", 1, 3_400.0), ("GET", 16, 2_190.0), ("SET", 1, 3_690.0), ("SET", 16, 2_540.0)];
/// The share by which a count may exceed its budget.
const TOLERANCE: f64 = 0.03;
const KEYS: usize = 20_000;
/// Keys written in one batch before anything is counted.
const FILL: usize = 100;
/// Batches counted together, and repetitions. The lowest count is used, because work that the
/// server does by the clock only adds to it.
const BATCHES: usize = 400;
const ROUNDS: usize = 5;
const VALUE: [u8; 200] = [b'x'; 200];

/// The server under callgrind, which counts the instructions of its worker.
struct Counted(Child);

impl Counted {
    fn start(port: u16, out: &Path) -> Self {
        let recipe = std::env::var("LARDER_SPEED_RECIPE").unwrap_or_else(|_| "static".into());
        let server = larder(&format!(
            "serve --port {port} --http-port 0 --io-threads 1 --io-uring no --recipe {recipe} \
             --maxmemory 256mb --latency-tracking no"
        ));
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--collect-atstart=no", "--quiet"]);
        command.arg("--toggle-collect=server::net::worker::Worker::run*");
        command.arg(format!("--callgrind-out-file={}", out.display()));
        command.arg(server.get_program()).args(server.get_args());
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Writes the instructions counted since the last dump to a file of its own.
    fn dump(&self) {
        let pid = self.0.id().to_string();
        let output = Command::new("callgrind_control").args(["--dump", &pid]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn connect(port: u16) -> Client {
    let end = Instant::now() + Duration::from_secs(60);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < end, "the server does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    Client::new(([127, 0, 0, 1], port).into())
}

/// Sends batches, each after the replies to the previous batch.
fn play(client: &mut Client, keys: usize, command: &str, (depth, batches): (usize, usize)) {
    let mut key = 0;
    for _ in 0..batches {
        let mut bytes = vec![];
        for _ in 0..depth {
            // Each key once before any key again, in an order unrelated to the table.
            key = (key + 7_919) % keys;
            let name = format!("key:{key:012}");
            let words: &[&[u8]] = match command {
                "GET" => &[b"GET", name.as_bytes()],
                _ => &[b"SET", name.as_bytes(), &VALUE],
            };
            encode_command(&mut bytes, words);
        }
        client.send(&bytes);
        for _ in 0..depth {
            assert!(!client.reply().is_empty());
        }
    }
}

/// The instructions in the dump with this number.
fn counted(out: &Path, number: usize) -> f64 {
    let text = fs::read_to_string(format!("{}.{number}", out.display())).unwrap();
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
    total.trim().parse().unwrap()
}

#[test]
#[cfg_attr(debug_assertions, ignore = "measures an optimised server: bash .ci/run speed")]
fn a_request_costs_no_more_instructions_than_it_did() {
    let said = |command: &str| {
        let output = Command::new(command).arg("--version").output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    if said("valgrind").is_none() {
        skip::skip("valgrind", "apt-get install valgrind");
        return;
    }
    if !said("rustc").is_some_and(|version| version.starts_with(COMPILER)) {
        skip::skip("compiler", &format!("the budget is of {COMPILER}"));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (port, out) = (free_port(), folder.path().join("out"));
    let server = Counted::start(port, &out);
    let mut client = connect(port);
    let keys = std::env::var("LARDER_SPEED_KEYS").map_or(KEYS, |keys| keys.parse().unwrap());
    play(&mut client, keys, "SET", (FILL, keys / FILL));
    server.dump();
    for (command, depth, _) in BUDGET {
        for _ in 0..ROUNDS {
            play(&mut client, keys, command, (depth, BATCHES));
            server.dump();
        }
    }
    drop(server);
    let mut over = vec![];
    for (at, (command, depth, budget)) in BUDGET.into_iter().enumerate() {
        let rounds = (0..ROUNDS).map(|round| counted(&out, 2 + at * ROUNDS + round));
        let each = rounds.fold(f64::INFINITY, f64::min) / (depth * BATCHES) as f64;
        println!("{command} at depth {depth}: {each:.0} instructions, budget {budget}");
        // A name in `--toggle-collect` that no longer exists in the server counts nothing.
        assert!(each > budget / 4.0, "{command} at depth {depth}: {each:.0} instructions are none");
        if each > budget * (1.0 + TOLERANCE) {
            over.push(format!("{command} at depth {depth}: {each:.0}, budget {budget}"));
        }
    }
    assert!(over.is_empty(), "{over:?}: find out what costs more, or say why the budget grows");
}
