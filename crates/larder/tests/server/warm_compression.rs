//! Compressed items across restarts and dumps: they keep their form, and need their dictionaries.

use crate::client::Client;
use crate::http::fetch;
use crate::process::{Server, free_port, serve_command, start};
use std::path::Path;
use std::time::{Duration, Instant};

const KEYS: u64 = 6_000;
/// The kind of a block with a dictionary, in a warm-restart file.
const DICTIONARY: u8 = 0xd1;
const AUTO: [&str; 2] = ["--compression", "auto"];

/// A server that saves in `folder`, and compresses whatever saves any waiting.
fn warm(folder: &Path, maxmemory: &str, more: &[&str]) -> Server {
    let file = folder.join("warm");
    let words = format!("--compression-weight 0 --maxmemory {maxmemory}");
    start(serve_command(&words).arg("--warm-restart-file").arg(file).args(more))
}

/// A document of some 700 bytes without spaces, alike for all keys in most of its text.
fn document(number: u64) -> String {
    let entry = |at: u64| {
        let (score, user) = (number * 7_919 % (1_000 + at), (number + at * at) % 500);
        format!("{{position:{at},score:{score},author:user-{user},state:published,kind:comment}},")
    };
    format!("{{id:{number},entries:[{}]}}", (0..9).map(entry).collect::<String>())
}

/// A figure of INFO compression.
fn figure(client: &mut Client, name: &str) -> f64 {
    let info = client.value("INFO compression");
    let line = info.lines().find_map(|line| line.strip_prefix(&format!("compression_{name}:")));
    line.unwrap_or_else(|| panic!("{name} in {info}")).parse().unwrap()
}

/// Reads keys and writes the missing ones, until the server has compressed many with dictionaries.
fn fill(client: &mut Client, prefix: &str) {
    let (begun, mut prng) = (Instant::now(), base::Prng::new(1));
    loop {
        let keys: Vec<_> = (0..1_000).map(|_| prng.below(KEYS)).collect();
        let replies = client.ask_all(keys.iter().map(|key| format!("GET {prefix}{key}")));
        let missed = keys.iter().zip(&replies).filter(|(_, reply)| reply.is_none());
        let set = |(&key, _): (&u64, _)| format!("SET {prefix}{key} {} COST 9000", document(key));
        client.ask_all(missed.map(set));
        if figure(client, "items") > 2_000.0 && figure(client, "dictionary_bytes") > 0.0 {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", client.value("INFO compression"));
    }
}

/// The numbers of the keys that are there, with the right values.
fn present(client: &mut Client, prefix: &str) -> Vec<u64> {
    let values = client.ask_all((0..KEYS).map(|key| format!("GET {prefix}{key}")));
    let right = |(key, value): (u64, Option<String>)| {
        let value = value?;
        assert_eq!(value, document(key));
        Some(key)
    };
    (0..KEYS).zip(values).filter_map(right).collect()
}

/// The first byte of the payload of each block, and the kind.
fn blocks(file: &[u8]) -> Vec<(usize, u8)> {
    let (mut at, mut all) = (12, vec![]);
    while at < file.len() {
        let length = u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
        all.push((at + 13, file[at + 8]));
        at += 13 + length;
    }
    all
}

#[test]
fn compressed_items_keep_their_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("warm");
    let server = warm(folder.path(), "3mb", &AUTO);
    let mut client = Client::new(server.addr());
    fill(&mut client, "k");
    // Nothing is compressed any more, so that the counts stand still.
    client.ask("CONFIG SET compression no");
    client.ask("SET plain 1");
    let before = present(&mut client, "k");
    let held = ["items", "plain_bytes", "stored_bytes"].map(|name| figure(&mut client, name));
    server.stop();
    let file = std::fs::read(&path).unwrap();

    let server = warm(folder.path(), "4mb", &[]);
    server.logged(&format!("restored {} items", before.len() + 1));
    let mut client = Client::new(server.addr());
    let again = ["items", "plain_bytes", "stored_bytes"].map(|name| figure(&mut client, name));
    assert_eq!(held, again);
    assert_eq!(figure(&mut client, "compress_seconds"), 0.0);
    assert_eq!(figure(&mut client, "decompress_seconds"), 0.0, "no value was needed plain");
    assert!(figure(&mut client, "dictionary_bytes") > 0.0);
    assert_eq!(present(&mut client, "k"), before);
    assert!(client.value("INFO stats").contains("evicted_keys:0"));
    server.kill();

    // One wrong bit in each dictionary: their items are lost, and nothing else.
    let mut harmed = file.clone();
    let all = blocks(&file);
    let dictionaries = all.iter().filter(|(_, kind)| *kind == DICTIONARY);
    assert!(dictionaries.clone().count() > 0, "{all:?}");
    dictionaries.for_each(|(at, _)| harmed[at + 100] ^= 4);
    std::fs::write(&path, &harmed).unwrap();
    let server = warm(folder.path(), "4mb", &[]);
    let line = server.logged("their dictionaries are damaged");
    server.logged("not restored: 0 out of date");
    let lost: usize =
        line.split("did not restore ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert_eq!(server.log().matches("damaged").count(), 1, "{}", server.log());
    let mut client = Client::new(server.addr());
    assert_eq!(client.value("GET plain"), "1");
    assert!(lost > 1_000, "{line}");
    assert_eq!(present(&mut client, "k").len(), before.len() - lost);
    server.kill();

    // A wrong bit elsewhere refuses the file, as ever.
    let (at, _) = all.iter().find(|(_, kind)| *kind == DICTIONARY + 1).unwrap();
    harmed.clone_from(&file);
    harmed[at + 100] ^= 4;
    std::fs::write(&path, &harmed).unwrap();
    let server = warm(folder.path(), "4mb", &[]);
    server.logged("the cache starts empty");
}

/// A copy that was written while clients wrote and the server compressed, after a SIGKILL.
#[test]
fn a_copy_of_a_killed_server_has_whole_values() {
    let folder = tempfile::tempdir().unwrap();
    let server = warm(folder.path(), "3mb", &AUTO);
    let mut client = Client::new(server.addr());
    fill(&mut client, "k");
    server.signal("-USR1");
    while !server.log().contains("saved ") {
        fill(&mut client, "k");
    }
    server.kill();
    std::fs::rename(folder.path().join("warm.copy"), folder.path().join("warm")).unwrap();
    let server = warm(folder.path(), "3mb", &AUTO);
    server.logged("restored ");
    assert!(!server.log().contains("did not restore"), "{}", server.log());
    let mut client = Client::new(server.addr());
    let there = present(&mut client, "k").len();
    assert!(there > 3_000, "{there}");
    assert!(figure(&mut client, "items") > 2_000.0);
    // The dictionaries are in use for new values too.
    fill(&mut client, "k");
    assert_eq!(figure(&mut client, "corrupt"), 0.0);
    server.kill();
}

#[test]
fn a_dump_keeps_compressed_items_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap().to_owned();
    let [one, two] = AUTO;
    let tenant =
        ["--tenant", "web match prefix web:", "--dump-max", "100mb", "--dir", &dir, one, two];
    let server = warm(folder.path(), "3mb", &tenant);
    let mut client = Client::new(server.addr());
    fill(&mut client, "web:");
    client.ask("CONFIG SET compression no");
    let before = present(&mut client, "web:").len();
    // A pass that had begun still compresses some.
    let mut held = figure(&mut client, "items");
    loop {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let now = figure(&mut client, "items");
        if std::mem::replace(&mut held, now) == now {
            break;
        }
    }
    let read = figure(&mut client, "decompress_seconds");
    client.ask("LARDER DUMP web");
    server.logged("dumped ");
    assert_eq!(figure(&mut client, "items"), 0.0);
    client.ask("LARDER LOAD web");
    server.logged("loaded ");
    // The index of the dump took the place of some.
    let again = figure(&mut client, "items");
    assert!(again > 0.9 * held, "{again} of {held}");
    assert_eq!(figure(&mut client, "decompress_seconds"), read, "no value was needed plain");
    let after = present(&mut client, "web:").len();
    assert!(after * 10 > before * 9, "{after} of {before}");
    assert_eq!(figure(&mut client, "corrupt"), 0.0);
    server.kill();
}

#[test]
fn the_effect_on_a_tenant_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port().to_string();
    let [one, two] = AUTO;
    let server = warm(folder.path(), "3mb", &[one, two, "--http-port", &port]);
    let mut client = Client::new(server.addr());
    fill(&mut client, "k");
    client.ask("CONFIG SET compression no");
    let text = client.value("LARDER MEMORY default 5% JSON");
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    let told = &told["compression"];
    for (name, info) in [("items", "items"), ("plain", "plain_bytes"), ("stored", "stored_bytes")] {
        assert_eq!(told[name].as_f64(), Some(figure(&mut client, info)), "{told}");
    }
    let spent = figure(&mut client, "compress_seconds") + figure(&mut client, "decompress_seconds");
    let processor_s = told["processor_us"].as_f64().unwrap() / 1e6;
    assert!((processor_s - spent).abs() < 0.02 && processor_s > 0.0, "{told} and {spent} s");
    assert!(told["ratio"].as_f64() < Some(0.5), "{told}");
    let said = client.ask("LARDER MEMORY default 5%");
    assert!(said.contains("compressed"), "{said}");
    let (_, page) = fetch(server.http_addr(), "GET /tenant?tenant=default");
    assert!(page.contains("items are compressed and take"), "{page}");
    server.kill();
}
