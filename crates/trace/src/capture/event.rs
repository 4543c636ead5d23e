//! A request as a server reports it, and the trait of the parsers that read one.

use base::Micros;

/// Parses bytes from a connection as they arrive.
pub trait Parser: Send {
    /// Reads the next bytes, and passes the requests that end in them to `see`.
    fn feed(&mut self, bytes: &[u8], see: &mut dyn FnMut(&Event<'_>));

    /// Ends the input: passes a held event to `see`.
    fn end(&mut self, _see: &mut dyn FnMut(&Event<'_>)) {}

    /// Number of lines that could not be parsed.
    fn malformed(&self) -> u64;

    /// Number of requests that the server did not report, because the reader was too slow.
    fn lost(&self) -> u64 {
        0
    }
}

/// The effect of a request on the item of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Reads the item.
    Read,
    /// Writes the whole value.
    Write,
    /// Changes a part of the value.
    Change,
    /// Removes the item.
    Delete,
    /// Sets the time to live, and nothing else.
    Expire,
}

/// A request for one key, as a server reports it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event<'a> {
    /// Time on the server's clock, in microseconds.
    pub time_us: u64,
    /// The connection of the client.
    pub connection: u64,
    /// The host of the client.
    pub host: u64,
    /// The database.
    pub db: u32,
    /// The key; a very long key is cut, and ends with a hash.
    pub key: &'a [u8],
    /// The effect of the request.
    pub deed: Deed,
    /// Bytes of the value, or of the added part for a change; `None` if the server does not report
    /// it.
    pub size: Option<u64>,
    /// Whether a read found the item, if the server reports it.
    pub found: Option<bool>,
    /// Time to live from now on, zero for no limit; `None` if the server does not report it.
    pub ttl: Option<Micros>,
    /// The size class of the item, if the server reports it.
    pub class: Option<u8>,
    /// The tenant of the key, if the server reports it.
    pub tenant: Option<&'a str>,
    /// The cost of a miss of the key; zero if the server does not report it.
    pub penalty: Micros,
}

impl<'a> Event<'a> {
    /// Makes a request without further facts.
    pub const fn new(time_us: u64, key: &'a [u8], deed: Deed) -> Self {
        Self {
            time_us,
            connection: 0,
            host: 0,
            db: 0,
            key,
            deed,
            size: None,
            found: None,
            ttl: None,
            class: None,
            tenant: None,
            penalty: Micros(0),
        }
    }
}
