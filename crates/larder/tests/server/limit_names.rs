//! The error of each limit names its setting, so an operator knows what to change.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{Server, free_port, serve_both};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};

/// Exceeds a limit; returns the reply, or nothing where the connection is closed and the log names
/// the setting.
type Beyond = fn(&Server, u16) -> String;

const MEGA: usize = 1 << 20;

fn redis(server: &Server, lines: &[String]) -> String {
    let mut client = Client::new(server.addr());
    lines.iter().map(|line| client.ask(line)).last().unwrap()
}

fn text(port: u16, command: &str, bytes: usize) -> String {
    Text::new(port).ask(&format!("{command} {bytes}|{}", "x".repeat(bytes)))
}

/// The first reply other than `done`.
fn until_refused(done: &str, mut ask: impl FnMut(usize) -> String) -> String {
    (0..5_000).map(&mut ask).find(|reply| reply != done).expect("memory must be full")
}

/// Name of the setting, directives that start the server, and the request that exceeds the limit.
const LIMITS: &[(&str, &str, Beyond)] = &[
    ("proto-max-bulk-len", "--proto-max-bulk-len 1mb", |server, _| {
        let mut client = Client::new(server.addr());
        client.send(b"*2\r\n$3\r\nGET\r\n$2000000\r\n");
        String::from_utf8(client.reply()).unwrap()
    }),
    ("proto-max-bulk-len", "--proto-max-bulk-len 1mb", |server, _| {
        redis(server, &["SETRANGE a 1048576 x".into()])
    }),
    ("proto-max-bulk-len", "--proto-max-bulk-len 1mb", |server, _| {
        let line = format!("APPEND a {}", "x".repeat(MEGA * 2 / 3));
        redis(server, &[line.clone(), line])
    }),
    ("proto-max-bulk-len", "--proto-max-bulk-len 1mb", |server, _| {
        let value = "x".repeat(2_000);
        redis(server, &[format!("MSET a {value} b {value}"), "LCS a b".into()])
    }),
    ("proto-max-bulk-len", "--proto-max-bulk-len 1mb --memcached-item-size-max 2mb", |_, port| {
        text(port, "set a 0 0", MEGA * 2 / 3);
        text(port, "append a 0 0", MEGA * 2 / 3)
    }),
    ("client-query-buffer-limit", "--client-query-buffer-limit 1mb", |server, _| {
        let line = format!("SET a {}", "x".repeat(MEGA * 2 / 3));
        redis(server, &["MULTI".into(), line.clone(), line])
    }),
    ("client-query-buffer-limit", "--client-query-buffer-limit 1mb", |server, _| {
        let mut client = Client::new(server.addr());
        let begun = format!("*2\r\n$3\r\nGET\r\n${}\r\n", 8 * MEGA);
        // The server may close before all bytes are sent.
        let _ = client.stream.write_all(begun.as_bytes());
        let _ = client.stream.write_all(&vec![b'x'; 4 * MEGA]);
        String::new()
    }),
    (
        "client-output-buffer-limit",
        "--client-output-buffer-limit 'normal 1mb 0 0' --maxmemory 64mb",
        |server, _| {
            let mut client = Client::new(server.addr());
            client.ask(&format!("SET a {}", "x".repeat(MEGA)));
            client.send(format!("MGET{}\r\n", " a".repeat(64)).as_bytes());
            server.logged("above client-output-buffer-limit");
            String::new()
        },
    ),
    ("maxclients", "--maxclients 1", |server, _| {
        let mut first = Client::new(server.addr());
        first.ask("PING");
        let mut second = Client::new(server.addr());
        second.reply();
        String::from_utf8(second.reply()).unwrap()
    }),
    ("maxclients", "--maxclients 1", |server, port| {
        let mut first = Client::new(server.addr());
        first.ask("PING");
        Text::new(port).line()
    }),
    ("timeout", "--timeout 1 --loglevel debug", |server, _| {
        assert!(Client::new(server.addr()).reply().is_empty(), "it is closed");
        String::new()
    }),
    ("proto-max-bulk-len", "", |server, _| {
        let line = format!("APPEND a {}", "x".repeat(MEGA * 2 / 3));
        redis(server, &["CONFIG SET proto-max-bulk-len 1mb".into(), line.clone(), line])
    }),
    ("maxmemory", "--maxmemory 1mb --maxmemory-policy noeviction", |server, _| {
        let mut client = Client::new(server.addr());
        until_refused("+OK\r\n", |at| client.ask(&format!("SET {at} {}", "x".repeat(1_000))))
    }),
    ("maxmemory", "--maxmemory 4mb", |server, _| {
        redis(server, &[format!("SET a {}", "x".repeat(5 * MEGA))])
    }),
    ("maxmemory", "--maxmemory 4mb", |server, _| {
        redis(server, &[format!("HSET a f {}", "x".repeat(5 * MEGA))])
    }),
    ("maxmemory", "--maxmemory 1mb --maxmemory-policy noeviction", |_, port| {
        let mut client = Text::new(port);
        let data = "x".repeat(1_000);
        until_refused("STORED", |at| client.ask(&format!("set {at} 0 0 1000|{data}")))
    }),
    ("maxmemory", "--maxmemory 4mb --memcached-item-size-max 8mb", |_, port| {
        text(port, "set a 0 0", 5 * MEGA)
    }),
    ("tenant's max", "--maxmemory 64mb --tenant 'a match prefix a: max 2mb'", |server, _| {
        redis(server, &[format!("SET a:1 {}", "x".repeat(3 * MEGA))])
    }),
    ("memcached-item-size-max", "--memcached-item-size-max 1mb", |_, port| {
        text(port, "set a 0 0", 2 * MEGA)
    }),
    ("memcached-item-size-max", "--memcached-item-size-max 1mb", |_, port| {
        text(port, "ms a", 2 * MEGA)
    }),
    ("proto-max-bulk-len 1048576", "--proto-max-bulk-len 1mb", |server, _| {
        redis(server, &["SETBIT a 8388608 1".into()])
    }),
    ("proto-max-bulk-len 1048576", "--proto-max-bulk-len 1mb", |server, _| {
        redis(server, &["GETBIT a 8388608".into()])
    }),
    ("proto-max-bulk-len 1048576", "--proto-max-bulk-len 1mb", |server, _| {
        redis(server, &["BITFIELD a SET u8 8388607 1".into()])
    }),
    ("proto-max-bulk-len 1048576", "--proto-max-bulk-len 1mb", |server, _| {
        redis(server, &["BITFIELD a INCRBY u8 #1048576 1".into()])
    }),
    ("databases 4", "--databases 4", |server, _| redis(server, &["SELECT 4".into()])),
    ("databases 4", "--databases 4", |server, _| {
        redis(server, &["SET a 1".into(), "COPY a b DB 4".into()])
    }),
    ("databases 4", "--databases 4", |server, _| {
        redis(server, &["SET a 1".into(), "MOVE a 4".into()])
    }),
    ("auth-delay-max", "--requirepass sesame --auth-delay-max 50", |server, _| {
        let mut client = Client::new(server.addr());
        for _ in 0..3 {
            assert!(client.ask("AUTH wrong").starts_with("-WRONGPASS "));
        }
        server.logged("by 50 ms, and later ones by up to 50 ms (auth-delay-max)");
        String::new()
    }),
    ("tracking-table-max-keys", "--tracking-table-max-keys 10 --loglevel debug", |server, _| {
        let mut client = Client::new(server.addr());
        client.ask("HELLO 3");
        client.ask("CLIENT TRACKING ON");
        for at in 0..11 {
            client.ask(&format!("GET {at}"));
        }
        String::new()
    }),
    ("http-maxclients", "--http-maxclients 1 --loglevel debug", |server, _| {
        let connect = || TcpStream::connect(server.http_addr()).unwrap();
        let (mut silent, _other) = (connect(), connect());
        assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0, "it makes room");
        String::new()
    }),
];

#[test]
fn each_limits_error_names_its_setting() {
    for (at, (setting, arguments, beyond)) in LIMITS.iter().enumerate() {
        let http = if setting.starts_with("http") { free_port() } else { 0 };
        let (server, port) = serve_both(&format!("{arguments} --http-port {http}"));
        let reply = beyond(&server, port);
        if reply.is_empty() {
            server.logged(setting);
        } else {
            let is_error = ["-ERR ", "-OOM ", "SERVER_ERROR ", "ERROR "];
            assert!(is_error.iter().any(|begin| reply.starts_with(begin)), "{at}: {reply}");
            assert!(reply.contains(setting), "{at}: {setting}: {reply}");
        }
    }
}

/// The words that memcached's clients look for stand before the setting.
#[test]
fn memcacheds_words_stand_in_front() {
    let of = |name: &str, at: usize| {
        let mut found = LIMITS.iter().filter(|limit| limit.0 == name);
        let (_, arguments, beyond) = found.nth(at).unwrap();
        let (server, port) = serve_both(arguments);
        beyond(&server, port)
    };
    let too_large = "SERVER_ERROR object too large for cache (";
    assert!(of("memcached-item-size-max", 0).starts_with(too_large));
    assert!(of("maxmemory", 4).starts_with(too_large));
    assert_eq!(of("maxmemory", 3), "SERVER_ERROR out of memory storing object (maxmemory)");
}

/// These lists give no error: the oldest entries are dropped.
#[test]
fn logs_are_as_long_as_their_settings_say() {
    let server = serve_both("--acllog-max-len 2 --slowlog-max-len 3 --user 'bob on >pw -@all'").0;
    let (mut bob, mut client) = (Client::new(server.addr()), Client::new(server.addr()));
    assert_eq!(bob.ask("AUTH bob pw"), "+OK\r\n");
    for name in ["GET a", "TTL a", "DBSIZE", "PING"] {
        assert!(bob.ask(name).starts_with("-NOPERM "), "{name}");
    }
    assert_eq!(
        client.ask("CONFIG GET acllog-max-len"),
        "*2\r\n$14\r\nacllog-max-len\r\n$1\r\n2\r\n"
    );
    let log = client.ask("ACL LOG");
    assert!(log.starts_with("*2\r\n") && log.contains("ping") && log.contains("dbsize"), "{log}");
    assert_eq!(client.ask("CONFIG SET acllog-max-len 1"), "+OK\r\n");
    bob.ask("GET a");
    let log = client.ask("ACL LOG");
    assert!(log.starts_with("*1\r\n") && log.contains("get"), "{log}");
    client.ask("CONFIG SET slowlog-log-slower-than 0");
    for _ in 0..5 {
        client.ask("PING");
    }
    assert_eq!(client.ask("SLOWLOG LEN"), ":3\r\n");
}

/// An address of this machine other than loopback. Finding it sends nothing.
fn own_address() -> Option<std::net::IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("198.51.100.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

/// Without a password, clients of other machines are refused, and the error names the fix. A client
/// from an address of this machine other than loopback counts as such a client.
#[test]
fn without_a_password_only_the_same_machine_is_served() {
    let Some(own) = own_address() else {
        skip::skip("address", "an address of this machine beside its loopback");
        return;
    };
    let (server, memcached) = serve_both("--bind 0.0.0.0");
    let outside = SocketAddr::new(own, server.addr().port());
    let mut friend = Client::new(server.addr());
    assert_eq!(friend.ask("PING"), "+PONG\r\n");
    let mut stranger = Client::new(outside);
    let refused = String::from_utf8(stranger.reply()).unwrap();
    assert!(refused.starts_with("-DENIED "), "{refused}");
    assert!(refused.contains("requirepass") && refused.contains("protected-mode"), "{refused}");
    assert_eq!(stranger.reply(), b"", "and the connection is closed");
    let mut refused = String::new();
    let mut stranger = TcpStream::connect(SocketAddr::new(own, memcached)).unwrap();
    std::io::Read::read_to_string(&mut stranger, &mut refused).unwrap();
    assert!(refused.starts_with("SERVER_ERROR protected mode: "), "{refused}");
    // With a password remote clients are served once they have sent it.
    assert_eq!(friend.ask("CONFIG SET requirepass sesame"), "+OK\r\n");
    let mut stranger = Client::new(outside);
    assert!(stranger.ask("PING").starts_with("-NOAUTH"));
    assert_eq!(stranger.ask("AUTH sesame"), "+OK\r\n");
    assert_eq!(stranger.ask("PING"), "+PONG\r\n");
    // Without a password and without protected mode, every client is served.
    assert_eq!(friend.ask("CONFIG SET requirepass '' protected-mode no"), "+OK\r\n");
    assert_eq!(Client::new(outside).ask("PING"), "+PONG\r\n");
}
