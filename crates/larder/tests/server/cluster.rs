//! Several servers with the protocol of Redis Cluster and one file of slots.

use crate::client::Client;
use crate::clients::{built, python_has, script};
use crate::memcached::Text;
use crate::process::{Server, free_port, refuses, serve, serve_both};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Servers that share one file of slots.
struct Cluster {
    folder: tempfile::TempDir,
    ports: Vec<u16>,
    servers: Vec<Server>,
}

impl Cluster {
    /// Starts `nodes` servers that share the slots evenly, each with the directives `more`.
    fn of(nodes: usize, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ports = (0..nodes).map(|_| free_port()).collect();
        let mut cluster = Self { folder, ports, servers: vec![] };
        let each = 16_384 / nodes;
        let slots: Vec<_> = (0..nodes)
            .map(|at| {
                let last = if at + 1 == nodes { 16_383 } else { (at + 1) * each - 1 };
                format!("{}-{last}", at * each)
            })
            .collect();
        cluster.write(&slots);
        for (at, port) in cluster.ports.iter().enumerate() {
            let file = cluster.file();
            let file = file.display();
            cluster.servers.push(serve(&format!(
                "--port {port} --cluster-config {file} --cluster-node n{at} {more}"
            )));
        }
        cluster
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("slots")
    }

    /// Writes which server has which slots; the servers have not read the file yet.
    fn write(&self, slots: &[String]) {
        let mut text = String::from("# name address slots\n");
        for ((at, port), slots) in self.ports.iter().enumerate().zip(slots) {
            writeln!(text, "n{at} 127.0.0.1:{port} {slots}").unwrap();
        }
        std::fs::write(self.file(), text).unwrap();
    }

    fn client(&self, at: usize) -> Client {
        Client::new(self.servers[at].addr())
    }

    /// Has a server read the file again.
    fn tell(&self, at: usize) {
        let line = format!("CONFIG SET cluster-config {}", self.file().display());
        assert_eq!(self.client(at).ask(&line), "+OK\r\n");
    }
}

#[test]
fn a_client_is_sent_to_who_has_the_slot() {
    let cluster = Cluster::of(2, "");
    let [mut first, mut second] = [0, 1].map(|at| cluster.client(at));
    let moved = format!("-MOVED 12182 127.0.0.1:{}\r\n", cluster.ports[1]);
    for line in ["SET foo 1", "GET foo", "DEL foo", "OBJECT ENCODING foo", "MGET foo x{foo}"] {
        assert_eq!(first.ask(line), moved, "{line}");
    }
    assert_eq!(second.ask("SET foo 1"), "+OK\r\n");
    assert_eq!(second.ask("MGET foo bar"), {
        "-CROSSSLOT Keys in request don't hash to the same slot\r\n"
    });
    assert_eq!(first.ask("MSET {bar}1 a {bar}2 b"), "+OK\r\n");
    assert_eq!(first.ask("SPUBLISH foo x"), moved);
    assert_eq!(first.ask("SSUBSCRIBE foo"), moved);
    // Every server serves commands without a key.
    for line in
        ["PING", "DBSIZE", "SUBSCRIBE foo", "UNSUBSCRIBE", "ASKING", "READONLY", "READWRITE"]
    {
        assert!(!first.ask(line).starts_with('-'), "{line}");
    }
    // PUBLISH is refused, because subscribers of other nodes would miss it.
    let refused = first.ask("PUBLISH foo x");
    assert!(refused.starts_with("-ERR PUBLISH reaches no other node"), "{refused}");
    assert!(refused.contains("use SPUBLISH"), "{refused}");
    assert_eq!(second.ask("SPUBLISH foo x"), ":0\r\n");
    // A refusal between MULTI and EXEC aborts the transaction.
    assert_eq!(first.ask("MULTI"), "+OK\r\n");
    assert_eq!(first.ask("SET foo 1"), moved);
    assert!(first.ask("EXEC").starts_with("-EXECABORT"));
    assert_eq!(first.value("CLUSTER KEYSLOT foo"), "12182");
    assert_eq!(second.value("CLUSTER COUNTKEYSINSLOT 12182"), "1");
    assert_eq!(second.ask("CLUSTER GETKEYSINSLOT 12182 9"), "*1\r\n$3\r\nfoo\r\n");
    assert!(second.ask("CLUSTER GETKEYSINSLOT 16384 9").starts_with("-ERR Invalid slot"));
    assert_eq!(first.info("cluster_enabled"), "1");
    assert_eq!(first.info("redis_mode"), "cluster");
    assert!(first.ask("HELLO 3").contains("cluster"));
    let info = first.ask("CLUSTER INFO");
    for line in ["cluster_state:ok", "cluster_slots_assigned:16384", "cluster_known_nodes:2"] {
        assert!(info.contains(line), "{info}");
    }
    let id = second.value("CLUSTER MYID");
    let line = format!("{id} 127.0.0.1:{}@", cluster.ports[1]);
    assert!(first.ask("CLUSTER NODES").contains(&line));
    for line in ["CLUSTER REPLICAS", "CLUSTER SLAVES"] {
        assert_eq!(first.ask(&format!("{line} {id}")), "*0\r\n");
        assert_eq!(first.ask(&format!("{line} x")), "-ERR Unknown node x\r\n");
    }
    assert_eq!(first.ask(&format!("CLUSTER COUNT-FAILURE-REPORTS {id}")), ":0\r\n");
    assert!(first.ask("CLUSTER SLOTS").contains(&id) && first.ask("CLUSTER SHARDS").contains(&id));
}

/// A server deletes the keys of a slot that it gives away, so no old value returns with the slot.
#[test]
fn a_slot_that_moves_starts_empty() {
    let cluster = Cluster::of(2, "");
    let [mut first, mut second] = [0, 1].map(|at| cluster.client(at));
    // The slot of foo belongs to the second server, that of bar to the first.
    assert_eq!(second.ask("SET foo old"), "+OK\r\n");
    assert_eq!(first.ask("SET bar stays"), "+OK\r\n");
    let there = ["0-8191".to_owned(), "8192-16383".to_owned()];
    let away = ["0-8191 12182".to_owned(), "8192-12181 12183-16383".to_owned()];
    cluster.write(&away);
    cluster.servers[0].signal("-HUP");
    cluster.servers[0].logged("reread settings, slots");
    cluster.tell(1);
    assert_eq!(second.ask("GET foo"), format!("-MOVED 12182 127.0.0.1:{}\r\n", cluster.ports[0]));
    assert_eq!(first.value("GET foo"), "(null)");
    assert_eq!(first.ask("SET foo new"), "+OK\r\n");
    cluster.write(&there);
    cluster.tell(1);
    cluster.tell(0);
    assert_eq!(second.value("GET foo"), "(null)", "neither the old nor the new one");
    assert_eq!(first.value("GET bar"), "stays");
    // A wrong file changes nothing.
    std::fs::write(cluster.file(), "n0 127.0.0.1 0-3").unwrap();
    let line = format!("CONFIG SET cluster-config {}", cluster.file().display());
    assert!(first.ask(&line).contains("a line is: name host:port"), "{}", first.ask(&line));
    assert_eq!(first.value("GET bar"), "stays");
    // A slot without a server is not served.
    cluster.write(&["0-8191".to_owned(), "8192".to_owned()]);
    cluster.tell(1);
    assert_eq!(second.ask("GET foo"), "-CLUSTERDOWN Hash slot not served\r\n");
}

#[test]
fn a_file_that_is_wrong_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("slots");
    std::fs::write(&file, "a 127.0.0.1:7000 0-100\nb 127.0.0.1:7001 100-200\n").unwrap();
    let start = format!("--port 0 --cluster-config {}", file.display());
    assert!(refuses(&start).contains("line 2: node a has slot 100 already"));
    std::fs::write(&file, "a 127.0.0.1:7000 0-16383\n").unwrap();
    let said = refuses(&format!("{start} --cluster-node c"));
    assert!(said.contains("no node is named c: set cluster-node"), "{said}");
}

/// Tenants, databases and memcached's protocol work in a cluster as elsewhere.
#[test]
fn tenants_databases_and_memcached_stay() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("slots");
    std::fs::write(&file, "a 127.0.0.1:1 0-16383\n").unwrap();
    let (server, memcached) = serve_both(&format!(
        "--cluster-config {} --cluster-node a --tenant 't match prefix t:'",
        file.display()
    ));
    let mut client = Client::new(server.addr());
    assert_eq!(client.ask("SELECT 3"), "+OK\r\n");
    assert_eq!(client.ask("SET t:1 x"), "+OK\r\n");
    assert_eq!(client.value("DBSIZE"), "1");
    let mut text = Text::new(memcached);
    text.send(b"set k 0 0 1\r\nv\r\n");
    assert_eq!(text.line(), "STORED");
}

/// Starts a client program that reads and fills for the time in `args`.
fn play(program: &str, args: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Reads and fills with redis-rs, as the other clients do.
fn play_redis_rs(port: u16, seconds: f64) {
    let url = format!("redis://127.0.0.1:{port}/");
    let client = redis::cluster::ClusterClient::new(vec![url]).unwrap();
    let mut connection = client.get_connection().unwrap();
    let (begun, mut hits, mut turn) = (Instant::now(), 0, 0);
    // A busy machine needs more time for the same number of hits.
    while begun.elapsed().as_secs_f64() < seconds || hits <= 200 {
        assert!(begun.elapsed().as_secs_f64() < seconds + 60.0, "{hits} hits");
        turn += 1;
        let key = format!("rs:{}", turn % 300);
        let get = redis::cmd("GET").arg(&key).query::<Option<String>>(&mut connection).unwrap();
        if let Some(value) = get {
            assert_eq!(value, format!("v{key}"));
            hits += 1;
        } else {
            let mut set = redis::cmd("SET");
            set.arg(&key).arg(format!("v{key}")).exec(&mut connection).unwrap();
        }
    }
}

/// All clients read and fill, with their default settings, while a fifth of the slots moves back
/// and forth between three servers. No answer is wrong, and no client sees an error.
#[test]
fn clients_follow_slots_that_move() {
    const SECONDS: f64 = 6.0;
    let cluster = Cluster::of(3, "--maxmemory 64mb");
    let port = cluster.ports[0].to_string();
    let seconds = SECONDS.to_string();
    let mut players = vec![];
    if python_has("redis") {
        let script = script("test_cluster.py");
        players.push(("redis-py", play("python3", &[&script, &port, &seconds])));
    }
    if let Some(program) = built("go-clients") {
        players.push(("go-redis", play(&program, &["cluster", &port, &seconds])));
    }
    if let Some(script) = built("js-clients/cluster.mjs") {
        players.push(("ioredis", play("node", &[&script, &port, &seconds])));
    }
    if let (Some(classes), Some(lib)) = (built("java-clients/classes"), built("java-clients/lib")) {
        let path = format!("{classes}:{lib}/*");
        for name in ["jedis", "lettuce"] {
            let args = ["-cp", &path, "ClusterClients", name, &port, &seconds];
            players.push((name, play("java", &args)));
        }
    }
    let first = cluster.ports[0];
    let rust = std::thread::spawn(move || play_redis_rs(first, SECONDS));
    let there = ["0-5460", "5461-10921", "10922-16383"].map(str::to_owned);
    let away = ["0-2000", "2001-8000", "8001-16383"].map(str::to_owned);
    let begun = Instant::now();
    // First slots move up, so that the last server gains and the first loses; then they move back.
    let turns = [(&away, [2, 1, 0]), (&there, [0, 1, 2])];
    for (slots, order) in turns.into_iter().cycle() {
        std::thread::sleep(Duration::from_millis(300));
        if begun.elapsed().as_secs_f64() > SECONDS {
            break;
        }
        cluster.write(slots);
        for at in order {
            cluster.tell(at);
        }
    }
    rust.join().unwrap();
    for (name, player) in players {
        let output = player.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        println!("{name} followed");
    }
}

/// The cluster commands of redis-cli and redis-benchmark.
#[test]
fn tools_know_the_cluster() {
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{program} {args:?}: {text}");
        Some(text)
    };
    if run("redis-cli", &["--version"]).is_none() {
        skip::skip("redis-cli", "apt-get install redis-tools");
        return;
    }
    let cluster = Cluster::of(2, "");
    let port = cluster.ports[0].to_string();
    let to = format!("127.0.0.1:{port}");
    let check = run("redis-cli", &["--cluster", "check", &to]).unwrap();
    assert!(check.contains("[OK] All 16384 slots covered."), "{check}");
    let info = run("redis-cli", &["--cluster", "info", &to]).unwrap();
    assert!(info.contains("0 keys in 2 masters"), "{info}");
    let called = run("redis-cli", &["--cluster", "call", &to, "PING"]).unwrap();
    assert_eq!(called.matches("PONG").count(), 2, "{called}");
    assert_eq!(run("redis-cli", &["-c", "-p", &port, "SET", "foo", "1"]).unwrap(), "OK\n");
    assert_eq!(run("redis-cli", &["-c", "-p", &port, "GET", "foo"]).unwrap(), "1\n");
    let args = ["--cluster", "-p", &port, "-n", "2000", "-t", "set,get", "-r", "1000", "-q"];
    if let Some(said) = run("redis-benchmark", &args) {
        assert!(said.contains("2 master nodes detected") || said.contains("GET"), "{said}");
        let keys = [0, 1].map(|at| cluster.client(at).value("DBSIZE").parse::<u64>().unwrap());
        assert!(keys.iter().all(|&keys| keys > 100), "{keys:?}");
    }
}

/// Lines that other clients send when they connect, and the text that they need in the answers.
#[test]
fn what_other_clients_send_is_answered() {
    let cluster = Cluster::of(2, "");
    let mut client = cluster.client(0);
    for (line, what) in [
        // StackExchange.Redis.
        ("CONFIG GET cluster-config", "slots"),
        ("INFO replication", "role:master"),
        ("INFO server", "redis_mode:cluster"),
        ("CLUSTER NODES", "myself,master"),
        // Envoy, every five seconds.
        ("CLUSTER SLOTS", "127.0.0.1"),
        // lettuce.
        ("INFO", "connected_clients:"),
        ("INFO", "master_repl_offset:"),
        ("CLUSTER MYID", "$40"),
        // ioredis.
        ("CLUSTER INFO", "cluster_state:ok"),
        // redis-py and go-redis.
        ("COMMAND", "get"),
        ("CLUSTER LINKS", "*0"),
    ] {
        let answer = client.ask(line);
        assert!(answer.contains(what), "{line}: {answer}");
    }
}

/// The patterns of SORT and the commands of a script must stay in the slot of the named keys.
#[test]
fn keys_that_are_not_named_are_refused() {
    let cluster = Cluster::of(2, "");
    let mut client = cluster.client(0);
    client.ask("RPUSH {bar}l 2 1");
    for (options, option) in [("BY w_*", "BY"), ("GET *", "GET"), ("BY {b*r} GET {foo}*", "BY")] {
        let told = client.ask(&format!("SORT {{bar}}l {options}"));
        let why = "in Cluster mode when keys formed by the pattern may be in different slots.";
        assert_eq!(told, format!("-ERR {option} option of SORT denied {why}\r\n"), "{options}");
    }
    let sorted = "*2\r\n$1\r\n1\r\n$1\r\n2\r\n";
    assert_eq!(client.ask("SORT_RO {bar}l BY {bar}w* GET #"), sorted);
    let script = |flags: &str, key: &str| {
        format!("EVAL \"#!lua{flags}\nreturn redis.call('GET', '{key}')\" 1 {{bar}}a")
    };
    let mine =
        (0..10_000).map(|at| format!("k{at}")).find(|key| wire::slots::slot(key.as_bytes()) < 8192);
    let mine = mine.unwrap();
    for (flags, key, told) in [
        ("", "{bar}b", "$-1"),
        ("", &mine, "do not hash to the same slot"),
        (" flags=allow-cross-slot-keys", &mine, "$-1"),
        (" flags=allow-cross-slot-keys", "foo", "a non local key in a cluster node"),
    ] {
        let reply = client.ask(&script(flags, key));
        assert!(reply.contains(told), "{flags} {key}: {reply}");
    }
}

/// A client that blocks on a key is redirected when the key's slot moves, and a subscriber of a
/// shard channel of that slot is told that its subscription has ended.
#[test]
fn who_waits_is_sent_on_when_a_slot_moves() {
    let cluster = Cluster::of(2, "");
    let mut admin = cluster.client(1);
    let [mut waits, mut stays, mut listens] = [(); 3].map(|()| cluster.client(1));
    waits.send(b"BLPOP foo 0\r\n");
    let slot = |key: &String| wire::slots::slot(key.as_bytes());
    let mut keys = (0..).map(|at| format!("k{at}"));
    let own = keys.find(|key| slot(key) > 8_192 && slot(key) != 12_182).unwrap();
    stays.send(format!("BLPOP {own} 0\r\n").as_bytes());
    listens.ask("SSUBSCRIBE foo");
    listens.ask(&format!("SSUBSCRIBE {own}"));
    while admin.info("blocked_clients") != "2" {}
    cluster.write(&["0-8191 12182".to_owned(), "8192-12181 12183-16383".to_owned()]);
    cluster.tell(0);
    cluster.tell(1);
    let moved = format!("-MOVED 12182 127.0.0.1:{}\r\n", cluster.ports[0]);
    assert_eq!(String::from_utf8(waits.reply()).unwrap(), moved);
    assert_eq!(listens.reply(), b"*3\r\n$12\r\nsunsubscribe\r\n$3\r\nfoo\r\n:1\r\n");
    assert_eq!(admin.ask(&format!("SPUBLISH {own} x")), ":1\r\n");
    assert!(String::from_utf8(listens.reply()).unwrap().contains("smessage"));
    admin.ask(&format!("RPUSH {own} x"));
    assert!(String::from_utf8(stays.reply()).unwrap().contains(&own));
    assert_eq!(waits.ask("PING"), "+PONG\r\n");
    // Where no server has the slot, the error says so.
    waits.send(format!("BLPOP {own} 0\r\n").as_bytes());
    while admin.info("blocked_clients") != "1" {}
    cluster.write(&["0-8191".to_owned(), "8192".to_owned()]);
    cluster.tell(1);
    assert_eq!(waits.reply(), b"-CLUSTERDOWN Hash slot not served\r\n");
}
