//! A report over HTTP, for people and programs that watch a cache: the dashboard at `/`,
//! `/metrics`, `/report.json`, `/healthz`, `/readyz`.
//!
//! ```text
//!   a Larder ──────────────┐
//!                          ├─▶ Source: report, history, who may look ─▶ pages, metrics, events
//!   larder attach ─────────┘
//! ```
//!
//! hyper speaks HTTP on one thread that serves all connections in turn, so a scrape costs the
//! cache's workers only the counters it reads. HTTP requests cannot change anything.
//!
//! The number of connections is bounded, and a silent connection cannot keep its place
//! (`places.rs`). So probes are answered even when many connections send nothing or half a request.
//! For the same reason probes need no password. Pages with data are only for clients that the
//! source admits; a probe gets a status and one word.
#![forbid(unsafe_code)]

mod hosts;
pub mod metrics;
mod pages;
mod places;
mod source;

pub use source::{Refused, Source};

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST,
    REFERRER_POLICY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use pages::{Events, Latest};
use places::{Place, Places};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// The period at which the thread checks for the end of the source and for silent connections.
const LOOK: Duration = Duration::from_millis(100);
/// The largest head of a request, in bytes and in header lines.
const HEAD_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// The content policy of a page: it may load its own style, script and events, and nothing from
/// other sites. Charts name their colours in `style`.
const POLICY: &str = "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; \
                      connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
/// The version of the text format that Prometheus asks for.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A listener that is bound to its address.
#[derive(Debug)]
pub struct Listener {
    runtime: Runtime,
    socket: TcpListener,
    /// The address it is bound to, with the actual port.
    pub address: SocketAddr,
}

/// Binds the listener.
///
/// # Errors
/// The address is taken, or does not belong to this machine.
pub fn listen(wanted: SocketAddr) -> io::Result<Listener> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
    let socket = runtime.block_on(TcpListener::bind(wanted))?;
    let address = socket.local_addr()?;
    Ok(Listener { runtime, socket, address })
}

/// Answers requests until the source ends.
pub fn run<S: Source>(source: &Arc<S>, listener: Listener) {
    let Listener { runtime, socket, .. } = listener;
    runtime.block_on(async {
        let places = Arc::new(Places::default());
        let latest = Arc::new(Latest::default());
        while !source.is_ending() {
            match tokio::time::timeout(LOOK, socket.accept()).await {
                Ok(Ok((stream, peer))) => {
                    let place = places.take(source.places(), Instant::now());
                    let id = place.id();
                    let latest = latest.clone();
                    let task = tokio::spawn(serve(source.clone(), latest, place, stream, peer));
                    places.hold(id, task.abort_handle());
                }
                Ok(Err(error)) => {
                    source.note_unaccepted(&error);
                    tokio::time::sleep(LOOK).await;
                }
                Err(_) => {}
            }
            places.close_silent(Instant::now());
        }
    });
}

/// Answers one client until it disconnects.
async fn serve<S: Source>(
    source: Arc<S>,
    latest: Arc<Latest>,
    place: Place,
    stream: TcpStream,
    peer: SocketAddr,
) {
    let _ = stream.set_nodelay(true);
    let place = Arc::new(place);
    let (source, latest, place) = (&source, &latest, &place);
    let service = service_fn(|request: Request<Incoming>| async move {
        let _busy = place.answer();
        Ok::<_, Infallible>(answer(source, latest, place, &request, peer).await)
    });
    let connection = http1::Builder::new()
        .max_buf_size(HEAD_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // The client may have disconnected or sent something other than HTTP: hyper has answered it.
    let _ = connection.await;
}

/// A response: a whole body, or a stream of events.
type HttpResponse<S> = Response<Either<Full<Bytes>, Events<S>>>;

fn page<S: Source>(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Bytes>,
) -> HttpResponse<S> {
    respond(status, kind, Either::Left(Full::new(body.into())))
}

fn respond<S: Source>(
    status: StatusCode,
    kind: &'static str,
    body: Either<Full<Bytes>, Events<S>>,
) -> HttpResponse<S> {
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

async fn answer<S: Source>(
    source: &Arc<S>,
    latest: &Arc<Latest>,
    place: &Arc<Place>,
    request: &Request<Incoming>,
    peer: SocketAddr,
) -> HttpResponse<S> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return page(StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET and HEAD\n");
    }
    let path = request.uri().path();
    match path {
        "/healthz" => return page(StatusCode::OK, TEXT, "alive\n"),
        "/readyz" => {
            return match source.unready() {
                Some(why) => page(StatusCode::SERVICE_UNAVAILABLE, TEXT, format!("{why}\n")),
                None => page(StatusCode::OK, TEXT, "ready\n"),
            };
        }
        _ => {}
    }
    let authorization = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    match source.admit(authorization, peer).await {
        // A browser adds a password only for its own site: a request with one is not from another
        // site.
        Ok(()) if authorization.is_none() && !is_at_home(&**source, request) => page(
            StatusCode::MISDIRECTED_REQUEST,
            TEXT,
            "this host name is unknown: use the address, add the name to http-hosts, or set a \
             password\n",
        ),
        Ok(()) => admitted(source, latest, place, path, request.uri().query().unwrap_or_default()),
        Err(Refused::Unknown) => page(
            StatusCode::UNAUTHORIZED,
            TEXT,
            "log in with the name and password of a user who may call INFO\n",
        ),
        Err(Refused::MayNot(user)) => page(
            StatusCode::FORBIDDEN,
            TEXT,
            format!("user {user} may not call INFO: ACL SETUSER {user} +info\n"),
        ),
    }
}

/// Whether the request names a host that nobody else can register.
fn is_at_home<S: Source>(source: &S, request: &Request<Incoming>) -> bool {
    let of_uri = request.uri().authority().map(hyper::http::uri::Authority::as_str);
    let of_header = request.headers().get(HOST).map(|host| host.to_str().unwrap_or_default());
    // Browsers always name a host.
    let mut named = of_uri.into_iter().chain(of_header);
    named.all(|host| hosts::is_private(host) || source.is_named(hosts::without_port(host)))
}

/// Answers a client that may see everything.
fn admitted<S: Source>(
    source: &Arc<S>,
    latest: &Arc<Latest>,
    place: &Arc<Place>,
    path: &str,
    query: &str,
) -> HttpResponse<S> {
    let ok = |kind, body: String| page(StatusCode::OK, kind, body);
    if let Some(found) = report::page::find(path) {
        return ok(HTML, pages::whole(found, query, latest, &**source));
    }
    match path {
        "/metrics" => ok(METRICS, source.metrics()),
        "/report.json" => ok(JSON, latest.document(&**source)),
        "/dashboard.css" => ok(CSS, report::page::style()),
        "/dashboard.js" => ok(SCRIPT, report::page::SCRIPT.to_owned()),
        "/events" => match Events::of(query, latest, source, place) {
            Some(events) => respond(StatusCode::OK, EVENTS, Either::Right(events)),
            None => {
                page(StatusCode::NOT_FOUND, TEXT, "page must be one of the dashboard's pages\n")
            }
        },
        _ => page(
            StatusCode::NOT_FOUND,
            TEXT,
            "not found: there are / (the dashboard), /metrics, /report.json, /healthz and \
             /readyz\n",
        ),
    }
}
