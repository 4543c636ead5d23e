//! HTTP for those who watch the server: `/metrics`, `/healthz`, `/readyz`.
//!
//! A thread of its own with a listener of its own, so that a scrape costs no worker anything but
//! the counters it reads. Nothing can be changed through it.

mod metrics;

use crate::config::Error;
use crate::shared::Shared;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tiny_http::{Header, Method, Request, Response, Server};

/// How often the thread looks whether the server is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Where metrics are served unless the settings say otherwise.
pub(crate) const PORT_DEFAULT: u16 = 9379;

/// The listener, once it is open.
pub(crate) struct Listener {
    server: Server,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

/// Opens the listener. A port that nobody asked for may be taken: several servers on one machine
/// need no setting to start.
pub(crate) fn open(bind: IpAddr, port: Option<u16>) -> Result<Option<Listener>, Error> {
    let wanted = SocketAddr::new(bind, port.unwrap_or(PORT_DEFAULT));
    match Server::http(wanted) {
        Ok(server) => {
            let address = server.server_addr().to_ip().unwrap_or(wanted);
            Ok(Some(Listener { server, address }))
        }
        Err(error) if port.is_none() => {
            tracing::warn!(%error, "metrics are not served at {wanted}: choose an http-port");
            Ok(None)
        }
        Err(error) => {
            Err(Error(format!("cannot listen on {wanted}: {error}: choose another http-port")))
        }
    }
}

/// Answers until the server ends.
pub(crate) fn run(shared: &Shared, listener: &Listener) {
    while !shared.is_stopping() {
        match listener.server.recv_timeout(LOOK) {
            Ok(Some(request)) => answer(shared, request),
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%error, "metrics are no longer served");
                return;
            }
        }
    }
}

fn answer(shared: &Shared, request: Request) {
    const TEXT: &str = "text/plain; charset=utf-8";
    /// The version of the text format that Prometheus asks for.
    const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
    let path = request.url().split('?').next().unwrap_or_default();
    let (status, kind, body) = match (request.method(), path) {
        (Method::Get | Method::Head, "/metrics") => (200, METRICS, metrics::text(shared)),
        (Method::Get | Method::Head, "/healthz") => (200, TEXT, "alive\n".to_owned()),
        (Method::Get | Method::Head, "/readyz") if shared.warm.is_restoring() => {
            (503, TEXT, "restoring\n".to_owned())
        }
        (Method::Get | Method::Head, "/readyz") => (200, TEXT, "ready\n".to_owned()),
        (Method::Get | Method::Head, _) => {
            (404, TEXT, "there are /metrics, /healthz and /readyz\n".to_owned())
        }
        _ => (405, TEXT, "only GET and HEAD\n".to_owned()),
    };
    let mut response = Response::from_string(body).with_status_code(status);
    if let Ok(header) = Header::from_bytes("Content-Type", kind) {
        response.add_header(header);
    }
    // Whoever asked may have left.
    let _ = request.respond(response);
}
