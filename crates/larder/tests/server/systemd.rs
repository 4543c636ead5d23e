//! Messages to the service manager: the server is ready, and the server ends.

use crate::process::{serve_command, start};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

#[test]
fn systemd_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let told = || {
        let mut bytes = [0; 1024];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    let server = start(serve_command("").env("NOTIFY_SOCKET", &path));
    assert_eq!(told().trim(), "READY=1");
    server.signal("-TERM");
    assert_eq!(told().trim(), "STOPPING=1");
    assert!(server.wait().success());
}
