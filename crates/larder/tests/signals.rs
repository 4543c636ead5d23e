//! Signals, sent to the binary: SIGHUP reads certificates anew and ends nothing, SIGTERM ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn signal(server: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &server.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_hangup_ends_nothing() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["serve", "--json", "--port", "0", "--http-port", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.split("\"port\":").nth(1).unwrap().split([',', '}']).next().unwrap();
    let port: u16 = port.parse().unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap());
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    signal(&server, "-HUP");
    let mut heard = String::new();
    while !heard.contains("nothing to read anew") {
        assert!(log.read_line(&mut heard).unwrap() > 0, "it ended: {heard}");
    }
    client.write_all(b"PING\r\n").unwrap();
    let mut reply = [0; 7];
    client.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"+PONG\r\n");
    signal(&server, "-TERM");
    assert!(server.wait().unwrap().success());
}
