//! memcached's command line: flags that are applied, refused, or only named in the log.

use super::process::Process;
use super::translate::{Asked, Serve, translate};
use crate::settings::config::{Error, Level, Settings};
use base::Bytes;

fn asked(line: &str) -> Result<Asked, Error> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    translate(&words)
}

fn serve(line: &str) -> Result<(Settings, Serve), Error> {
    let Asked::Serve(serve) = asked(line)? else {
        return Err(Error("a text".into()));
    };
    let mut settings = Settings::default();
    settings.read_arguments(&serve.directives)?;
    Ok((settings, serve))
}

fn settings(line: &str) -> Settings {
    serve(line).unwrap_or_else(|error| panic!("{line}: {error}")).0
}

#[test]
fn flags_of_a_service_file() {
    let (read, said) =
        serve("-m 128 -p11222 -u memcache -l 127.0.0.1,::1 -P /run/m.pid -vv").unwrap();
    assert_eq!((read.maxmemory, read.memcached_port, read.port), (Bytes(128 << 20), 11222, 0));
    assert_eq!(read.memcached_bind, ["127.0.0.1", "::1"]);
    assert!(!read.protected_mode, "it was said who is served");
    assert_eq!((read.pidfile.as_str(), read.loglevel), ("/run/m.pid", Level::Debug));
    assert_eq!(said.process.user.as_deref(), Some("memcache"));
    let read = settings("-I 2m -c 500 -t 3 -M -A --udp-port=0 --maxmemory-samples 7");
    assert_eq!((read.memcached_item_max, read.maxclients), (Bytes(2 << 20), 500));
    assert_eq!((read.io_threads, read.maxmemory_samples), (3, 7));
    assert!(read.memcached_shutdown);
    assert_eq!((read.memcached_port, read.maxmemory), (11211, Bytes(64 << 20)));
    let read = settings("-s /run/m.sock -a 0770 -p 11300");
    assert_eq!(read.memcached_unixsocket.to_str(), Some("/run/m.sock"));
    assert_eq!((read.memcached_port, read.unixsocketperm), (0, 0o770));
    let read = settings("-Z -o ssl_chain_cert=/c,ssl_key=/k,slab_reassign");
    assert!(read.memcached_tls);
    assert_eq!((read.tls_cert_file.as_str(), read.tls_key_file.as_str()), ("/c", "/k"));
    assert_eq!(read.tls_auth_clients, "no");
}

/// Defaults equal memcached's, or the log names the difference.
#[test]
fn defaults_are_memcacheds() {
    let (read, said) = serve("").unwrap();
    assert_eq!((read.maxclients, read.http_port), (1_024, Some(0)));
    assert_eq!(read.bind, ["*", "-::*"]);
    assert!(read.protected_mode && said.notes[0].contains("-l"), "{:?}", said.notes);
}

#[test]
fn what_restricts_is_obeyed() {
    let read = settings("-CFXW -D / -o idle_timeout=30,ssl_min_version=3,ssl_verify_mode=2");
    assert!(!read.memcached_cas && !read.memcached_flush_all);
    assert!(!read.memcached_dump && !read.memcached_watch);
    assert_eq!((read.memcached_delimiter, read.timeout), (Some(b'/'), 30));
    assert_eq!((read.tls_protocols.as_str(), read.tls_auth_clients.as_str()), ("TLSv1.3", "yes"));
    let (_, said) = serve("-dkr -u nobody").unwrap();
    let user = Some("nobody".to_owned());
    let process = Process { user, daemon: true, lock_memory: true, core_dumps: true };
    assert_eq!(said.process, process);
}

#[test]
fn addresses_with_ports() {
    let read = settings("-l 127.0.0.1:11300,notls:[::1]:11301 -p 11302");
    assert_eq!(read.memcached_bind, ["127.0.0.1:11300", "notls:[::1]:11301"]);
    assert_eq!(read.memcached_port, 11302);
    assert_eq!(settings("-p -1 -l 127.0.0.1").memcached_bind, ["127.0.0.1:0"]);
    assert_eq!(settings("-p -1").memcached_bind, ["0.0.0.0:0"]);
}

#[test]
fn what_changes_nothing_is_named() {
    let (_, said) = serve("-R 20 -L -o modern,slab_automove=1 -l 127.0.0.1").unwrap();
    let note = said.notes.join(" ");
    assert!(note.ends_with("-R -L -o modern -o slab_automove"), "{note}");
}

#[test]
fn what_cannot_be_kept_is_refused() {
    for line in [
        "-S",
        "-q",
        "-p",
        "-p x",
        "-p 0",
        "-",
        "-B binary",
        "-B http",
        "-U 11211",
        "-m x",
        "-m 64x",
        "-m 1g",
        "-I 1q",
        "-I 1000",
        "-I 2048m",
        "-I 33m",
        "-m 10 -I 6m",
        "-o nosuch",
        "-o",
        "-o idle_timeout",
        "-o idle_timeout=x",
        "-o hashpower=x",
        "-o modern=1",
        "-o ssl_min_version=9",
        "-o ssl_ciphers=x",
        "-o drop_privileges",
        "-o ext_path=/x:1g",
        "-o proxy_config=/x",
        "-o modern,,",
        "-R x",
        "-c 0",
        "-c -1",
        "-t 0",
        "-f x",
        "-D ab",
        "-vz",
        "-N 1",
    ] {
        assert!(serve(line).is_err(), "{line}");
    }
}

#[test]
fn texts() {
    for (line, words) in [
        ("-h", "-s, --unix-socket"),
        ("-V", "memcached 1.6.45"),
        ("-i", "Apache License"),
        ("-p 11211 --help", "idle_timeout"),
    ] {
        let Ok(Asked::Text(text)) = asked(line) else { panic!("{line}: no text") };
        assert!(text.contains(words), "{line}: {text}");
    }
}
