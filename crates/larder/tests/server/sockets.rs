//! Unix sockets, for both protocols.

use crate::process::serve;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
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
