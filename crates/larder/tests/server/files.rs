//! A low limit of open files decides how many clients the server admits.

use crate::client::Client;
use crate::http::fetch;
use crate::process::{free_port, larder, serve_command, start, with_files};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

/// With few files the server lowers `maxclients`, and its own files and probes keep their share.
#[test]
fn clients_are_as_many_as_files_allow() {
    let more = format!("--http-port {} --maxclients 1000 --dir /tmp", free_port());
    let server = start(&mut with_files(64, &serve_command(&more)));
    let line = server.logged("ulimit -n is 64");
    assert!(line.contains("lowers maxclients from 1000 to 18"), "{line}");
    assert_eq!(server.log().matches("ulimit -n is").count(), 1);
    let mut clients = vec![];
    for at in 0..18 {
        let mut client = Client::new(server.addr());
        assert_eq!(client.ask("PING"), "+PONG\r\n", "{at}");
        clients.push(client);
    }
    let refused = String::from_utf8(Client::new(server.addr()).reply()).unwrap();
    assert_eq!(refused, "-ERR max number of clients reached\r\n");
    // Far more connections than files.
    let crowd: Vec<_> = (0..100).map(|_| TcpStream::connect(server.addr()).unwrap()).collect();
    let silent: Vec<_> = (0..100).map(|_| TcpStream::connect(server.http_addr())).collect();
    assert_eq!(fetch(server.http_addr(), "GET /healthz").1, "alive\n");
    let first = &mut clients[0];
    assert_eq!(first.ask("CONFIG GET maxclients"), "*2\r\n$10\r\nmaxclients\r\n$2\r\n18\r\n");
    assert_eq!(first.ask("SET a 1"), "+OK\r\n");
    assert_eq!(first.info("maxclients"), "18");
    let refused = first.ask("CONFIG SET maxclients 19");
    assert!(refused.contains("number of clients, try with 18 (ulimit -n is 64)"), "{refused}");
    assert_eq!(first.ask("CONFIG SET maxclients 17"), "+OK\r\n");
    assert_eq!(first.ask("CONFIG SET dir /"), "+OK\r\n", "files can be opened");
    drop((crowd, silent));
    let arguments = "--port 0 --http-port 0 --io-threads 2";
    let output = with_files(30, &larder(&format!("serve {arguments}"))).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("ulimit -n is 30") && error.contains("raise it to at least 39"),
        "{error}"
    );
}

/// If files run out nevertheless, the log says so once, and who waits is accepted when files are
/// free again. A single worker accepts for itself.
#[test]
fn unaccepted_connections_are_told_once() {
    for threads in [1, 2] {
        let command = serve_command(&format!("--maxclients 18 --io-threads {threads}"));
        let server = start(&mut with_files(60, &command));
        // The limit of a process can be lowered below its number of open files.
        let limit = |files: &str| {
            let pid = server.pid().to_string();
            let limit = format!("--nofile={files}");
            let set = Command::new("prlimit").args(["--pid", &pid, &limit]).status();
            set.is_ok_and(|status| status.success())
        };
        if !limit("16:") {
            skip::skip("prlimit", "apt-get install util-linux");
            return;
        }
        let waiting: Vec<_> = (0..8).map(|_| TcpStream::connect(server.addr()).unwrap()).collect();
        server.logged("cannot accept a connection");
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(server.log().matches("cannot accept").count(), 1);
        assert!(limit("60:"));
        for mut client in waiting {
            client.write_all(b"PING\r\n").unwrap();
            let mut reply = [0; 7];
            client.read_exact(&mut reply).unwrap();
            assert_eq!(&reply, b"+PONG\r\n", "{threads}");
        }
    }
}
