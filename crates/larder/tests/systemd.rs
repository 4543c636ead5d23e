//! What a service manager is told: that the server is ready, and that it ends.

use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn systemd_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let told = || {
        let mut bytes = [0; 1024];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    let mut server = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["serve", "--port", "0", "--http-port", "0"])
        .env("NOTIFY_SOCKET", &path)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(told().trim(), "READY=1");
    let pid = server.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(told().trim(), "STOPPING=1");
    assert!(server.wait().unwrap().success());
}
