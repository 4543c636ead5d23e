//! Three masters and three replicas under load, while the module evicts by rank on each master: one
//! master is killed, another hands over to its replica, and slots move from node to node.
//!
//! Each key is written by one client, with a version in its value, so each answer is known: the
//! last version, or nothing. Only a master that is killed may take writes with it that its replica
//! had not yet.

use crate::nodes::{self, ClusterClient};
use crate::server::{Client, Reply, Server, all, until};
use base::Prng;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use wire::slots::slot;

const MASTERS: usize = 3;
const LIMIT: f64 = 12.0 * 1_048_576.0;
const SMALL_MAX: f64 = 500.0 * 1_024.0;
/// Keys of each client, and the bytes of a value.
const KEYS: u64 = 8_000;
const VALUE: usize = 2_000;
/// Groups of keys, each in a slot.
const GROUPS: u64 = 400;
/// The number of slots that move key by key, and those that move as a whole where servers can.
const MOVED: usize = 20;
const MOVED_AT_ONCE: std::ops::Range<u16> = 8_000..10_000;

/// Words from the test to its clients, and back.
#[derive(Default)]
struct Shared {
    ends: AtomicBool,
    /// Whether a master was killed.
    may_lose: AtomicBool,
    /// Requests for slots on their way.
    asked: AtomicU64,
}

/// A client with keys of its own.
struct Writer {
    client: ClusterClient,
    prng: Prng,
    name: usize,
    /// The last version of each key, and the one that is stored, as far as is known.
    versions: HashMap<String, (u64, Option<u64>)>,
    requests: u64,
    hits: u64,
    /// Old versions that came back with a failover.
    lost: u64,
}

impl Writer {
    fn new(ports: &[u16], name: usize) -> Self {
        let (client, prng) = (ClusterClient::new(ports), Prng::new(name as u64));
        Self { client, prng, name, versions: HashMap::new(), requests: 0, hits: 0, lost: 0 }
    }

    /// Reads a key, and writes it if it is not there; sometimes writes or deletes at once.
    fn step(&mut self, may_lose: bool) {
        // Low numbers are frequent.
        let at = (self.prng.unit().powi(2) * KEYS as f64) as u64;
        let prefix = if at.is_multiple_of(8) { "small:" } else { "big:" };
        let key = format!("{prefix}{{{}}}:{}:{at}", at % GROUPS, self.name);
        let is_of_killed = slot(key.as_bytes()) < nodes::first_slot(1, MASTERS);
        let (last, stored) = self.versions.get(&key).copied().unwrap_or_default();
        self.requests += 1;
        let is_missed = match self.client.call(&["GET", &key]) {
            Reply::Nothing => true,
            Reply::Text(text) => {
                let mut words = text.split(' ');
                assert_eq!(words.next(), Some(&*key), "another key's value");
                let version = words.next().and_then(|word| word.parse().ok());
                if version != stored {
                    assert!(may_lose && is_of_killed, "{key}: {version:?}, it is {stored:?}");
                    assert!(version.is_some_and(|version| version <= last), "{key}: {version:?}");
                    self.lost += 1;
                }
                self.versions.insert(key.clone(), (last, version));
                self.hits += 1;
                false
            }
            other => panic!("GET {key}: {other:?}"),
        };
        if is_missed || self.prng.below(20) == 0 {
            let text = format!("{key} {} {}", last + 1, "x".repeat(VALUE));
            assert_eq!(self.client.call(&["SET", &key, &text]), Reply::Text("OK".to_owned()));
            self.versions.insert(key, (last + 1, Some(last + 1)));
        } else if self.prng.below(50) == 0 {
            self.client.call(&["DEL", &key]);
            self.versions.insert(key, (last, None));
        }
    }
}

/// Moves slots key by key, as `--cluster reshard` does. Clients meet each while it is under way.
fn reshard(
    from: &mut Client,
    (to, port): (&mut Client, u16),
    all: &mut [Client],
    shared: &Shared,
) -> usize {
    let (source, target) = (from.ask("CLUSTER MYID"), to.ask("CLUSTER MYID"));
    let mut slots: Vec<_> =
        (0..GROUPS).map(|group| slot(format!("{{{group}}}").as_bytes())).collect();
    slots.retain(|slot| (nodes::first_slot(1, MASTERS)..MOVED_AT_ONCE.start).contains(slot));
    let mut keys = 0;
    for slot in slots.drain(..MOVED) {
        // Valkey first wants a replica that is up to date.
        let set = |client: &mut Client, what: String| {
            let line = format!("CLUSTER SETSLOT {slot} {what}");
            until(30, "a slot's state", || client.ask(&line) == "OK");
        };
        set(to, format!("IMPORTING {source}"));
        set(from, format!("MIGRATING {target}"));
        let asked = shared.asked.load(Relaxed);
        until(30, "a request for a slot on its way", || {
            keys += move_keys(from, port, slot, "2");
            shared.asked.load(Relaxed) > asked
        });
        loop {
            let some = move_keys(from, port, slot, "50");
            if some == 0 {
                break;
            }
            keys += some;
        }
        set(to, format!("NODE {target}"));
        set(from, format!("NODE {target}"));
        for client in &mut *all {
            // Others learn it from the nodes themselves, replicas refuse it.
            client.ask(&format!("CLUSTER SETSLOT {slot} NODE {target}"));
        }
    }
    keys
}

/// Moves some keys of a slot, and returns their number.
fn move_keys(from: &mut Client, to: u16, slot: u16, most: &str) -> usize {
    let some = from.call(&["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), most]);
    let Reply::List(some) = some else { panic!("{some:?}") };
    let names: Vec<_> = some.iter().map(Reply::text).collect();
    if names.is_empty() {
        return 0;
    }
    let port = to.to_string();
    let mut words = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "20000", "KEYS"];
    words.extend(names.iter().map(String::as_str));
    // The module may have evicted them all meanwhile.
    let reply = from.call(&words).text();
    assert!(["OK", "NOKEY"].contains(&&*reply), "{reply}");
    names.len()
}

fn evicted(client: &mut Client) -> f64 {
    client.number("larder", "larder_evicted_keys")
}

fn is_master(client: &mut Client) -> bool {
    client.info("replication")["role"] == "master"
}

/// Waits until the module of a node has evicted keys by rank from now on.
fn acts(client: &mut Client, what: &str) {
    let before = evicted(client);
    until(60, what, || evicted(client) > before + 50.0);
}

/// The fields of a tenant in INFO.
fn small(client: &mut Client, field: &str) -> f64 {
    let tenant = client.info("larder").remove("larder_tenant_small").unwrap();
    let value = tenant.split(',').find_map(|one| one.strip_prefix(field)?.strip_prefix('='));
    value.unwrap().parse().unwrap()
}

/// Ends the clients, even if an assertion fails.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.ends.store(true, Relaxed);
    }
}

#[test]
fn a_cluster_answers_rightly_through_failovers_and_resharding() {
    for path in all() {
        run(&path);
    }
}

fn run(path: &str) {
    let settings = [
        ("maxmemory", "12mb"),
        ("larder.tenants", "\"small match prefix small: max 500kb\""),
        ("larder.act", "yes"),
        ("enable-debug-command", "yes"),
    ];
    let mut nodes = nodes::start(path, &settings, MASTERS, 1);
    let ports: Vec<_> = nodes.iter().map(|node| node.port).collect();
    let shared = Shared::default();
    let writers = std::thread::scope(|scope| {
        let (shared, ports) = (&shared, &ports);
        let write = |name| {
            scope.spawn(move || {
                let mut writer = Writer::new(ports, name);
                while !shared.ends.load(Relaxed) {
                    let asked = writer.client.asked;
                    writer.step(shared.may_lose.load(Relaxed));
                    shared.asked.fetch_add(writer.client.asked - asked, Relaxed);
                }
                writer
            })
        };
        let writers: Vec<_> = (0..3).map(write).collect();
        let end = End(shared);
        change(&mut nodes, shared);
        drop(end);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    settle(path, &nodes);
    let sum = |of: fn(&Writer) -> u64| writers.iter().map(of).sum::<u64>();
    let (asked, moved) = (sum(|one| one.client.asked), sum(|one| one.client.moved));
    println!(
        "{path}: {} requests, {} hits, none wrong; {} lost with the killed master; redirected \
         {moved} times for good, and {asked} times for a slot on its way",
        sum(|one| one.requests),
        sum(|one| one.hits),
        sum(|one| one.lost)
    );
}

/// Kills a master, hands another over, and moves slots.
fn change(nodes: &mut [Server], shared: &Shared) {
    let mut clients: Vec<_> = nodes.iter().map(Server::client).collect();
    clients[..MASTERS].iter_mut().for_each(|client| acts(client, "every master evicts by rank"));
    assert!(clients[MASTERS..].iter_mut().all(|client| evicted(client) == 0.0), "replicas evict");

    shared.may_lose.store(true, Relaxed);
    nodes[0].kill();
    until(30, "the replica of a killed master takes over", || is_master(&mut clients[MASTERS]));
    acts(&mut clients[MASTERS], "the new master evicts by rank");

    assert_eq!(clients[MASTERS + 1].ask("CLUSTER FAILOVER"), "OK");
    until(30, "a replica takes over", || is_master(&mut clients[MASTERS + 1]));
    until(30, "its master follows it", || !is_master(&mut clients[1]));
    acts(&mut clients[MASTERS + 1], "the master of choice evicts by rank");
    let before = evicted(&mut clients[1]);

    let target = nodes[2].port;
    let mut all: Vec<_> = nodes[1..].iter().map(Server::client).collect();
    let (targets, sources) = clients.split_at_mut(MASTERS);
    let keys = reshard(&mut sources[1], (&mut targets[2], target), &mut all, shared);
    println!("{MOVED} slots moved with {keys} keys");
    let id = clients[2].ask("CLUSTER MYID");
    let (from, to) = (MOVED_AT_ONCE.start, MOVED_AT_ONCE.end - 1);
    let reply =
        clients[MASTERS + 1].ask(&format!("CLUSTER MIGRATESLOTS SLOTSRANGE {from} {to} NODE {id}"));
    if reply == "OK" {
        let held = format!(" {from}-{to}");
        until(60, "slots move as a whole", || {
            let nodes = clients[2].ask("CLUSTER NODES");
            let mine = nodes.lines().find(|line| line.contains("myself")).unwrap();
            mine.contains(&held)
                || mine.split(' ').skip(8).any(|range| {
                    let ends = range
                        .split_once('-')
                        .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                    ends.is_some_and(|(a, b): (u16, u16)| a <= from && to <= b)
                })
        });
        println!("{} slots moved as a whole", MOVED_AT_ONCE.len());
    } else {
        assert!(reply.to_lowercase().contains("unknown subcommand"), "{reply}");
    }
    acts(&mut clients[2], "the node with more slots evicts by rank");
    assert_eq!(evicted(&mut clients[1]), before, "a replica evicts");
}

/// Whether a replica has the keys of its master, and at most as many more as the server itself
/// evicted on the master: Valkey 9.1.2 does not tell replicas what it evicts while slots arrive as
/// a whole, with or without the module.
fn is_but_for_servers(master: &mut Client, replica: &mut Client) -> bool {
    let keys = |client: &mut Client| {
        let Reply::List(all) = client.call(&["KEYS", "*"]) else { panic!("KEYS") };
        all.iter().map(Reply::text).collect::<HashSet<_>>()
    };
    let (here, there) = (keys(master), keys(replica));
    let values = |client: &mut Client| {
        let get = |key: &String| vec!["DEBUG".to_owned(), "DIGEST-VALUE".to_owned(), key.clone()];
        client.all(&here.iter().map(get).collect::<Vec<_>>())
    };
    let more = there.difference(&here).count() as f64;
    let servers = master.number("stats", "evicted_keys");
    println!("{more} keys more in the replica of a node that evicted {servers} itself");
    here.is_subset(&there) && more <= servers && values(master) == values(replica)
}

/// After the load: replicas hold the keys of their masters, and each node keeps its budgets.
fn settle(path: &str, nodes: &[Server]) {
    let mut clients: Vec<_> = nodes.iter().map(|node| Client::connect(node.port)).collect();
    let mut pairs = 0;
    for (master, replica) in [(MASTERS + 1, 1), (2, MASTERS + 2)] {
        let [Some(master), Some(replica)] = clients.get_disjoint_mut([master, replica]).unwrap()
        else {
            panic!("{path}: a node has ended");
        };
        let digest = |client: &mut Client| client.ask("DEBUG DIGEST");
        until(30, "replicas equal their masters", || {
            digest(master) == digest(replica) || is_but_for_servers(master, replica)
        });
        assert!(master.ask("DBSIZE").parse::<u64>().unwrap() > 1_000);
        pairs += 1;
    }
    assert_eq!(pairs, MASTERS - 1, "the third has no replica left");
    for at in [MASTERS, MASTERS + 1, 2] {
        let client = clients[at].as_mut().unwrap();
        let used = client.number("memory", "used_memory");
        let uncounted = client.number("memory", "mem_not_counted_for_evict");
        assert!(
            used - uncounted < 1.01 * LIMIT,
            "{path}: {used} used, {uncounted} of it not counted"
        );
        until(20, "a tenant is held to its max", || small(client, "used") < 1.03 * SMALL_MAX);
        // The module may still evict some of them.
        until(10, "its keys are counted", || {
            let Reply::List(keys) = client.call(&["KEYS", "small:*"]) else { panic!("KEYS") };
            let counted = small(client, "items");
            println!("{} keys, and {counted} counted", keys.len());
            counted == keys.len() as f64
        });
    }
}
