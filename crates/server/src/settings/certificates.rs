//! TLS: certificates and protocol versions, from the files and words of the settings.

use super::config::{Error, Settings};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use std::sync::Arc;

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
        Ok(_) => Err(wrong("the file holds no certificate".into())),
        Err(error) => Err(wrong(error.to_string())),
    }
}
