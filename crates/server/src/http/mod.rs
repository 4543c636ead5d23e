//! HTTP for those who watch the server: `/metrics`, `/healthz`, `/readyz`.
//!
//! A listener of its own, and a thread for each of a bounded number of connections, so that a
//! scrape costs no worker anything but the counters it reads. Nothing can be changed through it.
//!
//! What tells of data is for those who may call INFO (`guard.rs`). The probes are for everybody:
//! they answer with a status and one word, as `-NOAUTH` shows by itself that a server lives, and
//! whoever probes brings no password.

mod guard;
mod metrics;
mod request;

use crate::config::Error;
use crate::shared::Shared;
use guard::Refused;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};
use request::{Broken, Head};
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How often threads look whether the server is to end.
const LOOK: Duration = Duration::from_millis(100);
/// For how long a client may take no byte of an answer.
const WRITE_TIME: Duration = Duration::from_secs(10);

/// Where metrics are served unless the settings say otherwise.
pub(crate) const PORT_DEFAULT: u16 = 9379;

const TEXT: &str = "text/plain; charset=utf-8";
/// The version of the text format that Prometheus asks for.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The listener, once it is open.
pub(crate) struct Listener {
    socket: TcpListener,
    poll: Poll,
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
    let (mut socket, poll) = (TcpListener::bind(wanted)?, Poll::new()?);
    poll.registry().register(&mut socket, Token(0), Interest::READABLE)?;
    let address = socket.local_addr()?;
    Ok(Listener { socket, poll, address })
}

/// Answers until the server ends.
pub(crate) fn run(shared: &Shared, mut listener: Listener) {
    let (mut events, clients) = (Events::with_capacity(8), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        while !shared.is_stopping() {
            // A wait that fails ends at once; the next look is a little later.
            if listener.poll.poll(&mut events, Some(LOOK)).is_err() {
                std::thread::sleep(LOOK);
            }
            while let Some((mut stream, peer)) = accept(&listener.socket) {
                let max = shared.view().settings.http_maxclients;
                if clients.load(Ordering::Acquire) >= max {
                    refuse(&mut stream, max);
                    continue;
                }
                clients.fetch_add(1, Ordering::AcqRel);
                let clients = &clients;
                let serve = move || {
                    // Whoever asked may have left.
                    let _ = converse(shared, stream, peer);
                    clients.fetch_sub(1, Ordering::AcqRel);
                };
                if std::thread::Builder::new()
                    .name("http".into())
                    .spawn_scoped(scope, serve)
                    .is_err()
                {
                    clients.fetch_sub(1, Ordering::AcqRel);
                }
            }
        }
    });
}

/// The next connection, if one waits.
fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    loop {
        match listener.accept() {
            Ok((stream, peer)) => {
                let stream = TcpStream::from(stream);
                return stream.set_nonblocking(false).is_ok().then_some((stream, peer));
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            Err(error) => {
                tracing::warn!(%error, "an HTTP connection cannot be accepted: raise ulimit -n");
                std::thread::sleep(LOOK);
                return None;
            }
        }
    }
}

/// Tells a client that there are too many.
fn refuse(stream: &mut TcpStream, max: usize) {
    let body = format!("too many connections: http-maxclients is {max}\n");
    let _ = stream.set_nonblocking(true);
    let _ = write(stream, &Answer::new(503, TEXT, body), "GET", false);
}

/// Answers one client until it leaves.
fn converse(shared: &Shared, mut stream: TcpStream, peer: SocketAddr) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(WRITE_TIME))?;
    let mut bytes = vec![];
    loop {
        let answer = match request::read(&mut stream, &mut bytes, || shared.is_stopping()) {
            Ok(head) => {
                let answer = answer(shared, &head, peer);
                write(&mut stream, &answer, &head.method, head.stays)?;
                if head.stays {
                    continue;
                }
                return Ok(());
            }
            Err(Broken::Over) => return Ok(()),
            Err(Broken::TooLong) => {
                let most = request::HEAD_MAX;
                Answer::new(431, TEXT, format!("the head of a request has {most} bytes at most\n"))
            }
            Err(Broken::Malformed) => Answer::new(400, TEXT, "this is no HTTP/1.1\n"),
        };
        return write(&mut stream, &answer, "GET", false);
    }
}

/// A page, and how it is sent.
struct Answer {
    status: u16,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn new(status: u16, kind: &'static str, body: impl Into<String>) -> Self {
        Self { status, kind, body: body.into() }
    }
}

fn write(stream: &mut TcpStream, answer: &Answer, method: &str, stays: bool) -> io::Result<()> {
    let Answer { status, kind, body } = answer;
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    };
    let more = match status {
        401 => "WWW-Authenticate: Basic realm=\"larder\", charset=\"UTF-8\"\r\n",
        405 => "Allow: GET, HEAD\r\n",
        _ => "",
    };
    let connection = if stays { "keep-alive" } else { "close" };
    let body_sent = if method == "HEAD" { "" } else { body };
    let text = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{more}\
         Connection: {connection}\r\n\r\n{body_sent}",
        body.len()
    );
    stream.write_all(text.as_bytes())
}

fn answer(shared: &Shared, head: &Head, peer: SocketAddr) -> Answer {
    if !matches!(head.method.as_str(), "GET" | "HEAD") {
        return Answer::new(405, TEXT, "only GET and HEAD\n");
    }
    match head.path.as_str() {
        "/healthz" => return Answer::new(200, TEXT, "alive\n"),
        "/readyz" if shared.warm.is_restoring() => {
            return Answer::new(503, TEXT, "restoring\n");
        }
        "/readyz" => return Answer::new(200, TEXT, "ready\n"),
        _ => {}
    }
    match guard::admit(shared, head.authorization.as_deref(), peer) {
        Ok(()) if head.path == "/metrics" => Answer::new(200, METRICS, metrics::text(shared)),
        Ok(()) => Answer::new(404, TEXT, "there are /metrics, /healthz and /readyz\n"),
        Err(Refused::Unknown) => {
            Answer::new(401, TEXT, "name and password of a user who may call INFO are needed\n")
        }
        Err(Refused::MayNot(user)) => Answer::new(
            403,
            TEXT,
            format!("user {user} may not call INFO: ACL SETUSER {user} +info\n"),
        ),
    }
}
