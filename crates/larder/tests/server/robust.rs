//! Many clients, and clients that behave badly: each is closed at its limit, the error names the
//! setting, and no item is evicted for it. (`limits.rs` has the limits of a single client.)

use crate::client::Client;
use crate::process::{serve, serve_both};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The number of files that this process may open.
fn files() -> u64 {
    let text = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    soft.unwrap_or(1_024)
}

/// Runs `busy` working clients among `idle` silent ones: every reply is right, nothing is evicted,
/// and the silent clients are still connected at the end.
fn crowd(idle: usize, busy: usize, rounds: usize) {
    let needed = (idle + busy) as u64 + 200;
    let (idle, busy) = if needed > files() {
        println!("only {} files may be open: fewer clients (ulimit -n {needed})", files());
        let share = files() as f64 / needed as f64;
        ((idle as f64 * share) as usize, (busy as f64 * share) as usize)
    } else {
        (idle, busy)
    };
    let server = serve("--maxmemory 256mb --maxclients 20000");
    let address = server.addr();
    let silent: Vec<_> = (0..idle).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut workers: Vec<_> = (0..busy).map(|_| Client::new(address)).collect();
    let begun = Instant::now();
    for round in 0..rounds {
        // All clients send first; then their replies are read.
        for (number, client) in workers.iter_mut().enumerate() {
            client.send(
                format!("SET k:{number} {round}\r\nINCR all\r\nGET k:{number}\r\n").as_bytes(),
            );
        }
        for client in &mut workers {
            assert_eq!(client.reply(), b"+OK\r\n");
            assert!(client.reply().starts_with(b":"));
            let length = round.to_string().len();
            assert_eq!(client.reply(), format!("${length}\r\n{round}\r\n").as_bytes());
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let commands = 3 * rounds * busy;
    println!("{idle} idle, {busy} busy: {commands} commands in {seconds:.2} s");
    let mut client = Client::new(address);
    assert_eq!(client.value("GET all"), (rounds * busy).to_string());
    assert_eq!(client.info("connected_clients"), (idle + busy + 1).to_string());
    assert_eq!(client.info("evicted_keys"), "0");
    for mut stream in silent.iter().step_by(silent.len() / 50 + 1) {
        stream.write_all(b"PING\r\n").unwrap();
        let mut reply = [0; 7];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"+PONG\r\n");
    }
    drop(silent);
}

/// Client and server are separate processes, so 12 000 open files are enough (`ulimit -n`).
#[test]
fn busy_clients_among_idle_ones() {
    crowd(10_000, 1_000, 100);
}

/// A client of a server, after it wrote 2 000 items of a kilobyte.
fn filled(address: SocketAddr) -> Client {
    let mut client = Client::new(address);
    for at in 0..2_000 {
        client.ask(&format!("SET key:{at} {}", "x".repeat(1_000)));
    }
    client
}

/// Slow readers, and clients that never finish a write: the server closes them, and every item
/// stays. Buffers take at most two fifths of `maxmemory` from items, and this test leaves more than
/// that free.
#[test]
fn no_item_is_evicted_for_bad_clients() {
    let server = serve(
        "--maxmemory 8mb --client-query-buffer-limit 1mb --proto-max-bulk-len 64mb \
         --client-output-buffer-limit 'normal 4mb 0 0'",
    );
    let mut client = filled(server.addr());
    client.ask(&format!("SET big {}", "x".repeat(200_000)));
    let (size, evicted) = (client.value("DBSIZE"), client.info("evicted_keys"));
    assert_eq!((size.as_str(), evicted.as_str()), ("2001", "0"));
    let slow: Vec<_> = (0..20)
        .map(|_| {
            let mut slow = Client::new(server.addr());
            slow.send(format!("MGET{}\r\n", " big".repeat(50)).as_bytes());
            slow
        })
        .collect();
    let chunk = vec![b'x'; 1 << 16];
    let unfinished: Vec<_> = (0..20)
        .map(|_| {
            let mut half = Client::new(server.addr());
            half.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$60000000\r\n");
            // The server may close before all is sent.
            let _ = (0..40).take_while(|_| half.stream.write_all(&chunk).is_ok()).count();
            half
        })
        .collect();
    let begun = Instant::now();
    while client.info("client_query_buffer_limit_disconnections") != "20"
        || client.info("client_output_buffer_limit_disconnections") != "20"
    {
        assert!(begun.elapsed() < Duration::from_secs(60), "not all were cut");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(client.info("evicted_keys"), evicted);
    assert_eq!(client.value("DBSIZE"), size);
    drop((slow, unfinished));
}

/// A command whose bytes trickle in is answered when it is complete, and holds up no other client.
#[test]
fn half_written_commands_wait_alone() {
    let server = serve("");
    let mut half: Vec<_> = (0..50).map(|_| Client::new(server.addr())).collect();
    for client in &mut half {
        client.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nab");
    }
    let mut other = Client::new(server.addr());
    assert_eq!(other.ask("PING"), "+PONG\r\n");
    assert_eq!(other.value("GET k"), "(null)");
    for client in &mut half {
        client.send(b"cde\r\n");
    }
    for client in &mut half {
        assert_eq!(client.reply(), b"+OK\r\n");
    }
    assert_eq!(other.value("GET k"), "abcde");
}

/// A field of `/proc/PID/status` in kilobytes.
fn status_kb(pid: u32, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Resident memory of a process in kilobytes.
fn resident_kb(pid: u32) -> u64 {
    status_kb(pid, "VmRSS:")
}

/// Peak resident memory of a process in kilobytes.
fn peak_kb(pid: u32) -> u64 {
    status_kb(pid, "VmHWM:")
}

/// A value that will be refused is not built first. It uses no memory and evicts no item, with and
/// without eviction, and for a tenant's max too.
#[test]
fn what_is_refused_is_not_built() {
    for policy in ["allkeys-lru", "noeviction"] {
        let (server, port) = serve_both(&format!(
            "--maxmemory 64mb --maxmemory-policy {policy} --tenant t match prefix t: max 8mb \
             --memcached-item-size-max 400mb"
        ));
        let mut client = Client::new(server.addr());
        client.ask("SET long x");
        client.ask("SETRANGE long 20000000 x");
        for at in 0..200 {
            client.ask(&format!("SET key:{at} {}", "x".repeat(1_000)));
        }
        let before = peak_kb(server.pid());
        let mut lines = vec![
            "SETBIT a 4294967295 1",
            "SETRANGE a 400000000 x",
            "SETRANGE key:1 400000000 x",
            "BITFIELD a SET u8 3000000000 1",
            "BITFIELD a INCRBY u8 3000000000 1",
            "SETRANGE t:a 20000000 x",
            "SETBIT t:a 200000000 1",
            "BITOP OR t:a long",
            "COPY long t:a",
            "RENAME long t:a",
        ];
        if policy == "noeviction" {
            // Twice as long as the free memory.
            lines.extend(["SETRANGE a 60000000 x", "SETRANGE long 60000000 x"]);
        }
        for line in lines {
            let reply = client.ask(line);
            assert!(reply.starts_with("-OOM"), "{policy}: {line}: {reply}");
        }
        let mut text = patient(port);
        text.write_all(b"append long 0 0 80000000\r\n").unwrap();
        text.write_all(&vec![b'x'; 80_000_000]).unwrap();
        text.write_all(b"\r\n").unwrap();
        let mut reply = [0; 12];
        text.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"SERVER_ERROR");
        let grown = peak_kb(server.pid()).saturating_sub(before) >> 10;
        // The server holds the request itself, and the old copy of its buffer while the buffer
        // grows.
        assert!(grown < 260, "{policy}: {grown} MB more for what was refused");
        assert_eq!(client.info("evicted_keys"), "0", "{policy}");
        assert_eq!(client.value("STRLEN long"), "20000001");
        assert_eq!(client.value("GET key:7").len(), 1_000);
    }
}

/// A text of 10 000 digits is no number.
#[test]
fn a_long_text_is_no_number() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask(&format!("SET n {}", "1".repeat(10_000)));
    assert_eq!(client.ask("INCRBYFLOAT n 1"), "-ERR value is not a valid float\r\n");
    assert_eq!(client.ask("INCR n"), "-ERR value is not an integer or out of range\r\n");
}

/// Clients of either protocol that ask for a hundred megabytes each and read nothing. Their replies
/// do not pile up, and no other client waits for them. Once they read, each gets every byte, even
/// after it has closed its sending side.
#[test]
fn replies_do_not_pile_up() {
    const ASKED: usize = 100;
    let (server, port) = serve_both("--io-threads 1");
    let mut other = Client::new(server.addr());
    let value = "x".repeat(1 << 20);
    other.ask(&format!("SET big {value}"));
    let before = resident_kb(server.pid());
    let mut slow: Vec<_> = [server.addr().port(), port, server.addr().port(), port]
        .into_iter()
        .map(|port| {
            let mut stream = patient(port);
            let word = if port == server.addr().port() { "GET" } else { "get" };
            stream.write_all(format!("{word} big\r\n").repeat(ASKED).as_bytes()).unwrap();
            stream
        })
        .collect();
    let (begun, mut waits) = (Instant::now(), vec![]);
    while begun.elapsed() < Duration::from_secs(1) {
        let asked = Instant::now();
        assert_eq!(other.ask("PING"), "+PONG\r\n");
        waits.push(asked.elapsed());
        std::thread::sleep(Duration::from_millis(10));
    }
    waits.sort_unstable();
    let most = waits[waits.len() * 8 / 10];
    assert!(most < Duration::from_millis(200), "{most:?} of {waits:?}");
    let grown = resident_kb(server.pid()).saturating_sub(before) >> 10;
    assert!(grown < 40, "{grown} MB of replies wait");
    for stream in &mut slow {
        stream.shutdown(std::net::Shutdown::Write).unwrap();
    }
    for (at, mut stream) in slow.into_iter().enumerate() {
        let [first, last] = if at % 2 == 0 {
            ["$1048576\r\n", "\r\n"]
        } else {
            ["VALUE big 0 1048576\r\n", "\r\nEND\r\n"]
        };
        for _ in 0..ASKED {
            expect_large(&mut stream, first, 1 << 20, last);
        }
        assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0, "closed by the server");
    }
}

/// A client that reads as fast as it asks gives way to others.
#[test]
fn an_eager_reader_gives_way() {
    const ASKED: usize = 1_000;
    let server = serve("--io-threads 1");
    let mut other = Client::new(server.addr());
    other.ask(&format!("SET big {}", "x".repeat(1 << 20)));
    let mut eager = patient(server.addr().port());
    let mut reader = eager.try_clone().unwrap();
    eager.write_all("GET big\r\n".repeat(ASKED).as_bytes()).unwrap();
    let reading = std::thread::spawn(move || {
        let (mut chunk, mut left) = (vec![0; 1 << 20], ASKED * ((1 << 20) + 12));
        while left > 0 {
            left -= reader.read(&mut chunk).unwrap();
        }
    });
    let mut waits = vec![];
    while !reading.is_finished() {
        let asked = Instant::now();
        assert_eq!(other.ask("PING"), "+PONG\r\n");
        waits.push(asked.elapsed());
    }
    reading.join().unwrap();
    waits.sort_unstable();
    // On a busy machine some waits are long. A server that did not give way would answer a single
    // PING, at the end.
    let (pings, most) = (waits.len(), waits[waits.len() * 9 / 10]);
    assert!(pings > 20 && most < Duration::from_millis(200), "{pings} pings, {most:?}");
}

/// The size of a large value: 512 MB.
const LARGE: usize = 512 << 20;

/// Sends the head of a request, `size` bytes of a value, and the end of a line.
fn send_large(stream: &mut TcpStream, first: &str, size: usize) {
    stream.write_all(first.as_bytes()).unwrap();
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..size >> 20 {
        stream.write_all(&chunk).unwrap();
    }
    stream.write_all(b"\r\n").unwrap();
}

/// Checks that the reply is a head, `size` bytes of a value, and a tail.
fn expect_large(stream: &mut TcpStream, first: &str, size: usize, last: &str) {
    let mut head = vec![0; first.len()];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(String::from_utf8_lossy(&head), first);
    let mut chunk = vec![0; 1 << 20];
    for _ in 0..size >> 20 {
        stream.read_exact(&mut chunk).unwrap();
        assert!(chunk.iter().all(|&byte| byte == b'x'));
    }
    let mut tail = vec![0; last.len()];
    stream.read_exact(&mut tail).unwrap();
    assert_eq!(String::from_utf8_lossy(&tail), last);
}

fn patient(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// The settings refuse a large value before the server keeps any of it.
#[test]
fn a_value_of_512_mb_is_refused_by_setting() {
    let (server, port) = serve_both("--maxmemory 64mb --proto-max-bulk-len 100mb");
    let mut client = Client::new(server.addr());
    client.ask("SET a 1");
    let mut big = Client::new(server.addr());
    big.send(format!("*3\r\n$3\r\nSET\r\n$1\r\nb\r\n${LARGE}\r\n").as_bytes());
    let error = String::from_utf8(big.reply()).unwrap();
    assert!(error.contains("invalid bulk length (proto-max-bulk-len 104857600)"), "{error}");
    assert_eq!(big.reply(), b"", "what follows would be taken for commands");
    // This value is within the protocol's limit, and above the free memory.
    let error = client.ask(&format!("SET b {}", "x".repeat(90 << 20)));
    assert!(error.starts_with("-OOM ") && error.contains("'maxmemory'"), "{error}");
    let error = client.ask("SETRANGE a 536870911 x");
    assert!(error.contains("proto-max-bulk-len"), "{error}");
    assert_eq!((client.value("GET a"), client.info("evicted_keys")), ("1".into(), "0".into()));
    // With memcached's protocol the server skips the value, and the connection goes on.
    let mut text = patient(port);
    send_large(&mut text, &format!("set b 0 0 {LARGE}\r\n"), LARGE);
    text.write_all(b"get a\r\n").unwrap();
    let refused = "SERVER_ERROR object too large for cache (memcached-item-size-max)\r\n\
         VALUE a 0 1\r\n1\r\nEND\r\n";
    expect_large(&mut text, refused, 0, "");
    assert_eq!(client.value("GET a"), "1");
}

/// The settings allow a large value, by either protocol.
#[test]
fn a_value_of_512_mb_is_served_by_setting() {
    let more = "--maxmemory 2gb --proto-max-bulk-len 600mb --memcached-item-size-max 600mb";
    let (server, port) = serve_both(more);
    let mut redis = patient(server.addr().port());
    send_large(&mut redis, &format!("*3\r\n$3\r\nSET\r\n$1\r\na\r\n${LARGE}\r\n"), LARGE);
    redis.write_all(b"GET a\r\n").unwrap();
    expect_large(&mut redis, &format!("+OK\r\n${LARGE}\r\n"), LARGE, "\r\n");
    let mut text = patient(port);
    send_large(&mut text, &format!("set a 7 0 {LARGE}\r\n"), LARGE);
    text.write_all(b"get a\r\n").unwrap();
    expect_large(&mut text, &format!("STORED\r\nVALUE a 7 {LARGE}\r\n"), LARGE, "\r\nEND\r\n");
    assert_eq!(Client::new(server.addr()).info("evicted_keys"), "0");
}

/// The error of each limit names its setting.
#[test]
fn the_errors_of_limits_name_their_settings() {
    let server =
        serve("--maxmemory 1mb --client-query-buffer-limit 1mb --maxmemory-policy noeviction");
    let mut client = Client::new(server.addr());
    let value = "x".repeat(10_000);
    let refused = (0..200).map(|at| client.ask(&format!("SET k:{at} {value}")));
    let refused = refused.filter(|reply| reply != "+OK\r\n").last().unwrap();
    assert!(refused.starts_with("-OOM ") && refused.contains("'maxmemory'"), "{refused}");
    client.ask("MULTI");
    let refused = client.ask(&format!("SET k {value}"));
    assert!(refused.starts_with("-OOM ") && refused.contains("'maxmemory'"), "{refused}");
    let server = serve("--client-query-buffer-limit 1mb");
    let mut client = Client::new(server.addr());
    client.ask("MULTI");
    let refused = (0..200).map(|at| client.ask(&format!("SET k:{at} {value}")));
    let refused = refused.filter(|reply| reply != "+QUEUED\r\n").last().unwrap();
    assert!(refused.contains("client-query-buffer-limit"), "{refused}");
}
