//! Refusals of memcached's protocol: values and lengths beyond a limit, clients without a password,
//! HTTP.

use super::Text;
use crate::process::serve_both;
use std::io::Read;

#[test]
fn values_beyond_the_limit_are_refused_and_their_bytes_skipped() {
    let (_server, port) = serve_both("--memcached-item-size-max 1000 --maxmemory 64mb");
    let mut client = Text::new(port);
    client.ask("set a 0 0 1|x");
    let large = "flush_all\r\n".repeat(100);
    let reply = client.ask(&format!("set a 0 0 {}|{large}", large.len()));
    assert_eq!(reply, "SERVER_ERROR object too large for cache (memcached-item-size-max)");
    assert_eq!(client.ask("get a"), "END", "the old value would be taken for the new");
    assert_eq!(client.ask(&format!("set b 0 0 1000|{}", "x".repeat(1000))), "STORED");
    let key = "k".repeat(251);
    assert!(client.ask(&format!("get {key}")).starts_with("CLIENT_ERROR"));
    assert!(client.ask("stats").contains("STAT store_too_large 1\r\n"));
}

#[test]
fn nothing_is_reached_without_a_token_when_one_is_set() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokens");
    std::fs::write(&file, "alice:secret\n").unwrap();
    let (_server, port) = serve_both(&format!("--memcached-auth-file {}", file.display()));
    let mut client = Text::new(port);
    client.send(b"get a\r\n");
    assert_eq!(client.line(), "CLIENT_ERROR unauthenticated");
    client.send(b"flush_all\r\nset x 0 0 9\r\nalice abc\r\n");
    assert_eq!(client.line(), "CLIENT_ERROR unauthenticated");
    assert_eq!(client.line(), "CLIENT_ERROR authentication failure");
    client.send(b"set x 0 0 12\r\nalice secret\r\n");
    assert_eq!(client.line(), "STORED");
    assert_eq!(client.ask("get x"), "END", "a token is no data");

    let (_server, port) = serve_both("--requirepass pw");
    let mut client = Text::new(port);
    client.send(b"get a\r\nset x 0 0 10\r\ndefault pw\r\n");
    assert_eq!(client.line(), "CLIENT_ERROR unauthenticated");
    assert_eq!(client.line(), "STORED");
    assert_eq!(client.ask("get a"), "END");
}

/// A web page can make a browser send requests to this port, with commands in the body.
#[test]
fn http_requests_are_closed_and_nothing_in_them_is_run() {
    let (server, port) = serve_both("");
    for head in ["POST / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\n", "x HTTP/2\r\n"] {
        let mut client = Text::new(port);
        client.send(format!("{head}set a 0 0 1\r\nx\r\n").as_bytes());
        let mut rest = vec![];
        // Bytes that the server did not read may turn the close into a reset.
        let _ = client.stream.read_to_end(&mut rest);
        assert_eq!(rest, b"", "{head}");
    }
    let mut client = Text::new(port);
    assert_eq!(client.ask("get a"), "END", "no body was run");
    assert_eq!(client.ask("get HTTP/1.1"), "END", "a key may be named so");
    server.logged("HTTP request");
    assert_eq!(server.log().matches("HTTP request").count(), 1, "once a minute is enough");
}

/// The server skips an announced data block only for a client that has logged in, and only up to
/// the length that memcached skips.
#[test]
fn lengths_that_cannot_be() {
    let (_server, port) = serve_both("--requirepass pw");
    let mut client = Text::new(port);
    client.send(b"set k 0 0 100000\r\nflush_all\r\n");
    assert_eq!(client.line(), "CLIENT_ERROR auth token too long");
    assert_eq!(client.line(), "", "it is closed");
    let (_server, port) = serve_both("");
    let mut client = Text::new(port);
    for line in ["set k 0 0 2147483647", "ms k 2147483647", "cas k 0 0 99999999999 1"] {
        assert_eq!(client.ask(line), "CLIENT_ERROR bad command line format", "{line}");
    }
}

/// Append and prepend obey the same limit as storing.
#[test]
fn joined_values_are_within_the_limit() {
    let (_server, port) = serve_both("--memcached-item-size-max 1000");
    let mut client = Text::new(port);
    let part = "x".repeat(600);
    assert_eq!(client.ask(&format!("set a 0 0 600|{part}")), "STORED");
    for (request, reply) in [
        ("append a 0 0 600", "NOT_STORED"),
        ("prepend a 0 0 600", "NOT_STORED"),
        ("ms a 600 MA", "NS"),
        ("ms a 600 MP s", "NS s600"),
    ] {
        assert_eq!(client.ask(&format!("{request}|{part}")), reply, "{request}");
    }
    assert_eq!(client.ask("mg a s"), "HD s600");
    assert_eq!(client.ask(&format!("append a 0 0 400|{}", &part[..400])), "STORED");
}
