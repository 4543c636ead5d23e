//! Tools of other projects, run where they are installed and otherwise reported as skipped.

use crate::client::Client;
use crate::process::{serve, serve_both};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Whether a program is installed; a missing program is reported as skipped.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        skip::skip(program, "apt-get install redis-tools");
    }
    found
}

#[test]
fn redis_cli_stat() {
    if !has("redis-cli") {
        return;
    }
    let server = serve("");
    Client::new(server.addr()).ask("SET a 1");
    // redis-cli writes to a pipe in blocks, so the test reads many lines.
    let port = server.addr().port().to_string();
    let mut cli = Command::new("redis-cli")
        .args(["-p", &port, "--stat", "-i", "0.01"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(cli.stdout.take().unwrap()).lines();
    // keys, memory, clients, blocked, requests, connections: right once the first client has
    // disconnected.
    let is_right = |line: &String| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() >= 6 && (words[0], words[2], words[3]) == ("1", "1", "0")
    };
    let shown: Vec<String> = lines.map(Result::unwrap).take(200).collect();
    cli.kill().unwrap();
    cli.wait().unwrap();
    assert!(shown.iter().any(is_right), "{shown:?}");
}

#[test]
fn redis_cli_pipe_latency_and_interactive_start() {
    if !has("redis-cli") {
        return;
    }
    let server = serve("");
    let port = server.addr().port().to_string();
    let run = |args: &[&str], input: &str| {
        let mut cli = Command::new("redis-cli")
            .args([&["-p", &port], args].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        cli.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = cli.wait_with_output().unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let many: Vec<String> = (0..1_000).map(|at| format!("SET key:{at} {at}\r\n")).collect();
    let piped = run(&["--pipe"], &many.concat());
    assert!(piped.contains("errors: 0, replies: 1000"), "{piped}");
    assert_eq!(Client::new(server.addr()).value("DBSIZE"), "1000");
    let scanned = run(&["--scan", "--pattern", "key:99*"], "");
    assert_eq!(scanned.lines().count(), 11);
    // min, max, mean, count
    let latency = run(&["--latency", "--raw"], "");
    let numbers: Vec<f64> = latency.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert!(numbers.len() == 4 && numbers[3] > 1.0, "{latency}");
    // Input as a person types it: redis-cli sends COMMAND DOCS when it starts.
    let typed = run(&[], "GET key:7\nINCR key:7\n");
    assert_eq!(typed, "7\n8\n");
}

#[test]
fn redis_benchmark() {
    if !has("redis-benchmark") {
        return;
    }
    let server = serve("");
    let port = server.addr().port().to_string();
    let output = Command::new("redis-benchmark")
        .args(["-p", &port, "-q", "-n", "2000", "-P", "8", "-t", "ping,set,get,incr,mset,hset"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for test in ["PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "HSET", "MSET (10 keys)"] {
        assert!(text.contains(&format!("{test}: ")), "{test}: {text}");
    }
    assert!(!text.contains("ERR"), "{text}");
}

/// The requests of memcached-tool in its modes display, stats, settings, dump and sizes.
#[test]
fn what_memcached_tool_asks() {
    let (_server, port) = serve_both("");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut ask = |request: &str| {
        stream.write_all(request.as_bytes()).unwrap();
        let (mut all, mut byte) = (String::new(), [0]);
        while !all.ends_with("END\r\n") && !all.ends_with("STORED\r\n") {
            stream.read_exact(&mut byte).unwrap();
            all.push(char::from(byte[0]));
        }
        all
    };
    ask("set a 0 0 3\r\nabc\r\n");
    let items = ask("stats items\r\n");
    for field in ["number", "evicted", "reclaimed", "outofmemory"] {
        assert!(items.contains(&format!("STAT items:1:{field} ")), "{field}: {items}");
    }
    let slabs = ask("stats slabs\r\n");
    for field in ["1:chunk_size", "1:total_pages", "1:total_chunks", "1:used_chunks"] {
        assert!(slabs.contains(&format!("STAT {field} ")), "{field}: {slabs}");
    }
    assert!(ask("stats settings\r\n").contains("STAT maxconns "));
    assert!(ask("stats sizes\r\n").contains("STAT "));
    let dump = ask("lru_crawler metadump all\r\n");
    assert!(dump.starts_with("key=a exp=") && dump.contains(" size="), "{dump}");
    assert_eq!(ask("get a\r\n"), "VALUE a 0 3\r\nabc\r\nEND\r\n");
}

/// The path in Debian's package of memcached.
const MEMCACHED_TOOL: &str = "/usr/share/memcached/scripts/memcached-tool";

#[test]
fn memcached_tool() {
    if !std::path::Path::new(MEMCACHED_TOOL).exists() {
        skip::skip("memcached-tool", "apt-get install memcached");
        return;
    }
    let (_server, port) = serve_both("");
    let mut client = crate::memcached::Text::new(port);
    assert_eq!(client.ask("set hello 0 0 5|world"), "STORED");
    let tool = |mode: &str| {
        let place = format!("127.0.0.1:{port}");
        let output = Command::new("perl").args([MEMCACHED_TOOL, &place, mode]).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{mode}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // One line for the single size class, with one item in it.
    let shown = tool("display");
    let class: Vec<&str> = shown.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((class[0], class[4]), ("1", "1"), "{shown}");
    assert!(tool("stats").contains("curr_items"));
    assert!(tool("settings").contains("maxconns"));
    assert!(tool("sizes").contains("Count"));
    let dumped = tool("dump");
    assert!(dumped.contains("add hello 0 ") && dumped.contains("\r\nworld\r\n"), "{dumped}");
}

/// `watch connevents`: a line for each client that connects, and one for each that disconnects.
#[test]
fn connections_can_be_watched() {
    let (_server, port) = serve_both("");
    let watcher = TcpStream::connect(("127.0.0.1", port)).unwrap();
    watcher.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut lines = BufReader::new(watcher.try_clone().unwrap()).lines();
    (&watcher).write_all(b"watch connevents\r\n").unwrap();
    let mut line = || lines.next().unwrap().unwrap();
    assert_eq!(line(), "OK");
    let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let from = client.local_addr().unwrap().port();
    let come = line();
    let place = format!(" rip=127.0.0.1 rport={from} transport=tcp");
    assert!(come.contains(" type=conn_new") && come.contains(&place), "{come}");
    drop(client);
    let gone = line();
    assert!(gone.contains(" type=conn_close") && gone.contains(&place), "{gone}");
    assert!(gone.contains(" reason=normal cfd="), "{gone}");
}
