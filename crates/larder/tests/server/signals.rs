//! Signals, sent to the binary: SIGHUP reads files again and ends nothing, SIGTERM ends the server.

use crate::client::Client;
use crate::process::{serve, serve_command};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_hangup_ends_nothing() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    server.signal("-HUP");
    server.logged("reread settings; changed: nothing");
    assert_eq!(client.ask("PING"), "+PONG\r\n");
    server.stop();
    assert_eq!(client.reply(), b"");
}

/// `larder serve 2>&1 | head -1`: log lines that cannot be written are dropped, and end no thread.
#[test]
fn a_server_whose_log_nobody_reads_is_ended() {
    let mut command = serve_command("");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    drop(child.stderr.take());
    let pid = child.id().to_string();
    for signal in ["-HUP", "-TERM"] {
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(100));
    }
    let end = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            let _ = child.kill();
            panic!("it goes on: {line}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
