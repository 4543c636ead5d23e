//! The output of MONITOR of Redis and Valkey, parsed byte by byte without holding a value.
//!
//! ```text
//! 1339518083.107412 [0 127.0.0.1:60866] "SET" "x" "a value of 500 MB …" "EX" "60"
//! ```
//!
//! A state machine with six states reads a line. The parser keeps a part of each argument according
//! to its role: the text of the command, of keys, and of words that may state a time to live; of a
//! value only the length. A command that is no request to a cache is skipped as soon as its name is
//! read. So a connection needs some kilobytes, whatever the size of the values.
//!
//! MONITOR shows a command before it runs, and reports neither whether a read found its item nor
//! whether a write was refused: `SET … NX` counts as a write.

use super::asks::{Asks, KEEPS, asks, life};
use super::{Deed, Event, Parser};
use crate::command::{KeyArgs, Life, Meaning};
use crate::lines::whole_number;
use crate::text::{hex_pair, scaled};
use base::{Micros, Op, hash};

/// Bytes of a key that are kept; a longer key is cut and ends with a hash.
const KEY_BYTES_MAX: usize = 1 << 10;
/// Most bytes before the arguments, which may contain the path of a Unix socket.
const HEAD_BYTES_MAX: usize = 1 << 9;
/// Most bytes of a word such as EX, or of a number.
const WORD_BYTES_MAX: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq)]
enum LineState {
    /// Before the first quote of a line.
    Head,
    /// Between the quotes of an argument.
    Text,
    /// Behind a backslash.
    Escape,
    /// Behind `\x`, and perhaps one digit.
    Hex(Option<u8>),
    /// Between arguments, or behind the last.
    Between,
    /// The rest of the line is ignored.
    Skip,
}

/// The role of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Command,
    Key,
    Value,
    /// A word that may state the time to live, or the number of keys that follow.
    Word,
    Nothing,
}

/// Parser of the output of MONITOR.
#[derive(Debug)]
pub struct Monitor {
    state: LineState,
    head: Vec<u8>,
    time_us: u64,
    db: u32,
    connection: u64,
    host: u64,
    asks: Option<Asks>,
    /// Index of the current argument.
    arg: usize,
    role: Role,
    /// The kept part of the argument's text, the length of the whole, and a hash of the rest.
    text: Vec<u8>,
    length: u64,
    rest: u64,
    key: Vec<u8>,
    has_key: bool,
    value: u64,
    ttl: Option<Micros>,
    /// An option whose number comes next: microseconds per unit, and whether it is a date.
    option: Option<(u64, bool)>,
    /// Number of keys that still follow, if the command stated it.
    keys_left: u64,
    malformed: u64,
}

impl Default for Monitor {
    fn default() -> Self {
        Self {
            state: LineState::Head,
            head: vec![],
            time_us: 0,
            db: 0,
            connection: 0,
            host: 0,
            asks: None,
            arg: 0,
            role: Role::Nothing,
            text: vec![],
            length: 0,
            rest: FNV_START,
            key: vec![],
            has_key: false,
            value: 0,
            ttl: None,
            option: None,
            keys_left: 0,
            malformed: 0,
        }
    }
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

impl Parser for Monitor {
    fn feed(&mut self, mut bytes: &[u8], see: &mut dyn FnMut(&Event<'_>)) {
        while let Some((&byte, behind)) = bytes.split_first() {
            let mut next = behind;
            match self.state {
                LineState::Head => self.head(byte),
                LineState::Text => {
                    let plain = memchr::memchr3(b'"', b'\\', b'\n', bytes);
                    let plain = plain.unwrap_or(bytes.len());
                    self.add(&bytes[..plain]);
                    next = bytes.get(plain + 1..).unwrap_or_default();
                    match bytes.get(plain) {
                        Some(b'"') => {
                            self.state = LineState::Between;
                            self.end_argument(see);
                        }
                        Some(b'\\') => self.state = LineState::Escape,
                        Some(_) => self.refuse(true),
                        None => {}
                    }
                }
                LineState::Escape => {
                    self.state = LineState::Text;
                    match byte {
                        b'x' => self.state = LineState::Hex(None),
                        b'n' => self.add(b"\n"),
                        b'r' => self.add(b"\r"),
                        b't' => self.add(b"\t"),
                        b'a' => self.add(b"\x07"),
                        b'b' => self.add(b"\x08"),
                        b'\n' => self.refuse(true),
                        other => self.add(&[other]),
                    }
                }
                LineState::Hex(first) => {
                    match (first, first.and_then(|first| hex_pair(&[first, byte]))) {
                        (None, _) if byte.is_ascii_hexdigit() => {
                            self.state = LineState::Hex(Some(byte));
                        }
                        (Some(_), Some(decoded)) => {
                            self.state = LineState::Text;
                            self.add(&[decoded]);
                        }
                        _ => self.refuse(byte == b'\n'),
                    }
                }
                LineState::Between => match byte {
                    b'"' => self.begin_argument(),
                    b' ' | b'\r' => {}
                    b'\n' => {
                        self.end_line(see);
                        self.begin_line();
                    }
                    _ => self.refuse(false),
                },
                LineState::Skip => match memchr::memchr(b'\n', bytes) {
                    Some(end) => {
                        next = &bytes[end + 1..];
                        self.begin_line();
                    }
                    None => return,
                },
            }
            bytes = next;
        }
    }

    fn malformed(&self) -> u64 {
        self.malformed
    }
}

impl Monitor {
    fn begin_line(&mut self) {
        self.state = LineState::Head;
        self.head.clear();
        self.key.clear();
        (self.arg, self.value, self.keys_left) = (0, 0, 0);
        (self.has_key, self.ttl, self.option, self.asks) = (false, None, None, None);
    }

    /// Counts a line that cannot be parsed; the line has ended, or its rest is skipped.
    fn refuse(&mut self, ended: bool) {
        self.malformed += 1;
        if ended {
            self.begin_line();
        } else {
            self.state = LineState::Skip;
        }
    }

    fn head(&mut self, byte: u8) {
        match byte {
            b'"' if self.read_head().is_some() => self.begin_argument(),
            b'"' => self.refuse(false),
            b'\n' => {
                let line = self.head.trim_ascii();
                if line.is_empty() || line == b"OK" || line == b"+OK" {
                    self.begin_line();
                } else {
                    self.refuse(true);
                }
            }
            _ if self.head.len() < HEAD_BYTES_MAX => self.head.push(byte),
            _ => self.refuse(false),
        }
    }

    /// Reads time, database and client; a script has no address.
    fn read_head(&mut self) -> Option<()> {
        let head = self.head.strip_prefix(b"+").unwrap_or(&self.head).trim_ascii();
        let blank = memchr::memchr(b' ', head)?;
        let client = head[blank + 1..].strip_prefix(b"[")?.strip_suffix(b"]")?;
        let space = memchr::memchr(b' ', client)?;
        let address = &client[space + 1..];
        let host = match memchr::memrchr(b':', address) {
            Some(colon) if !address.starts_with(b"unix:") => &address[..colon],
            _ => address,
        };
        self.time_us = scaled(&head[..blank], 1_000_000)?;
        self.db = u32::try_from(whole_number(&client[..space])?).ok()?;
        self.connection = hash::bytes(1, address);
        self.host = hash::bytes(2, host);
        Some(())
    }

    fn begin_argument(&mut self) {
        self.state = LineState::Text;
        self.text.clear();
        (self.length, self.rest) = (0, FNV_START);
        self.role = self.role();
    }

    fn role(&self) -> Role {
        let (arg, asks) = match self.asks {
            _ if self.arg == 0 => return Role::Command,
            Some(asks) => (self.arg, asks),
            None => return Role::Nothing,
        };
        let meaning = match asks {
            Asks::Access(meaning) => meaning,
            Asks::Life { .. } if arg == 2 => return Role::Word,
            _ if arg == 1 => return Role::Key,
            _ => return Role::Nothing,
        };
        match meaning.keys {
            KeyArgs::All => Role::Key,
            KeyArgs::Pairs => [Role::Value, Role::Key][arg % 2],
            KeyArgs::Numbered if arg == 1 => Role::Word,
            KeyArgs::Numbered if self.keys_left > 0 => Role::Key,
            KeyArgs::Numbered => Role::Nothing,
            KeyArgs::First if arg == 1 => Role::Key,
            KeyArgs::First => match meaning.life {
                Life::Options if arg > 2 => Role::Word,
                Life::Second(_) if arg == 2 => Role::Word,
                _ if meaning.value_from > 0 && arg >= meaning.value_from => Role::Value,
                _ => Role::Nothing,
            },
        }
    }

    /// Adds bytes to the current argument.
    fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        let most = match self.role {
            Role::Command | Role::Word => WORD_BYTES_MAX,
            Role::Key => KEY_BYTES_MAX,
            Role::Value | Role::Nothing => return,
        };
        let kept = bytes.len().min(most - self.text.len());
        self.text.extend_from_slice(&bytes[..kept]);
        if self.role == Role::Key {
            for &byte in &bytes[kept..] {
                self.rest = (self.rest ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
            }
        }
    }

    fn end_argument(&mut self, see: &mut dyn FnMut(&Event<'_>)) {
        match self.role {
            Role::Command => {
                self.asks = asks(&self.text);
                if self.asks.is_none() {
                    self.state = LineState::Skip;
                }
            }
            Role::Key => {
                if self.length > self.text.len() as u64 {
                    self.text.extend_from_slice(format!("~{:016x}", self.rest).as_bytes());
                }
                std::mem::swap(&mut self.key, &mut self.text);
                self.has_key = true;
                if let Some(Asks::Access(Meaning {
                    keys: KeyArgs::All | KeyArgs::Numbered, ..
                })) = self.asks
                {
                    self.keys_left = self.keys_left.saturating_sub(1);
                    self.show(see);
                }
            }
            Role::Value => {
                self.value = self.value.saturating_add(self.length);
                if let Some(Asks::Access(Meaning { keys: KeyArgs::Pairs, .. })) = self.asks {
                    self.show(see);
                    self.value = 0;
                }
            }
            Role::Word => self.word(),
            Role::Nothing => {}
        }
        self.arg += 1;
    }

    fn word(&mut self) {
        let number = whole_number(&self.text);
        match self.asks {
            Some(Asks::Life { unit, is_date }) => {
                self.ttl = number.map(|number| life(number, unit, is_date, self.time_us));
            }
            Some(Asks::Access(Meaning { keys: KeyArgs::Numbered, .. })) => {
                self.keys_left = number.unwrap_or(0);
            }
            Some(Asks::Access(Meaning { life: Life::Second(unit), .. })) => {
                self.ttl = number.map(|number| life(number, unit, false, self.time_us));
            }
            _ => {
                if let Some((unit, is_date)) = self.option.take() {
                    self.ttl = number.map(|number| life(number, unit, is_date, self.time_us));
                    return;
                }
                self.text.make_ascii_lowercase();
                match self.text.as_slice() {
                    b"ex" => self.option = Some((1_000_000, false)),
                    b"px" => self.option = Some((1_000, false)),
                    b"exat" => self.option = Some((1_000_000, true)),
                    b"pxat" => self.option = Some((1_000, true)),
                    // The item keeps its time to live.
                    b"keepttl" => self.ttl = Some(KEEPS),
                    _ => {}
                }
            }
        }
    }

    fn end_line(&mut self, see: &mut dyn FnMut(&Event<'_>)) {
        let Some(asks) = self.asks else { return };
        let one = match asks {
            Asks::Access(meaning) => matches!(meaning.keys, KeyArgs::First),
            Asks::Life { .. } | Asks::Persist => true,
        };
        if one && self.has_key {
            self.show(see);
        }
    }

    fn show(&self, see: &mut dyn FnMut(&Event<'_>)) {
        let (deed, size, ttl) = match self.asks {
            None => return,
            Some(Asks::Persist) => (Deed::Expire, None, Some(Micros(0))),
            Some(Asks::Life { .. }) => (Deed::Expire, None, self.ttl),
            Some(Asks::Access(meaning)) => match meaning.op {
                Op::Get => (Deed::Read, None, None),
                Op::Delete => (Deed::Delete, None, None),
                Op::Set if meaning.is_whole => {
                    let ttl = self.ttl.unwrap_or(Micros(0));
                    (Deed::Write, Some(self.value), (ttl != KEEPS).then_some(ttl))
                }
                Op::Set => (Deed::Change, Some(self.value), None),
            },
        };
        see(&Event {
            connection: self.connection,
            host: self.host,
            db: self.db,
            size,
            ttl,
            ..Event::new(self.time_us, &self.key, deed)
        });
    }
}
