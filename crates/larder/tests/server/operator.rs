//! What an operator meets: the first line of the log, probes, memcached's flags, limits that change
//! while the server runs.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{free_port, larder, refuses, serve, serve_command, start};
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
    let warned = log.matches("mean nothing here and are ignored: appendonly, save").count();
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
         -n 48 -L -k -v -A -u nobody -Y {} -o modern,slab_reassign",
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

/// Binary requests are closed, with one line in the log however many there are.
#[test]
fn the_binary_protocol_is_closed_with_one_line() {
    let port = free_port();
    let server =
        start(&mut serve_command(&format!("--port {} --memcached-port {port}", free_port())));
    for _ in 0..3 {
        let mut client = Text::new(port);
        client
            .send(&[0x80, 0x0b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(client.line(), "");
    }
    server.logged("binary");
    assert_eq!(server.log().matches("binary").count(), 1, "{}", server.log());
}

/// In a container whose limit is changed while it runs. The container is a folder that is mounted
/// where the machine has its control groups, which root alone may do.
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
        println!("skipped: nothing may be mounted here");
        return;
    }
    let server = start(&mut inside(&serve_command("--maxmemory 75%")));
    let mut client = Client::new(server.addr());
    assert_eq!(client.info("maxmemory"), (192 << 20).to_string());
    std::fs::write(&limit, "134217728\n").unwrap();
    let begun = Instant::now();
    while client.info("maxmemory") != (96 << 20).to_string() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{}", client.info("maxmemory"));
        std::thread::sleep(Duration::from_millis(50));
    }
    server.logged("maxmemory is now 96.0 MiB");
}

/// What tools ask that no recording has.
#[test]
fn questions_of_tools() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let error = client.ask("CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip");
    assert!(error.starts_with("-ERR unknown subcommand 'MAINT_NOTIFICATIONS'"), "{error}");
    assert_eq!(client.ask("COMMAND GETKEYS MSET a 1 b 2"), "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
    let sentinel = client.ask("SENTINEL MASTERS");
    assert!(sentinel.starts_with("-ERR unknown command 'SENTINEL'"), "as redis-server: {sentinel}");
    for _ in 0..200 {
        client.ask("GET a");
    }
    let histogram = client.ask("LATENCY HISTOGRAM get");
    assert!(histogram.contains("calls") && histogram.contains("histogram_usec"), "{histogram}");
    client.ask("HELLO 3");
    assert!(client.ask("SSUBSCRIBE news").starts_with(">3\r\n$10\r\nssubscribe\r\n"));
    assert_eq!(Client::new(server.addr()).ask("SPUBLISH news 1"), ":1\r\n");
    assert!(client.reply().starts_with(b">3\r\n$8\r\nsmessage\r\n"));
}
