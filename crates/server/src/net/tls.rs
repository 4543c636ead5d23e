//! TLS: certificates, and an encrypted stream.
//!
//! To a worker the stream behaves like a socket. A read returns the bytes that have arrived or
//! would block, and a write accepts as much as it can. Encrypted bytes that the socket has not
//! accepted yet wait in the stream, and count as waiting replies. The socket is always watched for
//! writing, because a handshake must write as well. Events are edge-triggered, so this costs
//! nothing.

use super::connection::give_back;
use crate::settings::config::{Error, Settings};
use mio::net::TcpStream;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

/// The number of bytes that are encrypted at once.
const CHUNK: usize = 64 << 10;

/// The TLS settings with their files loaded; `None` if no port uses TLS.
pub(crate) fn load(settings: &Settings) -> Result<Option<Arc<ServerConfig>>, Error> {
    if settings.tls_port == 0 && !settings.memcached_tls {
        return Ok(None);
    }
    let provider = Arc::new(ring::default_provider());
    let versions = versions(&settings.tls_protocols);
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions)
        .map_err(|error| Error(format!("tls-protocols: {error}")))?;
    let builder = if settings.tls_auth_clients == "no" {
        builder.with_no_client_auth()
    } else {
        let mut roots = RootCertStore::empty();
        let path = &settings.tls_ca_cert_file;
        for certificate in certificates("tls-ca-cert-file", path)? {
            let added = roots.add(certificate);
            added.map_err(|error| Error(format!("tls-ca-cert-file {path}: {error}")))?;
        }
        let mut verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        if settings.tls_auth_clients == "optional" {
            verifier = verifier.allow_unauthenticated();
        }
        let verifier = verifier.build();
        let verifier =
            verifier.map_err(|error| Error(format!("tls-ca-cert-file {path}: {error}")))?;
        builder.with_client_cert_verifier(verifier)
    };
    let chain = certificates("tls-cert-file", &settings.tls_cert_file)?;
    let path = &settings.tls_key_file;
    let key = PrivateKeyDer::from_pem_file(path)
        .map_err(|error| Error(format!("cannot read tls-key-file {path}: {error}")))?;
    let config = builder.with_single_cert(chain, key);
    let config = config.map_err(|error| {
        Error(format!("tls-cert-file {} and tls-key-file {path}: {error}", settings.tls_cert_file))
    })?;
    Ok(Some(Arc::new(config)))
}

/// The versions that `tls-protocols` names; both versions for an empty text.
fn versions(text: &str) -> Vec<&'static SupportedProtocolVersion> {
    let names = [("TLSv1.2", &TLS12), ("TLSv1.3", &TLS13)];
    let chosen = names.iter().filter(|(name, _)| {
        text.is_empty() || text.split_whitespace().any(|word| word.eq_ignore_ascii_case(name))
    });
    chosen.map(|(_, version)| *version).collect()
}

fn certificates(name: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let wrong = |error: String| Error(format!("cannot read {name} {path}: {error}"));
    let found = CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
    let found: Result<Vec<_>, _> = found.collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(wrong("there is no certificate in it".into())),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// An encrypted connection of a client.
#[derive(Debug)]
pub(crate) struct TlsStream {
    pub(crate) socket: TcpStream,
    tls: ServerConnection,
    /// Encrypted bytes. The socket has accepted the first `written` of them.
    out: Vec<u8>,
    written: usize,
}

impl TlsStream {
    pub(crate) fn new(socket: TcpStream, config: Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        let mut tls = ServerConnection::new(config)?;
        // `CHUNK` and the waiting bytes bound what is accepted.
        tls.set_buffer_limit(None);
        Ok(Self { socket, tls, out: vec![], written: 0 })
    }

    /// The number of bytes that the socket has not accepted yet.
    pub(crate) fn pending(&self) -> usize {
        self.out.len() - self.written
    }

    /// Moves the bytes that rustls wants to send to the buffer for the socket.
    fn encrypt(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.out)?;
        }
        Ok(())
    }

    /// Writes the waiting bytes.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        while self.pending() > 0 {
            match self.socket.write(&self.out[self.written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => self.written += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.written = 0;
        give_back(&mut self.out);
        Ok(())
    }

    /// Encrypts, and writes as much as the socket accepts now.
    fn send(&mut self) -> io::Result<()> {
        self.encrypt()?;
        match self.drain() {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Fills `into` with decrypted bytes, as far as they have arrived.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            match self.tls.reader().read(&mut into[filled..]) {
                Ok(0) => return Ok(filled),
                Ok(n) => {
                    filled += n;
                    if filled == into.len() {
                        return Ok(filled);
                    }
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The client closed the connection without a notice.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(filled),
                Err(error) => return Err(error),
            }
            match self.tls.read_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock && filled > 0 => {
                    return Ok(filled);
                }
                Err(error) => return Err(error),
            }
            let processed = self.tls.process_new_packets();
            // An alert tells the client the error.
            self.send()?;
            if let Err(error) = processed {
                tracing::debug!(%error, "a client's TLS connection is closed");
                return Err(ErrorKind::InvalidData.into());
            }
        }
    }

    /// Accepts bytes to send. Returns how many it accepted.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.drain()?;
        let taken = self.tls.writer().write(&bytes[..bytes.len().min(CHUNK)])?;
        self.send()?;
        Ok(taken)
    }

    /// Announces the end of the stream.
    pub(crate) fn close(&mut self) {
        self.tls.send_close_notify();
        // A client that has disconnected gets no notice.
        let _ = self.send();
    }
}
