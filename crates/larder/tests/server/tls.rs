//! TLS: certificates of both sides, their reload, large and slow transfers, real clients.

use crate::bounds::{HELD_MB, acquaint, flood, resident_kb};
use crate::client::Client;
use crate::process::{Server, free_port, refuses, serve};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use wire::resp::Reply;

/// A folder with the certificates of an authority, a server and a client.
struct Papers {
    folder: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Papers {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let ca = params.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), ca.pem()).unwrap();
        let papers = Self { folder, issuer: Issuer::new(params, key) };
        papers.write("server");
        papers.write("client");
        papers
    }

    /// Writes a certificate and its key to two files with this name.
    fn write(&self, name: &str) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".into()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(self.path(&format!("{name}.pem")), certificate.pem()).unwrap();
        std::fs::write(self.path(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The directives of a server with these certificates.
    fn arguments(&self, port: u16) -> String {
        let folder = self.folder.path().display();
        format!(
            "--port {} --tls-port {port} --tls-cert-file {folder}/server.pem \
             --tls-key-file {folder}/server.key --tls-ca-cert-file {folder}/ca.pem",
            free_port()
        )
    }

    /// Connects, with the client certificate of that name if one is given.
    fn connect(&self, port: u16, certificate: Option<&str>) -> Tls {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.path("ca.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots);
        let config = match certificate {
            None => config.with_no_client_auth(),
            Some(name) => {
                let path = self.path(&format!("{name}.pem"));
                let chain = vec![CertificateDer::from_pem_file(path).unwrap()];
                let path = self.path(&format!("{name}.key"));
                let key = PrivateKeyDer::from_pem_file(path).unwrap();
                config.with_client_auth_cert(chain, key).unwrap()
            }
        };
        let name = ServerName::try_from("localhost").unwrap();
        let tls = ClientConnection::new(Arc::new(config), name).unwrap();
        let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.set_nodelay(true).unwrap();
        Tls { stream: StreamOwned::new(tls, socket), bytes: vec![] }
    }
}

struct Tls {
    stream: StreamOwned<ClientConnection, TcpStream>,
    bytes: Vec<u8>,
}

impl Tls {
    /// Sends a request and returns its reply; `None` once the connection has ended.
    fn ask(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        self.stream.write_all(request).ok()?;
        self.stream.flush().ok()?;
        self.reply()
    }

    fn reply(&mut self) -> Option<Vec<u8>> {
        let mut chunk = vec![0; 64 << 10];
        loop {
            if let Some((_, len)) = Reply::decode(&self.bytes).unwrap() {
                return Some(self.bytes.drain(..len).collect());
            }
            match self.stream.read(&mut chunk) {
                Ok(n) if n > 0 => self.bytes.extend_from_slice(&chunk[..n]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    panic!("no reply within the time")
                }
                _ => return None,
            }
        }
    }

    /// The certificate that the server presented.
    fn shown(&self) -> Vec<u8> {
        self.stream.conn.peer_certificates().unwrap()[0].to_vec()
    }
}

fn serve_tls(papers: &Papers, more: &str) -> (Server, u16) {
    let port = free_port();
    (serve(&format!("{} {more}", papers.arguments(port))), port)
}

const PONG: Option<&[u8]> = Some(b"+PONG\r\n");

/// A client's certificate opens the connection, but does not replace the password.
#[test]
fn a_certificate_is_no_password() {
    let (papers, port) = (Papers::new(), free_port());
    let _server = serve(&format!("{} --requirepass sesame", papers.arguments(port)));
    let mut client = papers.connect(port, Some("client"));
    for request in
        [&b"PING\r\n"[..], b"GET a\r\n", b"SUBSCRIBE a\r\n", b"MONITOR\r\n", b"HELLO 3\r\n"]
    {
        let reply = client.ask(request).unwrap();
        assert!(reply.starts_with(b"-NOAUTH "), "{}", String::from_utf8_lossy(&reply));
    }
    assert_eq!(client.ask(b"AUTH sesame\r\n").unwrap(), b"+OK\r\n");
    assert_eq!(client.ask(b"PING\r\n").unwrap(), b"+PONG\r\n");
}

#[test]
fn both_ports_see_the_same_data() {
    let papers = Papers::new();
    let (server, port) = serve_tls(&papers, "--tls-auth-clients no");
    assert!(server.listening().iter().any(|place| place.ends_with(&format!("{port} (TLS)"))));
    let mut plain = Client::new(server.addr());
    let mut tls = papers.connect(port, None);
    assert_eq!(tls.ask(b"SET a 1\r\n").unwrap(), b"+OK\r\n");
    assert_eq!(plain.value("GET a"), "1");
    // Several commands in one record, and one command in several records.
    tls.stream.write_all(b"PING\r\nGET a\r\nPI").unwrap();
    tls.stream.flush().unwrap();
    assert_eq!(tls.reply().as_deref(), PONG);
    assert_eq!(tls.reply().unwrap(), b"$1\r\n1\r\n");
    assert_eq!(tls.ask(b"NG\r\n").as_deref(), PONG);
    // A client without TLS gets no data on this port.
    let mut wrong = TcpStream::connect(("127.0.0.1", port)).unwrap();
    wrong.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    wrong.write_all(b"GET a\r\n").unwrap();
    let mut reply = vec![];
    let _ = wrong.read_to_end(&mut reply);
    assert!(!reply.contains(&b'$'), "{reply:?}");
    assert_eq!(plain.ask("PING"), "+PONG\r\n");
}

/// Values larger than any buffer, in both directions, and replies that the client leaves unread for
/// a while.
#[test]
fn large_values_and_slow_readers() {
    let papers = Papers::new();
    let (_server, port) = serve_tls(&papers, "--tls-auth-clients no");
    let mut tls = papers.connect(port, None);
    let value: Vec<u8> = (0..8_000_000u32).map(|at| (at % 251) as u8).collect();
    let mut request = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$8000000\r\n".to_vec();
    request.extend_from_slice(&value);
    request.extend_from_slice(b"\r\n");
    assert_eq!(tls.ask(&request).unwrap(), b"+OK\r\n");
    tls.stream.write_all(&b"GET k\r\n".repeat(5)).unwrap();
    tls.stream.flush().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    for _ in 0..5 {
        let reply = tls.reply().unwrap();
        assert_eq!(&reply[10..reply.len() - 2], &value[..]);
    }
    assert_eq!(tls.ask(b"PING\r\n").as_deref(), PONG);
    // The last reply is complete before the connection ends.
    tls.stream.write_all(b"GET k\r\nQUIT\r\n").unwrap();
    tls.stream.flush().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(tls.reply().unwrap().len(), value.len() + 12);
    assert_eq!(tls.reply().unwrap(), b"+OK\r\n");
    assert_eq!(tls.reply(), None);
}

/// With TLS too, a client that pipelines small requests and reads no reply is not served beyond a
/// bound, and gets every reply once it reads.
#[test]
fn small_requests_of_a_slow_reader_wait() {
    let papers = Papers::new();
    for driver in ["yes", "no"] {
        let more = format!("--tls-auth-clients no --io-threads 1 --io-uring {driver}");
        let (server, port) = serve_tls(&papers, &more);
        let mut other = Client::new(server.addr());
        other.ask("SET a 12345678901234567890");
        acquaint(&mut other);
        let before = resident_kb(server.pid());
        let mut slow = papers.connect(port, None).stream;
        slow.sock.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        let sent = flood(&mut slow, b"GET a\r\n");
        assert_eq!(other.ask("PING"), "+PONG\r\n");
        let held = resident_kb(server.pid()).saturating_sub(before) >> 10;
        assert!(held < HELD_MB, "{driver}: {held} MB are held after {sent} bytes of requests");
        let (mut left, mut chunk) = (sent / 7 * 27, vec![0; 64 << 10]);
        while left > 0 {
            let most = chunk.len().min(left);
            left -= slow.read(&mut chunk[..most]).unwrap();
        }
    }
}

#[test]
fn clients_show_their_certificates() {
    let (papers, strangers) = (Papers::new(), Papers::new());
    std::fs::copy(strangers.path("client.pem"), papers.path("other.pem")).unwrap();
    std::fs::copy(strangers.path("client.key"), papers.path("other.key")).unwrap();
    let (server, port) = serve_tls(&papers, "");
    let enters = |name| papers.connect(port, name).ask(b"PING\r\n").as_deref() == PONG;
    assert!(enters(Some("client")));
    assert!(!enters(None));
    assert!(!enters(Some("other")), "of an authority that nobody knows here");
    let mut admin = Client::new(server.addr());
    assert_eq!(admin.ask("CONFIG SET tls-auth-clients optional"), "+OK\r\n");
    assert!(enters(Some("client")) && enters(None));
    assert!(!enters(Some("other")), "what is shown is checked");
    admin.ask("CONFIG SET tls-auth-clients no");
    assert!(enters(None) && enters(Some("other")));
    admin.ask("CONFIG SET tls-auth-clients yes");
    assert!(!enters(None));
}

#[test]
fn certificates_are_changed_while_it_runs() {
    let papers = Papers::new();
    let (server, port) = serve_tls(&papers, "--tls-auth-clients no");
    let mut admin = Client::new(server.addr());
    let mut old = papers.connect(port, None);
    assert_eq!(old.ask(b"PING\r\n").as_deref(), PONG);
    let path = papers.path("server.pem").display().to_string();
    let key = papers.path("server.key").display().to_string();
    papers.write("server");
    let set = format!("CONFIG SET tls-cert-file {path} tls-key-file {key}");
    assert_eq!(admin.ask(&set), "+OK\r\n");
    let mut new = papers.connect(port, None);
    assert_eq!(new.ask(b"PING\r\n").as_deref(), PONG);
    assert_ne!(new.shown(), old.shown());
    assert_eq!(old.ask(b"PING\r\n").as_deref(), PONG, "who is connected stays so");
    // A key that does not match the certificate is refused, and the settings stay unchanged.
    let client = papers.path("client.key").display().to_string();
    for wrong in ["/nosuch", &path, &client] {
        let error = admin.ask(&format!("CONFIG SET tls-key-file {wrong}"));
        assert!(error.starts_with("-ERR") && error.contains("tls-key-file"), "{error}");
    }
    let mut same = papers.connect(port, None);
    assert_eq!(same.ask(b"PING\r\n").as_deref(), PONG);
    assert_eq!(same.shown(), new.shown());
}

#[test]
fn what_is_missing_is_named() {
    for (arguments, name) in [
        ("--port 0 --tls-port 1", "tls-cert-file"),
        ("--port 0 --tls-port 1 --tls-cert-file /x --tls-key-file /y", "tls-ca-cert-file"),
        ("--port 0 --tls-port 1 --tls-cert-file /x --tls-key-file /y --tls-auth-clients no", "/x"),
        ("--port 0 --memcached-port 1 --memcached-tls yes", "tls-cert-file"),
    ] {
        let error = refuses(arguments);
        assert!(error.contains(name), "{arguments}: {error}");
    }
}

#[test]
fn redis_cli_connects() {
    let papers = Papers::new();
    let (_server, port) = serve_tls(&papers, "");
    let folder = papers.folder.path().display();
    let arguments = format!(
        "-h localhost -p {port} --tls --cacert {folder}/ca.pem --cert {folder}/client.pem \
         --key {folder}/client.key ECHO hello"
    );
    let output = std::process::Command::new("redis-cli").args(arguments.split(' ')).output();
    let Ok(output) = output else {
        skip::skip("redis-cli", "apt-get install redis-tools");
        return;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "hello\n", "{errors}");
}

#[test]
fn memcached_speaks_tls_too() {
    let papers = Papers::new();
    let memcached = free_port();
    let more = format!("--tls-auth-clients no --memcached-port {memcached} --memcached-tls yes");
    let (_server, _) = serve_tls(&papers, &more);
    let mut tls = papers.connect(memcached, None);
    tls.stream.write_all(b"set a 0 0 1\r\n1\r\nget a\r\nrefresh_certs\r\nquit\r\n").unwrap();
    let mut all = String::new();
    tls.stream.read_to_string(&mut all).unwrap();
    assert_eq!(all, "STORED\r\nVALUE a 0 1\r\n1\r\nEND\r\nOK\r\n");
}
