//! One connection to a memcached, with the classic text protocol, which every version of memcached
//! speaks, and Larder too.
//!
//! ```text
//!   get KEY                         ▶  VALUE KEY 0 LEN, the value, END; or END alone
//!   set KEY 0 EXPIRY LEN, a value   ▶  STORED
//!   delete KEY                      ▶  DELETED or NOT_FOUND
//! ```
//!
//! An error reply is a line that begins with ERROR, CLIENT_ERROR or SERVER_ERROR. A key that the
//! protocol cannot express is not sent; its answer, an error too, keeps its place in the order of
//! answers.

use crate::answer::Answer;
use crate::pipe::{Bounds, Pipe};
use anyhow::{Context, bail, ensure};
use base::Micros;
use std::collections::VecDeque;
use std::time::{SystemTime, UNIX_EPOCH};
use wire::address::Address;

/// The most bytes of a key; every memcached refuses longer keys.
const KEY_MAX: usize = 250;
/// The longest relative expiry; memcached reads a larger number as seconds since 1970.
const RELATIVE_MAX_S: u64 = 30 * 24 * 3_600;
/// The first line of an answer is shorter than this.
const LINE_MAX: usize = 1 << 11;

/// A connection that is logged in.
#[derive(Debug)]
pub(crate) struct Text {
    pipe: Pipe,
    /// One entry for each request without an answer yet: the reason if it was not sent, else
    /// `None`.
    unsent: VecDeque<Option<String>>,
}

/// The login for a server started with -Y: a `set` with name and password.
pub fn login(user: &str, password: &str) -> String {
    let login = format!("{user} {password}");
    format!("set auth 0 0 {}\r\n{login}\r\n", login.len())
}

impl Text {
    /// Connects and logs in.
    pub(crate) fn connect(to: &Address) -> anyhow::Result<Self> {
        let mut text = Self { pipe: Pipe::connect(to, Bounds::LOADED)?, unsent: VecDeque::new() };
        if let Some((user, password)) = &to.login {
            let what = "user and password of the URL";
            text.ask(login(user, password).as_bytes(), what)?;
        }
        Ok(text)
    }

    /// Sends a request that must succeed; an error names it as `what`.
    fn ask(&mut self, request: &[u8], what: &str) -> anyhow::Result<()> {
        self.pipe.outgoing.extend_from_slice(request);
        self.unsent.push_back(None);
        self.flush()?;
        let refused = self.next(|answer| match answer {
            Answer::Refused(text) => Some(text.into_owned()),
            _ => None,
        })?;
        match refused {
            Some(text) => bail!("{} refuses {what}: {text}", self.pipe.place()),
            None => Ok(()),
        }
    }

    pub(crate) fn empty(&mut self) -> anyhow::Result<()> {
        self.ask(b"flush_all\r\n", "flush_all")
    }

    pub(crate) fn get(&mut self, key: &[u8]) {
        if self.may_send(key) {
            self.put(&[b"get ", key, b"\r\n"]);
        }
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        if self.may_send(key) {
            self.put(&[b"delete ", key, b"\r\n"]);
        }
    }

    pub(crate) fn set(&mut self, key: &[u8], value: &[u8], ttl: Micros) {
        if self.may_send(key) {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let how = format!(" 0 {} {}\r\n", expiry(ttl, now.as_secs()), value.len());
            self.put(&[b"set ", key, how.as_bytes(), value, b"\r\n"]);
        }
    }

    /// Whether the protocol can express a key. If not, the answer is queued here.
    fn may_send(&mut self, key: &[u8]) -> bool {
        let why = if key.is_empty() || key.len() > KEY_MAX {
            Some(format!("keys have 1 to {KEY_MAX} bytes, and this key has {}", key.len()))
        } else if key.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
            Some("keys have no spaces and no control characters".to_owned())
        } else {
            None
        };
        let text = why.map(|why| {
            let shown: String = String::from_utf8_lossy(key).chars().take(40).collect();
            format!("key '{}' was not sent: memcached's {why}", shown.escape_debug())
        });
        self.unsent.push_back(text);
        self.unsent.back().is_some_and(Option::is_none)
    }

    fn put(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.pipe.outgoing.extend_from_slice(part);
        }
    }

    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        self.pipe.flush()
    }

    /// Waits for the next answer and passes it to `see`.
    pub(crate) fn next<T>(&mut self, see: impl FnOnce(Answer<'_>) -> T) -> anyhow::Result<T> {
        if let Some(text) = self.unsent.pop_front().flatten() {
            return Ok(see(Answer::Refused(text.into())));
        }
        loop {
            let decoded = decode(self.pipe.arrived());
            if let Some((answer, length)) = decoded.with_context(|| self.pipe.place().to_owned())? {
                let seen = see(answer);
                self.pipe.consume(length);
                return Ok(seen);
            }
            self.pipe.fill()?;
        }
    }
}

/// The expiry of an item for memcached, in whole seconds, rounded up because zero means no expiry.
const fn expiry(ttl: Micros, now_s: u64) -> u64 {
    let seconds = ttl.0.div_ceil(1_000_000);
    if seconds > RELATIVE_MAX_S { now_s + seconds } else { seconds }
}

/// The first answer in `arrived` and its length; nothing while it is incomplete.
fn decode(arrived: &[u8]) -> anyhow::Result<Option<(Answer<'_>, usize)>> {
    const END: &[u8] = b"\r\nEND\r\n";
    let Some(end) = arrived.windows(2).take(LINE_MAX).position(|pair| pair == b"\r\n") else {
        ensure!(arrived.len() <= LINE_MAX, "the server's answer is not memcached's protocol");
        return Ok(None);
    };
    let (line, begin) = (String::from_utf8_lossy(&arrived[..end]), end + 2);
    let mut words = line.split(' ');
    let answer = match words.next().unwrap_or_default() {
        "END" => Answer::Absent,
        "STORED" | "DELETED" | "NOT_FOUND" | "OK" => Answer::Done,
        "ERROR" | "CLIENT_ERROR" | "SERVER_ERROR" | "NOT_STORED" => Answer::Refused(line),
        "VALUE" => {
            let length = words.nth(2).and_then(|word| word.parse::<usize>().ok());
            let length = length.with_context(|| format!("'{line}' contains no length"))?;
            let Some(rest) = arrived.get(begin + length..begin + length + END.len()) else {
                return Ok(None);
            };
            ensure!(rest == END, "a value is longer or shorter than '{line}' states");
            let value = Answer::Value(&arrived[begin..begin + length]);
            return Ok(Some((value, begin + length + END.len())));
        }
        _ => bail!("'{line}' is not an answer of memcached"),
    };
    Ok(Some((answer, begin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_when_they_are_whole() {
        let all = b"VALUE k 0 5\r\na\r\nbc\r\nEND\r\n";
        for length in 0..all.len() {
            assert_eq!(decode(&all[..length]).unwrap(), None, "{length}");
        }
        let more = [&all[..], b"END\r\n"].concat();
        assert_eq!(decode(&more).unwrap(), Some((Answer::Value(b"a\r\nbc"), all.len())));
        assert_eq!(decode(b"END\r\nEND\r\n").unwrap(), Some((Answer::Absent, 5)));
        assert_eq!(decode(b"NOT_FOUND\r\n").unwrap(), Some((Answer::Done, 11)));
        let refusal = "SERVER_ERROR object too large for cache";
        let line = format!("{refusal}\r\n");
        let refused = Answer::Refused(refusal.into());
        assert_eq!(decode(line.as_bytes()).unwrap(), Some((refused, line.len())));
        let long = vec![b'x'; LINE_MAX + 2];
        for wrong in
            [&b"-ERR unknown\r\n"[..], b"VALUE k\r\n", b"VALUE k 0 1\r\nabc\r\nEND\r\n", &long]
        {
            assert!(decode(wrong).is_err(), "{}", String::from_utf8_lossy(wrong));
        }
    }

    /// An expiry of half a second must not become zero, which means none, and 31 days must not
    /// become a time in 1970.
    #[test]
    fn lives_are_told_in_seconds_or_as_a_time() {
        const DAY: u64 = 24 * 3_600;
        let now = 1_700_000_000;
        for (us, told) in [
            (0, 0),
            (1, 1),
            (500_000, 1),
            (1_000_001, 2),
            (30 * DAY * 1_000_000, 30 * DAY),
            (31 * DAY * 1_000_000, now + 31 * DAY),
        ] {
            assert_eq!(expiry(Micros(us), now), told, "{us}");
        }
    }
}
