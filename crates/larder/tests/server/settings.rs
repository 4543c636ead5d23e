//! Access with passwords, and settings that change while the server runs.

use crate::client::Client;
use crate::process::{larder, refuses, serve, serve_command, start};

#[test]
fn nothing_is_reachable_without_the_password() {
    let server = serve("--requirepass sesame --user 'bob on >pw ~* &* +@all'");
    let mut client = Client::new(server.addr());
    for line in [
        "GET a",
        "SET a 1",
        "PING",
        "INFO",
        "CONFIG GET *",
        "CLIENT LIST",
        "FLUSHALL",
        "SUBSCRIBE x",
        "MULTI",
        "COMMAND",
        "SHUTDOWN",
        "DBSIZE",
        "LARDER TENANTS",
    ] {
        assert_eq!(client.ask(line), "-NOAUTH Authentication required.\r\n", "{line}");
    }
    assert!(client.ask("HELLO 3").starts_with("-NOAUTH HELLO must be called"));
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    for line in ["AUTH x", "AUTH default x", "AUTH bob sesame", "AUTH nobody x", "HELLO 3 AUTH a b"]
    {
        assert_eq!(client.ask(line), wrong, "{line}");
    }
    assert_eq!(client.ask("AUTH sesame"), "+OK\r\n");
    assert_eq!(client.ask("SET a 1"), "+OK\r\n");
    assert_eq!(client.value("ACL WHOAMI"), "default");
    assert!(client.ask("HELLO 3 AUTH bob pw").starts_with("%7\r\n"));
    assert_eq!(client.value("ACL WHOAMI"), "bob");
    client.ask("RESET");
    assert!(client.ask("PING").starts_with("-NOAUTH"));
}

/// A client without the password must not make the server keep many bytes.
#[test]
fn strangers_may_send_little() {
    let server = serve("--requirepass sesame");
    for (bytes, error) in [
        (&b"*11\r\n"[..], "unauthenticated multibulk length"),
        (b"*1\r\n$20000\r\n", "unauthenticated bulk length"),
    ] {
        let mut client = Client::new(server.addr());
        client.send(bytes);
        let reply = String::from_utf8(client.reply()).unwrap();
        assert_eq!(reply, format!("-ERR Protocol error: {error}\r\n"));
        assert_eq!(client.reply(), b"");
    }
}

#[test]
fn a_password_set_while_it_runs_holds_for_newcomers() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    assert_eq!(client.ask("CONFIG SET requirepass new"), "+OK\r\n");
    assert_eq!(client.ask("PING"), "+PONG\r\n", "whoever is in stays in");
    assert!(Client::new(server.addr()).ask("PING").starts_with("-NOAUTH"));
    assert_eq!(client.ask("CONFIG SET requirepass ''"), "+OK\r\n");
    assert_eq!(Client::new(server.addr()).ask("PING"), "+PONG\r\n");
}

/// All directives, as `larder serve --directives` lists them.
fn directives() -> Vec<serde_json::Value> {
    let listed = larder("serve --directives --json").output().unwrap().stdout;
    serde_json::from_slice(&listed).unwrap()
}

/// Every directive shows a value, and every directive that CONFIG SET may change accepts its own
/// value.
#[test]
fn every_directive_shows_and_takes_its_value() {
    let server = serve("--maxmemory 100mb --tenant a match db 1");
    let mut client = Client::new(server.addr());
    let shown = client.ask("CONFIG GET *");
    for directive in directives() {
        let name = directive["name"].as_str().unwrap();
        assert!(shown.contains(&format!("\r\n{name}\r\n")), "{name}");
        let value = directive["default"].as_str().unwrap();
        if directive["config_set"] == true && !value.is_empty() {
            assert_eq!(client.ask(&format!("CONFIG SET {name} '{value}'")), "+OK\r\n", "{name}");
        }
    }
    for name in ["save", "appendonly"] {
        assert!(client.ask(&format!("CONFIG GET {name}")).starts_with("*2\r\n"), "{name}");
    }
    assert!(client.ask("CONFIG SET port 1").contains("can't set immutable config"));
}

#[test]
fn several_settings_change_together_or_not_at_all() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let error = client.ask("CONFIG SET timeout 7 maxmemory-policy volatile-lhd");
    assert!(error.contains("maxmemory-policy") && error.contains("allkeys-lru"), "{error}");
    assert!(client.ask("CONFIG GET timeout").ends_with("$1\r\n0\r\n"));
    assert_eq!(client.ask("CONFIG SET timeout 7 maxmemory 1gb"), "+OK\r\n");
    assert_eq!(client.info("maxmemory"), (1u64 << 30).to_string());
}

#[test]
fn counters_can_be_reset() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("GET a");
    client.ask("NOSUCH");
    assert_eq!(client.info("keyspace_misses"), "1");
    assert_eq!(client.info("errorstat_ERR"), "count=1");
    assert!(client.info("cmdstat_get").starts_with("calls=1,usec="));
    client.ask("CONFIG RESETSTAT");
    assert_eq!(client.info("keyspace_misses"), "0");
    assert_eq!(client.info("total_error_replies"), "0");
}

#[test]
fn a_unix_socket_serves() {
    use std::io::{Read, Write};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("larder.sock");
    let server = serve(&format!("--unixsocket {} --unixsocketperm 700", path.display()));
    let mut stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
    stream.write_all(b"PING\r\nQUIT\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert_eq!(reply, "+PONG\r\n+OK\r\n");
    server.stop();
    assert!(!path.exists(), "the socket goes with the server");
}

#[test]
fn it_ends_and_starts_again_on_the_same_port() {
    let server = serve("");
    let port = server.addr().port();
    let mut client = Client::new(server.addr());
    client.ask("SET a 1");
    server.stop();
    assert_eq!(client.reply(), b"");
    let again = serve(&format!("--port {port}"));
    assert_eq!(Client::new(again.addr()).value("GET a"), "(null)");
    let mut client = Client::new(again.addr());
    client.send(b"SHUTDOWN\r\n");
    assert_eq!(client.reply(), b"");
    again.wait();
}

#[test]
fn a_port_in_use_is_named() {
    let server = serve("");
    let error = refuses(&format!("--port {}", server.addr().port()));
    assert!(error.contains("cannot listen") && error.contains("choose another port"), "{error}");
}

/// The command line wins over the environment, and the environment over the file.
#[test]
fn directives_come_from_the_environment_too() {
    let mut command = serve_command("--timeout 7");
    let set = [
        ("LARDER_CONFIG_MAXMEMORY", "3mb"),
        ("LARDER_CONFIG_TIMEOUT", "9"),
        ("LARDER_CONFIG_TENANT", "a match prefix a:\nb match prefix b: min 1mb"),
        ("LARDER_PORT", "tcp://10.0.0.1:6379"),
        ("MAXMEMORY", "4mb"),
    ];
    let server = start(command.envs(set));
    let mut client = Client::new(server.addr());
    assert_eq!(client.info("maxmemory"), (3 << 20).to_string());
    assert!(client.ask("CONFIG GET timeout").ends_with("\r\n7\r\n"));
    assert!(client.ask("CONFIG GET tenant").contains("b match prefix b: min "));
    let mut wrong = serve_command("");
    let output = wrong.env("LARDER_CONFIG_MAXMEMROY", "3mb").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("LARDER_CONFIG_MAXMEMROY") && error.contains("maxmemory"), "{error}");
}

/// Every directive is an environment variable and a flag of the command line.
#[test]
fn every_directive_is_a_variable_and_a_flag() {
    let all = directives();
    let value = |directive: &serde_json::Value| directive["default"].as_str().unwrap().to_owned();
    let (mut by_variable, mut by_flag) = (larder("serve --json"), larder("serve --json"));
    for directive in all.iter().filter(|directive| !value(directive).is_empty()) {
        let name = directive["name"].as_str().unwrap();
        let value =
            if name == "port" || name == "http-port" { "0".into() } else { value(directive) };
        let variable = name.to_ascii_uppercase().replace('-', "_");
        by_variable.env(format!("LARDER_CONFIG_{variable}"), &value);
        by_flag.arg(format!("--{name}")).args(value.split(' '));
    }
    for command in [&mut by_variable, &mut by_flag] {
        let server = start(command);
        assert_eq!(Client::new(server.addr()).ask("PING"), "+PONG\r\n");
    }
}

/// Directives without a default are variables and flags too: each shows the given value.
#[test]
fn what_has_no_default_is_a_variable_and_a_flag_too() {
    // Users come from `aclfile` or from `requirepass`, so each round leaves one of them out.
    let rounds =
        [(false, "aclfile"), (true, "aclfile"), (false, "requirepass"), (true, "requirepass")];
    for (by_flag, without) in rounds {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        std::fs::write(path("tokens"), "alice:secret\n").unwrap();
        std::fs::write(path("users"), "user default on >pw ~* &* +@all\n").unwrap();
        std::fs::write(path("slots"), "n1 127.0.0.1:7000 0-16383\n").unwrap();
        let value = |name: &str| match name {
            "cluster-config" => path("slots"),
            "cluster-node" => "n1".into(),
            "unixsocketgroup" => crate::process::group_of(dir.path()).unwrap_or_default(),
            "listener" => crate::process::free_port().to_string(),
            "memcached-auth-file" => path("tokens"),
            "memcached-bind" => format!("127.0.0.1:{}", crate::process::free_port()),
            "memcached-delimiter" => "/".into(),
            "aclfile" => path("users"),
            "requirepass" => "pw".into(),
            "tls-protocols" => "TLSv1.3".into(),
            "tenant" => "web match prefix web:".into(),
            "notify-keyspace-events" => "AKE".into(),
            // The other directives are paths.
            _ => path(name),
        };
        let all = directives();
        let empty = all.iter().filter(|directive| directive["default"] == "");
        let given: Vec<(&str, String)> = empty
            .map(|directive| directive["name"].as_str().unwrap())
            .filter(|name| *name != without)
            .map(|name| (name, value(name)))
            .collect();
        let mut command = serve_command("");
        for (name, value) in &given {
            if by_flag {
                command.arg(format!("--{name}")).args(value.split(' '));
            } else {
                let variable = name.to_ascii_uppercase().replace('-', "_");
                command.env(format!("LARDER_CONFIG_{variable}"), value);
            }
        }
        let server = start(&mut command);
        let mut client = Client::new(server.addr());
        assert_eq!(client.ask("AUTH pw"), "+OK\r\n");
        for (name, value) in &given {
            let shown = client.ask(&format!("CONFIG GET {name}"));
            assert!(shown.contains(value.as_str()), "{name}, by flag {by_flag}: {shown}");
        }
    }
}

#[test]
fn maxmemory_may_be_a_share_of_the_machine() {
    let server = serve("--maxmemory 50%");
    let mut client = Client::new(server.addr());
    let half = client.info("maxmemory").parse::<u64>().unwrap();
    assert!(half > 1 << 20);
    client.ask("CONFIG SET maxmemory auto");
    let auto = client.info("maxmemory").parse::<u64>().unwrap();
    assert!(auto > half && auto < 2 * half, "{auto} and {half}");
    client.ask("CONFIG SET maxmemory 5mb");
    std::thread::sleep(std::time::Duration::from_millis(1_300));
    assert_eq!(client.info("maxmemory"), (5u64 << 20).to_string(), "a size stays as it is");
}

/// A rewritten file is readable for its former readers, and for no other user.
#[test]
fn files_that_are_written_keep_their_mode() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (file, users) = (dir.path().join("larder.conf"), dir.path().join("users.acl"));
    std::fs::write(&file, format!("aclfile {}\n", users.display())).unwrap();
    std::fs::write(&users, "user default on nopass ~* &* +@all\n").unwrap();
    for path in [&file, &users] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let arguments = "--json --port 0 --http-port 0 --io-threads 1";
    let server = start(&mut larder(&format!("serve {} {arguments}", file.display())));
    let mut client = Client::new(server.addr());
    client.ask("ACL SETUSER bob on >secret");
    for line in ["CONFIG SET timeout 9", "CONFIG REWRITE", "ACL SAVE"] {
        assert_eq!(client.ask(line), "+OK\r\n", "{line}");
    }
    for (path, word) in [(&file, "timeout 9"), (&users, "user bob on #")] {
        assert!(std::fs::read_to_string(path).unwrap().contains(word));
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{}", path.display());
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left beside them");
}

/// A setting that cannot have its effect gives a warning or an error when it is set.
#[test]
fn what_cannot_work_is_said_at_once() {
    let server = serve("--tenant web match user bob --warm-restart-file /nonexistent/warm");
    server.logged("ACL SETUSER bob");
    server.logged("cannot write warm-restart-file /nonexistent/warm");
    let mut client = Client::new(server.addr());
    for (name, value) in [("dir", "/nonexistent"), ("tls-cert-file", "/nonexistent/cert.pem")] {
        let error = client.ask(&format!("CONFIG SET {name} {value}"));
        assert!(error.starts_with("-ERR") && error.contains(value), "{error}");
        assert!(!client.ask(&format!("CONFIG GET {name}")).contains("nonexistent"));
    }
    assert_eq!(client.ask("CONFIG SET maxmemory 1000tb"), "+OK\r\n");
    server.logged("but this machine has");
    assert_eq!(client.ask("CONFIG SET maxmemory 1mb"), "+OK\r\n");
    server.logged("after a restart, this limit holds more");
    // A start with this limit holds as much.
    let small = serve("--maxmemory 1mb");
    let mut other = Client::new(small.addr());
    assert_eq!(other.ask("CONFIG SET maxmemory 1000kb"), "+OK\r\n");
    assert_eq!(other.ask("CONFIG SET maxmemory 1000tb"), "+OK\r\n");
    small.logged("but this machine has");
    assert!(!small.log().contains("after a restart"), "{}", small.log());
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("larder.conf");
    std::fs::write(&file, "tenant web match db 1\ntenant web match db 2\n").unwrap();
    let output = larder(&format!("serve {}", file.display())).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("line 2") && error.contains("Duplicate tenant 'web' found"), "{error}");
    let error = refuses("--port 0 --user foo --user foo");
    assert!(
        error.contains("Duplicate user 'foo' found: write all its rules on one line"),
        "{error}"
    );
    let error = client.ask("CONFIG SET tenant \"web match db 1\nweb match db 2\"");
    assert!(error.contains("Duplicate tenant 'web' found"), "{error}");
    let error = refuses("--dump-max 1gb --dir /nonexistent");
    assert!(error.contains("dump-max needs a folder"), "{error}");
}

/// The stock files of Debian start the server, with one log line for the directives without effect.
#[test]
fn stock_files_start_the_server() {
    for (name, text) in [
        ("redis", include_str!("settings/redis.conf")),
        ("valkey", include_str!("settings/valkey.conf")),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("stock.conf");
        // A test must not write to the paths of the file.
        let is_path =
            |line: &&str| !["logfile", "dir", "port"].iter().any(|word| line.starts_with(word));
        let lines: Vec<&str> = text.lines().filter(is_path).collect();
        std::fs::write(&file, lines.join("\n") + "\nenable-debug-command no\n").unwrap();
        // The flags of Debian's unit.
        let arguments = "--json --port 0 --http-port 0 --io-threads 1 --daemonize no --pidfile ''";
        let server = start(&mut larder(&format!("serve {} {arguments}", file.display())));
        let mut client = Client::new(server.addr());
        assert_eq!(client.ask("PING"), "+PONG\r\n");
        let log = server.log();
        let warned: Vec<&str> = log.lines().filter(|line| line.contains("WARN")).collect();
        assert_eq!(warned.len(), 1, "{name}: {log}");
        assert!(warned[0].contains("appendonly, ") && warned[0].contains("enable-debug-command"));
        assert!(client.ask("CONFIG GET hz").ends_with("10\r\n"));
    }
}

/// CONFIG GET shows every setting of Redis.
#[test]
fn every_setting_of_redis_is_shown() {
    let server = serve("");
    let shown = Client::new(server.addr()).ask("CONFIG GET *");
    let names = include_str!("settings/redis-7.0.txt").split_whitespace();
    let missing: Vec<_> =
        names.filter(|name| !shown.contains(&format!("\r\n{name}\r\n"))).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn percentiles_of_times_are_as_chosen() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("CONFIG SET latency-tracking-info-percentiles '50 99.99'");
    // The server times one batch in 64.
    for at in 0..500 {
        client.ask(&format!("SET key {at}"));
    }
    let shown = client.info("latency_percentiles_usec_set");
    assert!(shown.starts_with("p50=") && shown.contains(",p99.99="), "{shown}");
    assert!(client.ask("CONFIG SET latency-tracking-info-percentiles 101").starts_with("-ERR"));
}
