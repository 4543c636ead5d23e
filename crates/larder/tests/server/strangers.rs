//! With a password nothing can be reached without it: no command of either protocol, on no kind of
//! socket, and nothing over HTTP but the two probes.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{free_port, serve, serve_both};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use wire::resp::Reply;

const MEMCACHED: &str = include_str!("compatibility/memcached-1.6.txt");

/// Commands that a client may send before it has sent its password.
const GREETINGS: [&str; 4] = ["auth", "hello", "quit", "reset"];

/// Adds the names and arities in a reply to COMMAND, including subcommands.
fn add_calls(of: &Reply<'_>, calls: &mut Vec<(String, i64)>) {
    let Reply::Array(commands) = of else { return };
    for command in commands {
        let Reply::Array(fields) = command else { panic!("{command:?}") };
        let (Some(name), Reply::Integer(arity)) = (fields[0].as_bytes(), &fields[1]) else {
            panic!("{fields:?}")
        };
        let Reply::Array(subcommands) = &fields[9] else { panic!("{fields:?}") };
        // A container command cannot be called without a subcommand.
        if subcommands.is_empty() || *arity != -2 {
            calls.push((String::from_utf8_lossy(name).into_owned(), *arity));
        }
        add_calls(&fields[9], calls);
    }
}

/// A line for every command and subcommand, with as many arguments as it requires.
fn lines(client: &mut Client) -> Vec<String> {
    let (reply, mut calls) = (client.ask("COMMAND"), vec![]);
    add_calls(&Reply::decode(reply.as_bytes()).unwrap().unwrap().0, &mut calls);
    let line = |(name, arity): (String, i64)| {
        let words = name.split('|').count();
        let arguments = usize::try_from(arity.abs()).unwrap().saturating_sub(words);
        name.replace('|', " ") + &" 1".repeat(arguments)
    };
    calls.into_iter().map(line).collect()
}

#[test]
fn every_command_asks_for_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let server = serve(&format!("--port {} --unixsocket {}", free_port(), path.display()));
    let mut client = Client::new(server.addr());
    let lines = lines(&mut client);
    assert!(lines.len() > 180, "only {}: is the table whole?", lines.len());
    client.ask("SET private 1");
    assert_eq!(client.ask("CONFIG SET requirepass sesame"), "+OK\r\n");
    let mut greetings = BTreeSet::new();
    for line in &lines {
        let reply = Client::new(server.addr()).ask(line);
        let mut socket = UnixStream::connect(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.write_all(format!("{line}\r\n").as_bytes()).unwrap();
        let mut bytes = [0; 512];
        let len = socket.read(&mut bytes).unwrap();
        if GREETINGS.contains(&line.split(' ').next().unwrap()) {
            greetings.insert(line.clone());
        } else {
            assert_eq!(reply, "-NOAUTH Authentication required.\r\n", "{line}");
            assert_eq!(&bytes[..len], reply.as_bytes(), "{line}, by the socket");
        }
    }
    assert_eq!(greetings.len(), GREETINGS.len(), "{greetings:?}");
    for (line, begin) in [
        ("AUTH 1", "-WRONGPASS"),
        ("HELLO", "-NOAUTH"),
        ("HELLO 3", "-NOAUTH"),
        ("HELLO 3 AUTH default wrong", "-WRONGPASS"),
        ("RESET", "+RESET"),
        ("QUIT", "+OK"),
    ] {
        let mut stranger = Client::new(server.addr());
        let reply = stranger.ask(line);
        assert!(reply.starts_with(begin), "{line}: {reply}");
        if line != "QUIT" {
            assert!(stranger.ask("GET private").starts_with("-NOAUTH"), "after {line}");
        }
    }
    // The refused commands queued, subscribed and watched nothing.
    assert_eq!(client.ask("PUBLISH 1 x"), ":0\r\n");
    assert_eq!(client.info("pubsub_clients"), "0");
    assert_eq!(client.value("DBSIZE"), "1");
    assert_eq!(client.value("GET private"), "1");
}

/// Users may come from the ACL or from memcached's token file.
#[test]
fn every_request_of_memcacheds_asks_for_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    std::fs::write(&tokens, "alice:sesame\n").unwrap();
    for arguments in [
        "--requirepass sesame --memcached-shutdown yes".to_owned(),
        format!("--memcached-auth-file {} --memcached-shutdown yes", tokens.display()),
    ] {
        let (server, port) = serve_both(&format!("--maxmemory 64mb {arguments}"));
        let mut client = Client::new(server.addr());
        client.ask("AUTH sesame");
        client.ask("SET a private");
        let mut requests = 0;
        for line in MEMCACHED.lines() {
            let (_, request) = line.split_once(": ").unwrap();
            requests += 1;
            let mut text = Text::new(port);
            let (line, data) = request.split_once('|').unwrap_or((request, ""));
            let data = if data.is_empty() { String::new() } else { format!("{data}\r\n") };
            text.send(format!("{line}\r\n{data}").as_bytes());
            let reply = text.line();
            // A memcached client sends its password as a `set`.
            let refused = match line.split(' ').next().unwrap() {
                "set" => "CLIENT_ERROR authentication failure",
                _ => "CLIENT_ERROR unauthenticated",
            };
            assert_eq!(reply, refused, "{request}");
        }
        assert!(requests > 40, "{requests}");
        assert_eq!(client.value("GET a"), "private");
        assert_eq!(client.value("DBSIZE"), "1");
    }
}

/// Status, head and body of the answer to a request with these additional lines.
fn fetch(address: SocketAddr, path: &str, lines: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n{lines}Connection: close\r\n\r\n").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_owned(), body.to_owned())
}

/// The header line of HTTP's Basic authentication.
fn basic(user: &str, password: &str) -> String {
    let mut text = vec![];
    wire::memcached::encode_key(&mut text, format!("{user}:{password}").as_bytes());
    format!("Authorization: Basic {}\r\n", String::from_utf8(text).unwrap())
}

#[test]
fn pages_are_for_who_may_call_info() {
    let users = "--requirepass sesame --user 'watcher on >look -@all +info' \
                 --user 'reader on >read ~* +@read -info' --user 'gone off >look +@all ~*'";
    let server =
        serve(&format!("--http-port {} {users} --tenant 'private match db 1'", free_port()));
    let http = server.http_addr();
    for path in ["/metrics", "/", "/key/a", "/metrics?x", "//metrics", "/healthz/", "/readyz/x"] {
        let (status, head, body) = fetch(http, path, "");
        assert_eq!(status, 401, "{path}: {body}");
        assert!(head.contains("www-authenticate: Basic realm="), "{head}");
        assert!(!body.contains("private") && !body.contains("larder_"), "{path}: {body}");
    }
    for path in ["/healthz", "/readyz"] {
        let (status, _, body) = fetch(http, path, "");
        assert_eq!(status, 200);
        assert!(["alive\n", "ready\n"].contains(&body.as_str()), "one word: {body}");
    }
    let status = |user: &str, password: &str| fetch(http, "/metrics", &basic(user, password)).0;
    assert_eq!(status("default", "sesame"), 200);
    assert_eq!(status("watcher", "look"), 200);
    assert_eq!(status("reader", "read"), 403, "it may not call INFO");
    for (user, password) in [("watcher", "wrong"), ("gone", "look"), ("nobody", ""), ("", "")] {
        assert_eq!(status(user, password), 401, "{user}");
    }
    assert!(fetch(http, "/metrics", &basic("watcher", "look")).2.contains("tenant=\"private\""));
    let mut client = Client::new(server.addr());
    client.ask("AUTH sesame");
    let log = client.ask("ACL LOG");
    assert!(log.contains("\r\nhttp\r\n") && log.contains("\r\nwatcher\r\n"), "{log}");
    // Where the default user needs no password, its own rights count.
    client.ask("CONFIG SET requirepass ''");
    assert_eq!(fetch(http, "/metrics", "").0, 200);
    client.ask("ACL SETUSER default -info");
    assert_eq!(fetch(http, "/metrics", "").0, 403);
    assert_eq!(status("watcher", "look"), 200);
}

/// Wrong passwords over HTTP count together with wrong passwords of the other protocols, and other
/// clients do not wait.
#[test]
fn guessing_over_http_is_slow() {
    let server = serve(&format!("--http-port {} --requirepass sesame", free_port()));
    let http = server.http_addr();
    let begun = Instant::now();
    for _ in 0..4 {
        assert_eq!(fetch(http, "/metrics", &basic("default", "wrong")).0, 401);
    }
    // The delays are 25, 50, 100, 200 and then 400 ms, each counted from the previous failure.
    assert!(begun.elapsed() >= Duration::from_millis(365), "{:?}", begun.elapsed());
    let begun = Instant::now();
    assert!(Client::new(server.addr()).ask("AUTH wrong").starts_with("-WRONGPASS"));
    assert!(begun.elapsed() >= Duration::from_millis(390), "{:?}", begun.elapsed());
    let guess = std::thread::spawn(move || fetch(http, "/metrics", &basic("default", "wrong")).0);
    let begun = Instant::now();
    assert_eq!(fetch(http, "/metrics", &basic("default", "sesame")).0, 200);
    assert_eq!(fetch(http, "/healthz", "").0, 200);
    assert!(begun.elapsed() < Duration::from_millis(750), "{:?}", begun.elapsed());
    assert_eq!(guess.join().unwrap(), 401);
}

/// A head without an end, bytes that are no HTTP, and a connection that persists.
#[test]
fn http_reads_within_bounds() {
    let server = serve(&format!("--http-port {}", free_port()));
    let connect = || {
        let stream = TcpStream::connect(server.http_addr()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    };
    let mut endless = connect();
    let mut line = String::from("GET / HTTP/1.1\r\n");
    for at in 0..2_000 {
        let _ = write!(line, "X-{at}: {}\r\n", "x".repeat(100));
    }
    // The server may close before all bytes are sent.
    let _ = endless.write_all(line.as_bytes());
    let mut page = vec![0; 12];
    if endless.read_exact(&mut page).is_ok() {
        assert_eq!(page, b"HTTP/1.1 431");
    }
    let mut rubbish = connect();
    rubbish.write_all(b"\x80\xff\r\n\r\n").unwrap();
    let mut page = String::new();
    rubbish.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 400 "), "{page}");
    let mut stays = connect();
    for _ in 0..3 {
        stays.write_all(b"HEAD /healthz HTTP/1.1\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n").unwrap();
        let mut both = String::new();
        while both.matches("\r\n\r\n").count() < 2 || !both.ends_with("alive\n") {
            let mut bytes = [0; 512];
            let len = stays.read(&mut bytes).unwrap();
            assert!(len > 0, "{both}");
            both += std::str::from_utf8(&bytes[..len]).unwrap();
        }
        assert_eq!(both.matches("\r\n\r\nalive").count(), 1, "HEAD has no body: {both}");
    }
}
