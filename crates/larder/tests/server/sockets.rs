//! Unix sockets, for both protocols.

use crate::client::Client;
use crate::process::{refuses, serve};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

fn ask(path: &Path, request: &[u8]) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(request).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

#[test]
fn both_protocols_at_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let (redis, memcached) = (folder.path().join("redis"), folder.path().join("memcached"));
    let server = serve(&format!(
        "--port 0 --unixsocket {} --memcached-unixsocket {} --unixsocketperm 600",
        redis.display(),
        memcached.display()
    ));
    assert_eq!(server.listening().len(), 2, "and no port: {:?}", server.listening());
    assert_eq!(ask(&memcached, b"set a 0 0 1\r\n1\r\nquit\r\n"), "STORED\r\n");
    assert_eq!(ask(&redis, b"GET a\r\nQUIT\r\n"), "$1\r\n1\r\n+OK\r\n");
    let mode = std::fs::metadata(&memcached).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    server.stop();
    assert!(!memcached.exists(), "the socket goes with the server");
}

/// The kernel may forbid io_uring, also where this test runs.
#[test]
fn what_threads_wait_with_is_told() {
    let api = |server: &crate::process::Server| {
        Client::new(server.addr()).info("multiplexing_api").clone()
    };
    assert_eq!(api(&serve("--io-uring no")), "epoll");
    let server = serve("--io-uring yes");
    if api(&server) == "epoll" {
        server.logged("io-uring yes: the kernel refuses");
    } else {
        assert_eq!(api(&server), "io_uring");
        assert!(!server.log().contains("io_uring"), "{}", server.log());
    }
}

/// The sockets of both protocols belong to the group that `unixsocketgroup` names.
#[test]
fn the_sockets_have_the_group_that_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("redis");
    let start = format!("--port 0 --unixsocket {}", path.display());
    if let Some(name) = crate::process::group_of(folder.path()) {
        let own = std::fs::metadata(folder.path()).unwrap().gid();
        let server = serve(&format!("{start} --unixsocketgroup {name}"));
        assert_eq!(std::fs::metadata(&path).unwrap().gid(), own);
        server.stop();
    }
    let said = refuses(&format!("{start} --unixsocketgroup no-such-group"));
    assert!(
        said.contains("unixsocketgroup no-such-group: this machine has no such group"),
        "{said}"
    );
}
