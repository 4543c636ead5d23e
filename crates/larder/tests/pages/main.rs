//! Runs the commands that the README and the book tell readers to type.
//!
//! The `sh` blocks of a page run one after the other, in one shell and a folder of their own.
//! Well-known ports are replaced by free ones, and the servers that a page starts end with it. A
//! block that cannot run gives the reason on the line before: `<!-- not run: REASON -->`.

mod alerts;
mod block;
#[path = "../programs/mod.rs"]
mod programs;

use block::{Block, blocks};
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The longest time that a page may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(900);

/// Ports as pages name them.
const PORTS: [&str; 5] = ["6379", "9379", "11211", "7000", "7001"];

/// A server listens a moment after its start, so clients wait for it, as a reader would. An error
/// reply ends the page.
const PRELUDE: &str = r#"
set -eu
export LARDER_CONFIG_PORT=6379 LARDER_CONFIG_HTTP_PORT=9379
ready() {
    for _ in $(seq 300); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return; fi
        sleep 0.1
    done
    echo "nobody listens on port $1" >&2
    return 1
}
redis-cli() {
    local port=6379 before= word
    for word in "$@"; do
        if [ "$before" = -p ]; then port=$word; fi
        before=$word
    done
    ready "$port"
    command redis-cli -e -p 6379 "$@"
}
larder() {
    case $1 in
    demo) command larder demo --seconds 4 ;;
    serve) exec larder "$@" ;;
    ping) ready 6379; shift; command larder ping --port 6379 "$@" ;;
    top) [ "${2:-}" = --once ] && set -- top redis://127.0.0.1:6379 --once; command larder "$@" ;;
    replay) ready "$(grep -oE '127.0.0.1:[0-9]+' <<<"$*" | cut -d: -f2)"; command larder "$@" ;;
    *) command larder "$@" ;;
    esac
}
curl() { ready 9379; command curl -f "$@"; }
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README, and every page of the book that is written by hand.
fn pages() -> Vec<PathBuf> {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let linked = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    // Pages of results have commands that run for hours.
    let linked = linked.filter(|link| !link.starts_with("results/")).map(|link| docs.join(link));
    [root().join("README.md")].into_iter().chain(linked).collect()
}

/// A free port for each port that pages name. The ports lie below the range that the system assigns
/// to clients; otherwise a client of the page could take one before the page's server listens.
fn free_ports() -> Vec<String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id();
    let port = || {
        let at = first.wrapping_mul(31).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        (10_000 + at % 20_000) as u16
    };
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let free = std::iter::repeat_with(port).filter(is_free);
    free.take(PORTS.len()).map(|port| port.to_string()).collect()
}

/// Replaces the known ports in a text. A number is a port only if no digit stands beside it.
fn with_ports(text: &str, ports: &[String]) -> String {
    let mut out = String::new();
    let mut number = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        let known = PORTS.iter().position(|port| *port == number);
        out.push_str(known.map_or(&number, |at| &ports[at]));
        number.clear();
        out.push(c);
    }
    out.pop();
    out
}

fn is_installed(program: &str) -> bool {
    Command::new("which").arg(program).output().is_ok_and(|output| output.status.success())
}

/// Runs the blocks of a page; the error says what failed, and after which block.
fn run(blocks: &[Block]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let ports = free_ports();
    let mut script = PRELUDE.to_owned();
    for block in blocks {
        // A reader of the source has no installed binary yet.
        let text = block.text.replace("cargo run --release -- ", "larder ");
        let told = format!("echo '→ line {}' >&2\n", block.line);
        script.extend([told.as_str(), text.as_str(), "\n"]);
    }
    programs::build_lab();
    let built = Path::new(env!("CARGO_BIN_EXE_larder")).parent().unwrap();
    let path = std::env::join_paths(
        [built.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let said = folder.path().join("said.txt");
    let log = fs::File::create(&said).unwrap();
    let mut child = Command::new("bash")
        .args(["-c", &with_ports(&script, &ports)])
        .env("PATH", path.unwrap())
        .current_dir(folder.path())
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if begun.elapsed() > PATIENCE => break None,
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    // Kill the shell, and the processes that it left in the background.
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).output();
    let _ = child.wait();
    match status {
        Some(status) if status.success() => Ok(()),
        ended => Err(format!("{ended:?}\n{}", fs::read_to_string(said).unwrap())),
    }
}

#[test]
fn every_block_of_every_page_runs() {
    let pages = pages();
    assert!(pages.len() > 20, "{pages:?}");
    let failures: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = pages.iter().map(|page| scope.spawn(|| check(page))).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
}

/// Checks a page; returns the problem, if there is one.
fn check(page: &Path) -> Option<String> {
    let text = fs::read_to_string(page).unwrap();
    let run = match blocks(&text) {
        Ok(blocks) => blocks,
        Err(problem) => return Some(format!("{}: {problem}", page.display())),
    };
    let needs = ["redis-cli", "curl"];
    let needed = needs.iter().filter(|tool| run.iter().any(|block| block.text.contains(**tool)));
    if let Some(absent) = needed.into_iter().find(|tool| !is_installed(tool)) {
        skip::skip(absent, "apt-get install redis-tools curl");
        return None;
    }
    if run.is_empty() {
        return None;
    }
    let begun = Instant::now();
    let failed = self::run(&run).err();
    println!("{:.1} s: {}", begun.elapsed().as_secs_f64(), page.display());
    failed.map(|why| format!("{}: {why}", page.display()))
}

#[test]
fn a_block_that_fails_fails_its_page() {
    let block = |text: &str| Block { line: 1, text: text.to_owned() };
    assert!(run(&[block("true"), block("test -d .")]).is_ok());
    assert!(run(&[block("false"), block("true")]).unwrap_err().contains("line 1"));
    assert!(run(&[block("larder serve --no-such-directive 1 & wait $!")]).is_err());
}

#[test]
fn ports_are_numbers_that_stand_alone() {
    let ports: Vec<String> = ["1", "2", "3", "4", "5"].map(str::to_owned).into();
    assert_eq!(with_ports("-p 6379 16379 7000:9379", &ports), "-p 1 16379 4:2");
}
