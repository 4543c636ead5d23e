//! The head of an HTTP request, read within a length and a time.
//!
//! Only what the few pages here need is understood: the method, the path, who asks, and whether the
//! connection stays. A body is not read; the connection of a request that has one is closed.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Bytes of a head, at most.
pub(super) const HEAD_MAX: usize = 16 << 10;
/// Lines of a head, at most.
const HEADERS_MAX: usize = 64;
/// For how long a head may arrive, and for how long none may come.
const HEAD_TIME: Duration = Duration::from_secs(10);
const IDLE_TIME: Duration = Duration::from_secs(90);

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) method: String,
    /// Without what follows a question mark.
    pub(super) path: String,
    /// The value of `Authorization`.
    pub(super) authorization: Option<String>,
    /// Another request may follow.
    pub(super) stays: bool,
}

/// Why there is no head.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The client left, was silent for too long, or the server ends.
    Over,
    /// It is longer than any that is answered.
    TooLong,
    /// It is no HTTP.
    Malformed,
}

/// Reads the next head. `bytes` holds what came after the last one. The socket's timeout is how
/// often `ends` is asked.
pub(super) fn read(
    stream: &mut TcpStream,
    bytes: &mut Vec<u8>,
    ends: impl Fn() -> bool,
) -> Result<Head, Broken> {
    let begun = Instant::now();
    let mut chunk = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = parse(&bytes[..end + 4]);
            bytes.drain(..end + 4);
            return head.ok_or(Broken::Malformed);
        }
        if bytes.len() > HEAD_MAX {
            return Err(Broken::TooLong);
        }
        let time = if bytes.is_empty() { IDLE_TIME } else { HEAD_TIME };
        if ends() || begun.elapsed() > time {
            return Err(Broken::Over);
        }
        match stream.read(&mut chunk) {
            Ok(0) => return Err(Broken::Over),
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
            Err(error) if is_silence(&error) => {}
            Err(_) => return Err(Broken::Over),
        }
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn parse(bytes: &[u8]) -> Option<Head> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    if !request.parse(bytes).ok()?.is_complete() {
        return None;
    }
    let mut head = Head {
        method: request.method?.to_owned(),
        path: request.path?.split('?').next().unwrap_or_default().to_owned(),
        authorization: None,
        stays: request.version? == 1,
    };
    for header in request.headers {
        let value = std::str::from_utf8(header.value).ok()?;
        match header.name.to_ascii_lowercase().as_str() {
            "authorization" => head.authorization = Some(value.to_owned()),
            "connection" if value.eq_ignore_ascii_case("close") => head.stays = false,
            "content-length" if value != "0" => head.stays = false,
            "transfer-encoding" | "upgrade" => head.stays = false,
            _ => {}
        }
    }
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(lines: &str) -> Option<Head> {
        parse(format!("{lines}\r\n\r\n").as_bytes())
    }

    #[test]
    fn heads_are_understood() {
        let text = "GET /metrics?a=b HTTP/1.1\r\nHost: x\r\nAUTHORIZATION:  Basic abc";
        let head = parsed(text).unwrap();
        assert_eq!((head.method.as_str(), head.path.as_str()), ("GET", "/metrics"));
        assert_eq!((head.authorization.as_deref(), head.stays), (Some("Basic abc"), true));
        let stays = |text: &str| parsed(text).unwrap().stays;
        assert!(!stays("GET / HTTP/1.0"));
        assert!(!stays("GET / HTTP/1.1\r\nconnection: Close"));
        assert!(!stays("POST / HTTP/1.1\r\ncontent-length: 7"), "its body would be the next head");
        let many = format!("GET / HTTP/1.1{}", "\r\na: b".repeat(HEADERS_MAX + 1));
        for text in ["", "GET /", "GET / HTTP/2.0", "GET / HTTP/1.1\r\nrubbish", &many] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
