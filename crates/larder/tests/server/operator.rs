//! The server as an operator sees it: the first line of the log, probes, memcached's flags, limits
//! that change while the server runs.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{free_port, larder, refuses, serve, serve_both, serve_command, start};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn the_first_line_of_the_log_says_what_it_is() {
    let more = "--maxmemory 64mb --tenant web match prefix web: --appendonly yes --save '60 1'";
    let server = serve(more);
    let log = server.log();
    let first = log.lines().next().unwrap();
    for words in
        ["is a cache", "up to 64.0 MiB, then evicts", "tenants: default, web", "listening on"]
    {
        assert!(first.contains(words), "{words}: {first}");
    }
    let warned = log.matches("ignores these directives: appendonly, save").count();
    assert_eq!(warned, 1, "{log}");
    let first = serve("--maxmemory-policy noeviction --maxmemory 1gb").log();
    assert!(first.lines().next().unwrap().contains("then refuses writes"), "{first}");
    let error = refuses("--maxmemroy 1gb");
    assert!(error.contains("maxmemroy") && error.contains("maxmemory"), "{error}");
}

#[test]
fn larder_ping_probes() {
    let server = serve("--requirepass sesame");
    let port = server.addr().port();
    let ping = |more: &str| larder(&format!("ping --port {port} {more}")).output().unwrap();
    assert!(ping("--password sesame").status.success());
    assert!(!ping("").status.success(), "it cannot come in");
    server.stop();
    let output = ping("--password sesame");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("no answer"));
}

#[test]
fn memcacheds_own_flags() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    std::fs::write(&tokens, "alice:secret\n").unwrap();
    let port = free_port();
    let flags = format!(
        "serve --json --memcached -p {port} -U 0 -l 127.0.0.1 -m 48 -c 77 -t 2 -I 2m -R 20 -f 1.25 \
         -n 48 -L -v -A -u root -Y {} -o modern,slab_reassign",
        tokens.display()
    );
    let server = start(&mut larder(&flags));
    assert!(server.listening().iter().all(|place| !place.contains("6379")), "no other protocol");
    let mut client = Text::new(port);
    client.send(b"get a\r\n");
    assert!(client.line().starts_with("CLIENT_ERROR unauthenticated"));
    let mut client = Text::new(port);
    assert_eq!(client.ask("set x 0 0 12|alice secret"), "STORED");
    let settings = client.ask("stats settings");
    for line in ["maxbytes 50331648", "maxconns 77", "num_threads 2", "item_size_max 2097152"] {
        assert!(settings.contains(&format!("STAT {line}\r\n")), "{line}: {settings}");
    }
    client.send(b"shutdown\r\n");
    assert!(server.wait().success());
}

/// The server becomes the user of memcached's flag `-u`.
#[test]
fn memcacheds_user_is_obeyed() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        skip::skip("root", "only root can become another user");
        return;
    }
    let flags = format!("serve --json --memcached -p {} -l 127.0.0.1 -vu", free_port());
    let output = larder(&format!("{flags} nosuchuser")).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains("no such user"), "{error}");
    let server = start(&mut larder(&format!("{flags} nobody")));
    let owner = std::fs::metadata(format!("/proc/{}", server.pid())).unwrap().uid();
    assert_ne!(owner, 0);
}

/// memcached's flags `-d` and `-P`: the server runs in the background, with its process id in a
/// file, until SIGUSR1.
#[test]
fn memcacheds_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let (pidfile, ports) = (folder.path().join("pid"), folder.path().join("ports"));
    let flags = format!("serve --memcached -p -1 -l 127.0.0.1 -d -P {}", pidfile.display());
    let mut command = larder(&flags);
    assert!(command.env("MEMCACHED_PORT_FILENAME", &ports).status().unwrap().success());
    let read = |path: &std::path::Path| {
        let begun = Instant::now();
        loop {
            match std::fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text,
                _ => assert!(begun.elapsed().as_secs() < 60, "no {}", path.display()),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let told = read(&ports);
    let port = told.trim().strip_prefix("TCP INET: ").unwrap().parse().unwrap();
    assert_eq!(Text::new(port).ask("set a 0 0 1|x"), "STORED");
    let pid = read(&pidfile);
    assert!(Command::new("kill").args(["-USR1", pid.trim()]).status().unwrap().success());
    let begun = Instant::now();
    while pidfile.exists() {
        assert!(begun.elapsed().as_secs() < 60, "it did not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The log names flags that only tune memcached's internals, and HTTP stays off by default.
#[test]
fn memcacheds_defaults_and_what_has_no_effect() {
    let port = free_port();
    let server = start(&mut larder(&format!("serve --json --memcached -p {port} -R 20 -o modern")));
    assert!(server.logged("have no effect").ends_with("-R -o modern"), "{}", server.log());
    server.logged("-l ADDRESS");
    assert!(server.listening().iter().all(|place| !place.contains("http")));
    let settings = Text::new(port).ask("stats settings");
    assert!(settings.contains("STAT maxconns 1024\r\n"), "{settings}");
}

#[test]
fn memcacheds_addresses_with_ports() {
    let (one, two) = (free_port(), free_port());
    let flags = format!("serve --json --memcached -l 127.0.0.1:{one},notls:127.0.0.1 -p {two}");
    let server = start(&mut larder(&flags));
    assert_eq!(Text::new(one).ask("set a 0 0 1|x"), "STORED");
    assert_eq!(Text::new(two).ask("get a"), "VALUE a 0 1\r\nx\r\nEND");
    assert_eq!(server.listening().len(), 2);
}

/// Flags that forbid commands are obeyed.
#[test]
fn memcacheds_restrictions_are_kept() {
    let port = free_port();
    let flags = format!("serve --json --memcached -p {port} -l 127.0.0.1 -CFXW -D /");
    let _server = start(&mut larder(&flags));
    let mut client = Text::new(port);
    for (request, reply) in [
        ("set a/b 0 0 1|x", "STORED"),
        ("gets a/b", "VALUE a/b 0 1 0\r\nx\r\nEND"),
        ("mg a/b c", "HD c0"),
        ("cas a/b 0 0 1 0|y", "EXISTS"),
        ("flush_all", "CLIENT_ERROR flush_all not allowed"),
        ("flush_all noreply", ""),
        ("lru_crawler metadump all", "ERROR metadump not allowed"),
        ("lru_crawler mgdump all", "ERROR key dump not allowed"),
        ("stats cachedump 1 0", "CLIENT_ERROR stats cachedump not allowed"),
        ("stats detail dump", "CLIENT_ERROR stats detail not allowed"),
        ("watch", "CLIENT_ERROR watch commands not allowed"),
        ("mg a/b v", "VA 1\r\nx"),
    ] {
        assert_eq!(client.ask(request), reply, "{request}");
    }
    let settings = client.ask("stats settings");
    for line in ["cas_enabled no", "flush_enabled no", "dump_enabled no", "stat_key_prefix /"] {
        assert!(settings.contains(&format!("STAT {line}\r\n")), "{line}: {settings}");
    }
}

/// Clients of the binary protocol get an error that they understand. The log has one line a minute,
/// however many clients there are.
#[test]
fn the_binary_protocol_is_refused_with_one_line() {
    let (server, port) = serve_both("");
    for opaque in 1..4 {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut request = [0; 24];
        (request[0], request[1], request[15]) = (0x80, 0x0b, opaque);
        stream.write_all(&request).unwrap();
        let mut reply = vec![];
        stream.read_to_end(&mut reply).unwrap();
        assert_eq!((reply[0], reply[1], reply[15]), (0x81, 0x0b, opaque));
        assert_eq!(reply[6..8], [0, 0x81], "unknown command");
        assert_eq!(usize::from(reply[11]), reply.len() - 24);
        assert!(reply.ends_with(b"use the text protocol"));
    }
    server.logged("binary");
    assert_eq!(server.log().matches("binary").count(), 1, "{}", server.log());
}

/// The memory limit of a container changes while the server runs. The container is a folder mounted
/// over the machine's control groups, which only root may do.
#[test]
fn maxmemory_follows_the_container() {
    let folder = tempfile::tempdir().unwrap();
    let limit = folder.path().join("memory.max");
    std::fs::write(&limit, "268435456\n").unwrap();
    let mount = format!("mount --bind {} /sys/fs/cgroup && exec \"$@\"", folder.path().display());
    let inside = |command: &Command| {
        let mut inside = Command::new("unshare");
        inside.args(["--mount", "sh", "-c", &mount, "sh"]).arg(command.get_program());
        inside.args(command.get_args());
        inside
    };
    if !inside(&Command::new("true")).status().is_ok_and(|status| status.success()) {
        skip::skip("mounts", "root in a place that may mount");
        return;
    }
    let server = start(&mut inside(&serve_command("--maxmemory 75%")));
    let mut client = Client::new(server.addr());
    assert_eq!(client.info("maxmemory"), (192 << 20).to_string());
    std::fs::write(&limit, "134217728\n").unwrap();
    let begun = Instant::now();
    while client.info("maxmemory") != (96 << 20).to_string() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", client.info("maxmemory"));
        std::thread::sleep(Duration::from_millis(50));
    }
    server.logged("maxmemory is now 96.0 MiB");
}

/// A server with few calls times each of them, and lists subcommands under their own names.
#[test]
fn few_calls_are_all_timed() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    for line in ["CONFIG RESETSTAT", "SET a 1", "SET b 2", "CLIENT ID", "CLIENT LIST"] {
        client.ask(line);
    }
    for (asked, name, calls) in [
        ("set", "$3\r\nset", 2),
        ("config|resetstat", "$16\r\nconfig|resetstat", 1),
        ("client", "$9\r\nclient|id", 1),
        ("client", "$11\r\nclient|list", 1),
    ] {
        let histogram = client.ask(&format!("LATENCY HISTOGRAM {asked} nosuch"));
        let wanted = format!("{name}\r\n*4\r\n$5\r\ncalls\r\n:{calls}\r\n");
        assert!(histogram.contains(&wanted), "{asked}: {histogram}");
    }
    assert_eq!(client.ask("LATENCY HISTOGRAM get"), "*0\r\n");
}

/// Requests of tools that no recording has.
#[test]
fn questions_of_tools() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let error = client.ask("CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip");
    assert!(error.starts_with("-ERR unknown subcommand 'MAINT_NOTIFICATIONS'"), "{error}");
    assert_eq!(client.ask("COMMAND GETKEYS MSET a 1 b 2"), "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
    // Impossible counts.
    for call in ["LMPOP 0 a LEFT", "LMPOP 5 a LEFT", "SINTERCARD x a", "ZUNIONSTORE a -1 b"] {
        let told = client.ask(&format!("COMMAND GETKEYS {call}"));
        assert_eq!(told, "-ERR Invalid arguments specified for command\r\n", "{call}");
    }
    assert_eq!(client.ask("COMMAND GETKEYS EVAL x 0"), "*0\r\n", "a script may have no key");
    let sentinel = client.ask("SENTINEL MASTERS");
    assert!(sentinel.starts_with("-ERR unknown command 'SENTINEL'"), "as redis-server: {sentinel}");
    for _ in 0..200 {
        client.ask("GET a");
    }
    let histogram = client.ask("LATENCY HISTOGRAM get");
    assert!(histogram.contains("calls") && histogram.contains("histogram_usec"), "{histogram}");
    assert!(client.info("used_active_time_main_thread").parse::<f64>().unwrap() > 0.0);
    client.ask("SET idle 1");
    let begun = Instant::now();
    while client.value("OBJECT IDLETIME idle").parse::<u64>().unwrap() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "a quiet time counts");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(!client.ask("HELLO 3").contains("availability_zone"));
    assert_eq!(client.ask("CONFIG SET availability-zone eu-1a"), "+OK\r\n");
    assert!(client.ask("HELLO 3").ends_with("$17\r\navailability_zone\r\n$5\r\neu-1a\r\n"));
    assert!(client.value("CLIENT INFO").contains(" capa= "));
    assert_eq!(client.ask("CLIENT CAPA redirect and-more"), "+OK\r\n");
    assert!(client.value("CLIENT LIST CAPA r").contains(" capa=r "));
    assert!(client.ask("SSUBSCRIBE news").starts_with(">3\r\n$10\r\nssubscribe\r\n"));
    assert_eq!(Client::new(server.addr()).ask("SPUBLISH news 1"), ":1\r\n");
    assert!(client.reply().starts_with(b">3\r\n$8\r\nsmessage\r\n"));
}

/// TOUCH is a use of the key, as a read is, but counts as neither hit nor miss.
#[test]
fn touch_ends_the_time_that_a_key_was_idle() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("SET a 1");
    let idle = |client: &mut Client| client.value("OBJECT IDLETIME a").parse::<u64>().unwrap();
    let began = std::time::Instant::now();
    while idle(&mut client) < 2 {
        assert!(began.elapsed().as_secs() < 20, "it is never idle");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(client.ask("TOUCH a nothing"), ":1\r\n");
    assert_eq!(idle(&mut client), 0);
    assert_eq!(
        (client.info("keyspace_hits"), client.info("keyspace_misses")),
        ("0".into(), "0".into())
    );
}
