//! HTTP for those who watch the server: the dashboard at `/`, `/metrics`, `/report.json`,
//! `/healthz`, `/readyz`.
//!
//! hyper speaks it, on a thread of its own that serves all connections in turn, so that a scrape
//! costs no worker anything but the counters it reads. Nothing can be changed through it.
//!
//! Places are few, and a silent connection cannot keep one (`places.rs`): a probe is answered
//! however many connections say nothing, or half of something. For the same reason probes need no
//! password. What tells of data is for those who may call INFO (`guard.rs`); a probe is answered
//! with a status and one word, as `-NOAUTH` shows by itself that a server lives.

mod dashboard;
mod guard;
mod metrics;
mod places;

use crate::config::Error;
use crate::shared::Shared;
use dashboard::{Events, Latest};
use guard::Refused;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use places::{Place, Places};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// How often the thread looks whether the server is to end, and for connections to close.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes and lines of a head, at most.
const HEAD_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;

/// Where metrics are served unless the settings say otherwise.
pub(crate) const PORT_DEFAULT: u16 = 9379;

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// What a page may load: its own style, script and events, and nothing of anybody else. Charts
/// name their colours in `style`.
const POLICY: &str = "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; \
                      connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
/// The version of the text format that Prometheus asks for.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The listener, once it is open.
pub(crate) struct Listener {
    runtime: Runtime,
    socket: TcpListener,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

/// Opens the listener. A port that nobody asked for may be taken: several servers on one machine
/// need no setting to start.
pub(crate) fn open(bind: IpAddr, port: Option<u16>) -> Result<Option<Listener>, Error> {
    let wanted = SocketAddr::new(bind, port.unwrap_or(PORT_DEFAULT));
    match listen(wanted) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if port.is_none() => {
            tracing::warn!(%error, "metrics are not served at {wanted}: choose an http-port");
            Ok(None)
        }
        Err(error) => {
            Err(Error(format!("cannot listen on {wanted}: {error}: choose another http-port")))
        }
    }
}

fn listen(wanted: SocketAddr) -> io::Result<Listener> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
    let socket = runtime.block_on(TcpListener::bind(wanted))?;
    let address = socket.local_addr()?;
    Ok(Listener { runtime, socket, address })
}

/// Answers until the server ends.
pub(crate) fn run(shared: &Arc<Shared>, listener: Listener) {
    let Listener { runtime, socket, .. } = listener;
    runtime.block_on(async {
        let places = Arc::new(Places::default());
        let latest = Arc::new(Latest::default());
        while !shared.is_stopping() {
            match tokio::time::timeout(LOOK, socket.accept()).await {
                Ok(Ok((stream, peer))) => {
                    let max = shared.view().settings.http_maxclients;
                    let place = places.take(max, Instant::now());
                    let id = place.id();
                    let latest = latest.clone();
                    let task = tokio::spawn(serve(shared.clone(), latest, place, stream, peer));
                    places.hold(id, task.abort_handle());
                }
                Ok(Err(error)) => {
                    shared.note_unaccepted(&error);
                    tokio::time::sleep(LOOK).await;
                }
                Err(_) => {}
            }
            places.close_silent(Instant::now());
        }
    });
}

/// Answers one client until it leaves.
async fn serve(
    shared: Arc<Shared>,
    latest: Arc<Latest>,
    place: Place,
    stream: TcpStream,
    peer: SocketAddr,
) {
    let _ = stream.set_nodelay(true);
    let place = Arc::new(place);
    let (shared, latest, place) = (&shared, &latest, &place);
    let service = service_fn(|request: Request<Incoming>| async move {
        let _busy = place.answer();
        Ok::<_, Infallible>(answer(shared, latest, place, &request, peer).await)
    });
    let connection = http1::Builder::new()
        .max_buf_size(HEAD_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // The client may have left, or sent what is no HTTP: hyper has told it so.
    let _ = connection.await;
}

/// What is answered: all at once, or event by event.
type Answer = Response<Either<Full<Bytes>, Events>>;

fn page(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    respond(status, kind, Either::Left(Full::new(body.into())))
}

fn respond(status: StatusCode, kind: &'static str, body: Either<Full<Bytes>, Events>) -> Answer {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, value.parse().expect("a constant"));
    }
    match status {
        StatusCode::UNAUTHORIZED => {
            let basic = "Basic realm=\"larder\", charset=\"UTF-8\"";
            headers.insert(WWW_AUTHENTICATE, basic.parse().expect("a constant"));
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            headers.insert(ALLOW, "GET, HEAD".parse().expect("a constant"));
        }
        _ => {}
    }
    response
}

async fn answer(
    shared: &Arc<Shared>,
    latest: &Arc<Latest>,
    place: &Arc<Place>,
    request: &Request<Incoming>,
    peer: SocketAddr,
) -> Answer {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return page(StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET and HEAD\n");
    }
    let path = request.uri().path();
    match path {
        "/healthz" => return page(StatusCode::OK, TEXT, "alive\n"),
        "/readyz" if shared.warm.is_restoring() => {
            return page(StatusCode::SERVICE_UNAVAILABLE, TEXT, "restoring\n");
        }
        "/readyz" => return page(StatusCode::OK, TEXT, "ready\n"),
        _ => {}
    }
    let authorization = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    match guard::admit(shared, authorization, peer).await {
        Ok(()) => admitted(shared, latest, place, path, request.uri().query().unwrap_or_default()),
        Err(Refused::Unknown) => page(
            StatusCode::UNAUTHORIZED,
            TEXT,
            "name and password of a user who may call INFO are needed\n",
        ),
        Err(Refused::MayNot(user)) => page(
            StatusCode::FORBIDDEN,
            TEXT,
            format!("user {user} may not call INFO: ACL SETUSER {user} +info\n"),
        ),
    }
}

/// Answers whoever may see everything.
fn admitted(
    shared: &Arc<Shared>,
    latest: &Arc<Latest>,
    place: &Arc<Place>,
    path: &str,
    query: &str,
) -> Answer {
    let ok = |kind, body: String| page(StatusCode::OK, kind, body);
    if let Some(found) = report::page::find(path) {
        return ok(HTML, dashboard::whole(found, query, latest, shared));
    }
    match path {
        "/metrics" => ok(METRICS, metrics::text(shared)),
        "/report.json" => ok(JSON, latest.document(shared)),
        "/dashboard.css" => ok(CSS, report::page::style()),
        "/dashboard.js" => ok(SCRIPT, report::page::SCRIPT.to_owned()),
        "/events" => match Events::of(query, latest, shared, place) {
            Some(events) => respond(StatusCode::OK, EVENTS, Either::Right(events)),
            None => page(StatusCode::NOT_FOUND, TEXT, "page must name one of the dashboard\n"),
        },
        _ => page(
            StatusCode::NOT_FOUND,
            TEXT,
            "there are / (the dashboard), /metrics, /report.json, /healthz and /readyz\n",
        ),
    }
}
