//! One connection for requests, whatever protocol the server speaks.
//!
//! Requests are buffered one after the other and sent together; their answers come in the same
//! order.

use crate::answer::Answer;
use crate::link::Link;
use crate::memcached::Text;
use crate::place::Place;
use base::Micros;
use wire::resp::Reply;

/// A connection that is logged in.
#[derive(Debug)]
pub(crate) enum Client {
    Resp(Link),
    Memcached(Text),
}

impl Client {
    /// Connects; selects `db` where the server has databases.
    pub(crate) fn connect(to: &Place, db: u32) -> anyhow::Result<Self> {
        Ok(match to {
            Place::Redis(address) => Self::Resp(Link::connect(address, db)?),
            Place::Memcached(address) => Self::Memcached(Text::connect(address)?),
        })
    }

    /// Buffers a read.
    pub(crate) fn get(&mut self, key: &[u8]) {
        match self {
            Self::Resp(link) => link.put(&[b"GET", key]),
            Self::Memcached(text) => text.get(key),
        }
    }

    /// Buffers a write; a `ttl` of zero means no expiry. The cost of fetching the value is sent if
    /// it is given, and if the protocol can state it.
    pub(crate) fn set(&mut self, key: &[u8], value: &[u8], ttl: Micros, cost: Option<Micros>) {
        match self {
            Self::Resp(link) => {
                let ms = (ttl.0 / 1_000).max(1).to_string();
                let us = cost.map(|cost| cost.0.max(1).to_string());
                let mut words = vec![&b"SET"[..], key, value];
                if ttl > Micros(0) {
                    words.extend([&b"PX"[..], ms.as_bytes()]);
                }
                if let Some(us) = &us {
                    words.extend([&b"COST"[..], us.as_bytes()]);
                }
                link.put(&words);
            }
            Self::Memcached(text) => text.set(key, value, ttl),
        }
    }

    /// Buffers a delete.
    pub(crate) fn delete(&mut self, key: &[u8]) {
        match self {
            Self::Resp(link) => link.put(&[b"DEL", key]),
            Self::Memcached(text) => text.delete(key),
        }
    }

    /// Sends all buffered requests.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Resp(link) => link.flush(),
            Self::Memcached(text) => text.flush(),
        }
    }

    /// Waits for the next answer and passes it to `see`.
    pub(crate) fn next<T>(&mut self, see: impl FnOnce(Answer<'_>) -> T) -> anyhow::Result<T> {
        match self {
            Self::Resp(link) => link.reply(|reply| {
                see(match reply {
                    Reply::Null => Answer::Absent,
                    Reply::Bulk(value) => Answer::Value(value),
                    Reply::Error(text) => Answer::Refused(String::from_utf8_lossy(text)),
                    _ => Answer::Done,
                })
            }),
            Self::Memcached(text) => text.next(see),
        }
    }

    /// Has the server delete all keys, in every database.
    pub(crate) fn empty(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Resp(link) => link.ask(&["FLUSHALL"]),
            Self::Memcached(text) => text.empty(),
        }
    }
}
