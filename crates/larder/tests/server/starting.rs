//! How a server starts, its errors when it cannot, and the changes that it reads while it runs.

use crate::client::Client;
use crate::process::{free_port, larder, refuses, serve, start};
use std::process::Output;
use std::time::{Duration, Instant};

fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits until `holds` returns true; fails after a minute.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The command ends once the server serves, or with an error that says why it does not.
#[test]
fn a_server_in_the_background_serves_or_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let (file, pidfile) = (folder.path().join("larder.conf"), folder.path().join("larder.pid"));
    let port = free_port();
    let text = format!("port {port}\nhttp-port 0\nio-threads 1\npidfile {}\n", pidfile.display());
    std::fs::write(
        &file,
        format!("{text}daemonize yes\nlogfile {}/log\n", folder.path().display()),
    )
    .unwrap();
    let output = larder(&format!("serve {}", file.display())).output().unwrap();
    assert!(output.status.success(), "{}", error_of(&output));
    let address = ([127, 0, 0, 1], port).into();
    assert_eq!(Client::new(address).ask("PING"), "+PONG\r\n", "it serves when the command ends");
    let again = larder(&format!("serve {}", file.display())).output().unwrap();
    assert!(!again.status.success(), "the port is taken");
    assert!(error_of(&again).contains("did not start"), "{}", error_of(&again));
    let pid = std::fs::read_to_string(&pidfile).unwrap();
    let kill = std::process::Command::new("kill").arg(pid.trim()).status().unwrap();
    assert!(kill.success());
    until("the end", || !pidfile.exists());

    let none = "serve --memcached -l 127.0.0.1 -d -P /nonexistent/x.pid";
    let output = larder(&format!("{none} -p {}", free_port())).output().unwrap();
    let error = error_of(&output);
    assert!(!output.status.success() && error.contains("cannot write pidfile"), "{error}");
    assert!(error.contains("did not start"), "{error}");
}

/// A pidfile that cannot be written gives a warning if a file names it, as with Redis, and an error
/// if the command line names it.
#[test]
fn a_pidfile_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("redis.conf");
    std::fs::write(&file, "pidfile /nonexistent/redis-server.pid\n").unwrap();
    let words = format!("serve {} --json --port 0 --http-port 0 --io-threads 1", file.display());
    let server = start(&mut larder(&words));
    server.logged("cannot write pidfile /nonexistent/redis-server.pid");
    assert_eq!(Client::new(server.addr()).ask("PING"), "+PONG\r\n");
    let error = refuses("--port 0 --pidfile /nonexistent/x.pid");
    assert!(error.contains("cannot write pidfile /nonexistent/x.pid"), "{error}");
}

#[test]
fn settings_that_cannot_hold_are_refused() {
    for (arguments, parts) in [
        ("--maxmemory 1kb", &["maxmemory 1kb is too small for any item", "at least 64kb"][..]),
        (
            "--tenant 'a match db 1' --tenant 'b match prefix x match db 1'",
            &["tenants a and b both match db 1", "one of them"],
        ),
        (
            "--maxmemory 10mb --tenant 'a match db 1 min 6mb' --tenant 'b match db 2 min 6mb'",
            &["min add up to 12.0 MiB, but maxmemory"],
        ),
        ("--tenant 'a match db 1 min 1000tb'", &["but this machine has"]),
    ] {
        let error = refuses(&format!("--port 0 {arguments}"));
        for part in parts {
            assert!(error.contains(part), "{arguments}: {error}");
        }
    }
    // The smallest limit that is accepted holds items.
    let server = serve("--maxmemory 64kb");
    let mut client = Client::new(server.addr());
    assert_eq!(client.ask("SET a 1"), "+OK\r\n");
    assert_eq!(client.value("GET a"), "1");
    let error = client.ask("CONFIG SET tenant \"a match db 1\nb match db 1\"");
    assert!(error.contains("both match db 1"), "{error}");
}

#[test]
fn larder_ping_is_typed_as_the_others_are() {
    let server = serve("--requirepass sesame");
    let port = server.addr().port();
    for words in [
        format!("ping -p {port} -a sesame"),
        format!("ping -h 127.0.0.1 -p {port} --password sesame"),
        format!("ping redis://:sesame@127.0.0.1:{port}"),
        format!("ping valkey://default:sesame@127.0.0.1:{port}/0"),
        format!("ping redis://127.0.0.1:{port} -a sesame"),
    ] {
        let output = larder(&words).output().unwrap();
        assert!(output.status.success(), "{words}: {}", error_of(&output));
    }
    for (words, why) in [
        (format!("ping redis://:wrong@127.0.0.1:{port}"), "WRONGPASS"),
        ("ping 127.0.0.1:6379".to_owned(), "is not redis://"),
    ] {
        let output = larder(&words).output().unwrap();
        assert!(!output.status.success() && error_of(&output).contains(why), "{words}");
    }
    assert!(larder("ping --help").output().unwrap().status.success());
}

/// A client's text is never more than a part of one log line.
#[test]
fn a_line_of_the_log_is_one_line() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let text = r"x\\n2026-01-01T00:00:00Z ERROR forged\\27[2J\\r\\127";
    let script = format!("EVAL \"redis.log(redis.LOG_WARNING, '{text}') return 1\" 0");
    assert_eq!(client.ask(&script), ":1\r\n");
    let line = server.logged("forged");
    assert!(line.contains(r"x\n2026") && line.contains(r"forged\u{1b}[2J\r\u{7f}"), "{line}");
    assert!(!server.log().bytes().any(|byte| matches!(byte, 0x1b | 0x7f | b'\r')));
}

#[test]
fn the_level_of_the_log_can_be_changed() {
    let server = serve("--loglevel warning");
    let mut client = Client::new(server.addr());
    let say = |client: &mut Client, word: &str| {
        client.ask(&format!("EVAL \"redis.log(redis.LOG_NOTICE, '{word}')\" 0"));
    };
    say(&mut client, "unheard");
    assert_eq!(client.ask("CONFIG SET loglevel notice"), "+OK\r\n");
    say(&mut client, "heard");
    server.logged("heard");
    assert!(!server.log().contains("unheard"), "{}", server.log());
    assert!(client.ask("CONFIG GET loglevel").contains("notice"));
}

/// Settings that the files change take effect. Settings that were made since the start and that no
/// file mentions stay.
#[test]
fn a_hangup_reads_the_files_anew() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (file, users, tokens) = (at("larder.conf"), at("users.acl"), at("tokens"));
    let head = format!(
        "io-threads 1\nmemcached-port {}\nmemcached-auth-file {}\naclfile {}\n",
        free_port(),
        tokens.display(),
        users.display()
    );
    std::fs::write(&file, format!("{head}maxmemory 10mb\ntenant a match db 1\n")).unwrap();
    std::fs::write(&users, "user default on nopass ~* &* +@all\nuser bob on >x ~* +get\n").unwrap();
    std::fs::write(&tokens, "alice:one\n").unwrap();
    let words = format!("serve {} --json --port {} --http-port 0", file.display(), free_port());
    let server = start(&mut larder(&words));
    let mut client = Client::new(server.addr());
    client.ask("ACL SETUSER carl on nopass");
    client.ask("CONFIG SET timeout 9");
    server.signal("-HUP");
    server.logged("changed: nothing");
    let text = format!(
        "{head}maxmemory 20mb\nmaxclients 60\ntenant a match db 1 min 1mb\ntenant b match db 2\n\
         databases 20\n"
    );
    std::fs::write(&file, text).unwrap();
    std::fs::write(&users, "user default on nopass ~* &* +@all\nuser bob on >y ~* +get\n").unwrap();
    std::fs::write(&tokens, "alice:two\n").unwrap();
    server.signal("-HUP");
    let line = server.logged("changed: max");
    for part in ["maxmemory 20mb (was 10485760)", "maxclients 60", "tenant a match db 1 min 1mb"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(line.contains("tenant b match db 2") && line.contains("user bob"), "{line}");
    assert!(line.contains("memcached-auth-file"), "{line}");
    server.logged("these changes need a restart: databases");
    assert_eq!(client.info("maxmemory"), (20u64 << 20).to_string());
    assert!(client.ask("CONFIG GET timeout").contains("\r\n9\r\n"), "it was set since");
    assert!(client.ask("ACL USERS").contains("carl"));
    assert_eq!(client.ask("AUTH bob y"), "+OK\r\n");
    std::fs::write(&file, format!("{head}maxmemory a lot\n")).unwrap();
    server.signal("-HUP");
    let line = server.logged("SIGHUP changes nothing: line 5");
    assert!(line.contains("maxmemory"), "{line}");
}

/// CONFIG SET refuses a directive without effect if an operator would rely on it.
#[test]
fn what_would_do_nothing_is_refused() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    for line in ["maxmemory-clients 10%", "appendonly yes", "save '60 1'"] {
        let error = client.ask(&format!("CONFIG SET {line}"));
        assert!(error.starts_with("-ERR") && error.contains("have no effect"), "{error}");
    }
    for line in ["maxmemory-clients 0", "appendonly no", "save ''", "hz 20"] {
        assert_eq!(client.ask(&format!("CONFIG SET {line}")), "+OK\r\n", "{line}");
    }
    server.logged("Larder ignores the directive 'hz'");
}

/// A file that CONFIG REWRITE wrote starts the server, whatever its includes say.
#[test]
fn a_rewritten_file_with_includes_starts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("conf.d")).unwrap();
    let file = at("larder.conf");
    std::fs::write(&file, "include conf.d/*.conf\nio-threads 1\n").unwrap();
    std::fs::write(at("conf.d/a.conf"), "maxmemory 41mb\ntenant web match db 1\n").unwrap();
    std::fs::write(at("conf.d/b.conf"), "user bob on >x ~* +get\n").unwrap();
    let words = format!("serve {} --json --port {} --http-port 0", file.display(), free_port());
    let server = start(&mut larder(&words));
    let mut client = Client::new(server.addr());
    for line in [
        "CONFIG SET tenant 'web match db 1 min 1mb'",
        "CONFIG SET maxmemory 42mb",
        "CONFIG REWRITE",
    ] {
        assert_eq!(client.ask(line), "+OK\r\n", "{line}");
    }
    server.stop();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("include conf.d/*.conf\nio-threads 1\n"), "{text}");
    assert!(text.contains("maxmemory 42mb\n") && !text.contains("bob"), "{text}");
    let server = start(&mut larder(&words));
    let mut client = Client::new(server.addr());
    assert_eq!(client.info("maxmemory"), (42u64 << 20).to_string());
    assert!(client.ask("CONFIG GET tenant").contains("web match db 1 min 1mb"));
    client.ask("ACL DELUSER bob");
    let error = client.ask("CONFIG REWRITE");
    assert!(
        error.contains("'user bob'") && error.contains("remove it from the included file"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "and nothing is written");
}
