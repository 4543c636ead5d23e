//! Tenants: which tenant a key belongs to, and which clients see it.

use crate::client::Client;
use crate::process::{free_port, serve};
use std::net::SocketAddr;

/// Number of items of a tenant, from INFO.
fn keys(client: &mut Client, tenant: &str) -> String {
    let line = client.info(&format!("tenant_{tenant}"));
    line.split(',').find_map(|field| field.strip_prefix("items=")).unwrap().to_owned()
}

#[test]
fn databases_and_prefixes_are_seen_by_everyone() {
    let server = serve("--tenant a match db 3 --tenant b match prefix b: match prefix bb");
    let mut client = Client::new(server.addr());
    for key in ["x", "b:1", "bb", "bc"] {
        client.ask(&format!("SET {key} 1"));
    }
    client.ask("SELECT 3");
    client.ask("SET b:1 2");
    let mut other = Client::new(server.addr());
    assert_eq!(keys(&mut other, "default"), "2");
    assert_eq!(keys(&mut other, "a"), "1", "a's line stands before b's");
    assert_eq!(keys(&mut other, "b"), "2");
    assert_eq!(other.value("GET b:1"), "1");
    assert_eq!(other.value("DBSIZE"), "4");
    assert!(other.ask("KEYS *").starts_with("*4\r\n"));
    other.ask("FLUSHDB");
    assert_eq!(other.value("DBSIZE"), "0");
    other.ask("SELECT 3");
    assert_eq!(other.value("GET b:1"), "2");
    other.ask("SELECT 0");
    other.ask("FLUSHALL");
    other.ask("SELECT 3");
    assert_eq!(other.value("DBSIZE"), "0");
}

#[test]
fn a_user_and_a_port_have_a_key_space_of_their_own() {
    let port = free_port();
    let server = serve(&format!(
        "--user 'bob on >pw ~* &* +@all' --tenant t match user bob --tenant p match listener {port}"
    ));
    let mut plain = Client::new(server.addr());
    let mut bob = Client::new(server.addr());
    let mut by_port = Client::new(SocketAddr::from(([127, 0, 0, 1], port)));
    assert_eq!(bob.ask("AUTH bob pw"), "+OK\r\n");
    for (client, value) in [(&mut plain, "1"), (&mut bob, "2"), (&mut by_port, "3")] {
        client.ask(&format!("SET k {value}"));
    }
    assert_eq!(plain.value("GET k"), "1");
    assert_eq!(bob.value("GET k"), "2");
    assert_eq!(by_port.value("GET k"), "3");
    assert_eq!(bob.value("DBSIZE"), "1");
    bob.ask("FLUSHALL");
    assert_eq!(bob.value("DBSIZE"), "0");
    assert_eq!(plain.value("GET k"), "1", "another's key space stays");
    assert_eq!(by_port.value("GET k"), "3");
    bob.ask("RESET");
    assert_eq!(bob.value("GET k"), "1", "RESET makes bob anybody again");
}

/// A rule that changes at run time takes effect for connected clients. The server deletes keys that
/// belonged to another tenant before, because they would be out of date if the rule returned.
#[test]
fn rules_change_while_it_runs() {
    let server = serve("--maxmemory 64mb");
    let mut client = Client::new(server.addr());
    client.ask("SET a:1 old");
    client.ask("SET z 1");
    assert_eq!(
        client.ask("CONFIG SET tenant 'a match prefix a: min 1mb max 8mb weight 2'"),
        "+OK\r\n"
    );
    assert_eq!(client.value("GET a:1"), "(null)");
    assert_eq!(client.value("DBSIZE"), "1");
    client.ask("SET a:1 new");
    assert_eq!(keys(&mut client, "a"), "1");
    assert_eq!(client.value("GET z"), "1");
    let shown = client.ask("CONFIG GET tenant");
    assert!(shown.contains("a match prefix a: min 1mb max 8mb weight 2"), "{shown}");
    for (line, part) in [
        ("a", "matches nothing"),
        ("a match prefix a: min 9mb max 8mb", "below its min"),
        ("a match prefix a: min 65mb", "add up to"),
        ("a match db 16", "databases"),
        ("a match colour red", "'colour' is unknown"),
    ] {
        let error = client.ask(&format!("CONFIG SET tenant '{line}'"));
        assert!(error.starts_with("-ERR CONFIG SET failed") && error.contains(part), "{error}");
    }
    assert_eq!(client.value("GET a:1"), "new", "a refused change changes nothing");
}

/// A tenant never exceeds its max, and below its min the writes of others do not evict it.
#[test]
fn bounds_are_kept() {
    let server = serve(
        "--maxmemory 8mb --tenant a match prefix a: max 1mb --tenant b match prefix b: min 2mb",
    );
    let mut client = Client::new(server.addr());
    let value = "x".repeat(1_000);
    for i in 0..1_000 {
        client.ask(&format!("SET b:{i} {value}"));
    }
    for i in 0..4_000 {
        client.ask(&format!("SET a:{i} {value}"));
    }
    for i in 0..20_000 {
        client.ask(&format!("SET c:{i} {value}"));
    }
    let line = client.info("tenant_a");
    let bytes = line.split(',').find_map(|field| field.strip_prefix("used_bytes=")).unwrap();
    assert!(bytes.parse::<u64>().unwrap() <= 1 << 20, "{line}");
    assert_eq!(keys(&mut client, "b"), "1000");
    assert!(client.info("used_memory").parse::<u64>().unwrap() <= 8 << 20);
}

/// LHD draws enough candidates for any number of tenants, also when a tenant is added.
#[test]
fn lhd_has_enough_candidates() {
    for (flags, k) in
        [("", 32), ("--tenant web match prefix web:", 32), ("--maxmemory-samples 40", 40)]
    {
        let server = serve(&format!("--maxmemory 64mb --maxmemory-policy allkeys-lhd {flags}"));
        let mut client = Client::new(server.addr());
        assert_eq!(client.tenant(0)["k"], k, "{flags}");
        assert_eq!(client.ask("CONFIG SET tenant 'api match prefix api:'"), "+OK\r\n", "{flags}");
        assert_eq!(client.tenant(1)["k"], k, "{flags}, and a tenant came");
    }
}
