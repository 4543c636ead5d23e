//! Keyspace notifications: which events are sent on which channels, and to which clients.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{Server, serve, serve_both};

/// A client subscribed to a pattern of channels.
fn listener(server: &Server, pattern: &str) -> Client {
    let mut client = Client::new(server.addr());
    assert!(client.ask(&format!("PSUBSCRIBE {pattern}")).contains("psubscribe"));
    client
}

/// The next message: `channel message`.
fn heard(client: &mut Client) -> String {
    let bytes = client.reply();
    let text = String::from_utf8(bytes).unwrap();
    let words: Vec<&str> = text.lines().skip(1).filter(|line| !line.starts_with('$')).collect();
    words[2..].join(" ").replace("__keyevent@", "").replace("__keyspace@", "")
}

#[test]
fn commands_tell_what_they_did() {
    let server = serve("--notify-keyspace-events EA");
    let mut client = Client::new(server.addr());
    let mut ears = listener(&server, "__key*");
    for (line, events) in [
        ("SET a 1", &["set a"][..]),
        ("SET a 1 EX 100", &["set a", "expire a"]),
        ("SET a 1 NX", &[]),
        ("SETEX a 100 1", &["set a", "expire a"]),
        ("PSETEX a 100000 1", &["set a", "expire a"]),
        ("SETNX a 2", &[]),
        ("GETSET a 1", &["set a"]),
        ("GETEX a EX 100", &["expire a"]),
        ("GETEX a PERSIST", &["persist a"]),
        ("GETEX a PERSIST", &[]),
        ("GETEX a", &[]),
        ("MSET a 1 b 2", &["set a", "set b"]),
        ("MSETNX a 1 c 2", &[]),
        ("INCR a", &["incrby a"]),
        ("DECRBY a 2", &["incrby a"]),
        ("INCRBYFLOAT a 0.5", &["incrbyfloat a"]),
        ("APPEND a x", &["append a"]),
        ("SETRANGE a 0 x", &["setrange a"]),
        ("SETBIT a 0 1", &["setbit a"]),
        ("BITFIELD a SET u8 0 1", &["setbit a"]),
        ("BITFIELD a GET u8 0", &[]),
        ("BITOP OR c a b", &["set c"]),
        ("BITOP OR c none none", &["del c"]),
        ("EXPIRE a 100", &["expire a"]),
        ("EXPIRE none 100", &[]),
        ("PERSIST a", &["persist a"]),
        ("PERSIST a", &[]),
        ("EXPIRE a -1", &["del a"]),
        ("RENAME b a", &["rename_from b", "rename_to a"]),
        ("COPY a b", &["copy_to b"]),
        ("MOVE b 3", &["move_from b", "3__:move_to b"]),
        ("GETDEL a", &["del a"]),
        ("GETDEL a", &[]),
        ("HSET h f 1 g 2", &["hset h"]),
        ("HSETNX h f 1", &[]),
        ("HINCRBY h f 1", &["hincrby h"]),
        ("HINCRBYFLOAT h f 0.5", &["hincrbyfloat h"]),
        ("HEXPIRE h 100 FIELDS 1 f", &["hexpire h"]),
        ("HPERSIST h FIELDS 1 f", &["hpersist h"]),
        ("HDEL h none", &[]),
        ("HDEL h f", &["hdel h"]),
        ("HDEL h g", &["hdel h", "del h"]),
        ("DEL a h none", &[]),
        ("SET a 1", &["set a"]),
        ("DEL a none", &["del a"]),
        ("GET none", &[]),
    ] {
        client.ask(line);
        for event in events {
            let is_elsewhere = event.contains("__:");
            let expected = if is_elsewhere { (*event).to_owned() } else { format!("0__:{event}") };
            assert_eq!(heard(&mut ears), expected, "{line}");
        }
    }
    client.ask("PUBLISH __key-end x");
    assert_eq!(heard(&mut ears), "__key-end x", "nothing more was told");
}

#[test]
fn what_leaves_by_itself_is_told() {
    let server = serve("--maxmemory 1mb --io-threads 1");
    let mut client = Client::new(server.addr());
    assert_eq!(client.ask("CONFIG SET notify-keyspace-events Exe"), "+OK\r\n");
    let mut ears = listener(&server, "__keyevent@0__:*");
    client.ask("SET short x PX 20");
    client.ask("SET old x");
    assert_eq!(heard(&mut ears), "0__:expired short");
    let value = "x".repeat(1_000);
    client.ask_all((0..3_000).map(|at| format!("SET key:{at} {value}")));
    assert!(heard(&mut ears).starts_with("0__:evicted "));
}

#[test]
fn classes_and_channels_are_as_chosen() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("CONFIG SET notify-keyspace-events Kg$");
    let mut ears = listener(&server, "__key*");
    client.ask("SET a 1");
    client.ask("HSET h f 1");
    client.ask("DEL a");
    assert_eq!(heard(&mut ears), "0__:a set");
    assert_eq!(heard(&mut ears), "0__:a del");
    client.ask("CONFIG SET notify-keyspace-events Emn");
    client.ask("GET none");
    client.ask("SET new 1");
    client.ask("SET new 2");
    client.ask("MULTI");
    client.ask("SET newer 1");
    client.ask("EXEC");
    assert_eq!(heard(&mut ears), "0__:keymiss none");
    assert_eq!(heard(&mut ears), "0__:new new");
    assert_eq!(heard(&mut ears), "0__:new newer");
}

/// Events of keys that belong to bob's clients reach only bob's clients.
#[test]
fn others_do_not_hear_of_keys_that_are_not_theirs() {
    let server = serve(
        "--notify-keyspace-events KEA --tenant mine match user bob --user 'bob on >pw ~* &* +@all'",
    );
    let mut bob = Client::new(server.addr());
    bob.ask("AUTH bob pw");
    let mut ears = listener(&server, "__keyevent*");
    let mut his = Client::new(server.addr());
    his.ask("AUTH bob pw");
    his.ask("PSUBSCRIBE __keyevent*");
    bob.ask("SET secret 1");
    Client::new(server.addr()).ask("SET open 1");
    assert_eq!(heard(&mut ears), "0__:set open");
    assert_eq!(heard(&mut his), "0__:set secret");
}

/// Writes by memcached's clients send the same events as the equivalent Redis commands.
#[test]
fn memcacheds_writes_are_told() {
    let (server, port) = serve_both("--notify-keyspace-events EAmn");
    let mut text = Text::new(port);
    Client::new(server.addr()).ask("RPUSH list 1");
    let mut ears = listener(&server, "__key*");
    for (line, events) in [
        ("set a 0 0 1|1", &["set a", "new a"][..]),
        ("set list 0 0 1|1", &["set list"]),
        ("set a 0 100 1|1", &["set a", "expire a"]),
        ("add a 0 0 1|1", &[]),
        ("append a 0 0 1|1", &["append a"]),
        ("prepend none 0 0 1|1", &[]),
        ("incr a 1", &["incrby a"]),
        ("decr none 1", &[]),
        ("get a", &[]),
        ("get none", &["keymiss none"]),
        ("touch a 100", &["expire a"]),
        ("touch a 0", &["persist a"]),
        ("gat 100 a", &["expire a"]),
        ("delete a", &["del a"]),
        ("delete a", &[]),
        ("ms b 1 T100|1", &["set b", "expire b", "new b"]),
        ("ms b 1 MA|1", &["append b"]),
        ("ms c 1 MA N100|1", &["set c", "expire c", "new c"]),
        ("mg b T100 v", &["expire b"]),
        ("ma b", &["incrby b"]),
        ("ma d N0", &["incrby d"]),
        ("md b I", &["set b"]),
        ("md b", &["del b"]),
        ("set c 0 -1 1|1", &["del c"]),
    ] {
        text.ask(line);
        for event in events {
            assert_eq!(heard(&mut ears), format!("0__:{event}"), "{line}");
        }
    }
    Client::new(server.addr()).ask("PUBLISH __key-end x");
    assert_eq!(heard(&mut ears), "__key-end x", "nothing more was told");
}

/// The expiry of a field sends an event, also without client-side tracking.
#[test]
fn deaths_of_fields_are_told() {
    let server = serve("--notify-keyspace-events Eh");
    let mut client = Client::new(server.addr());
    let mut ears = listener(&server, "__key*");
    client.ask("HSET h a 1 b 2 c 3");
    client.ask("HPEXPIRE h 20 FIELDS 1 a");
    client.ask("HPEXPIRE h 300 FIELDS 1 b");
    for event in ["hset", "hexpire", "hexpire", "hexpired", "hexpired"] {
        assert_eq!(heard(&mut ears), format!("0__:{event} h"));
    }
    assert_eq!(client.ask("HLEN h"), ":1\r\n");
}
