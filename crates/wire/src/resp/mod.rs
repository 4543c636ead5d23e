//! RESP, the protocol of Redis, in its versions 2 and 3.
//!
//! A server decodes commands from the front of a buffer with a [`Decoder`], and writes replies with
//! an [`Encoder`]. A client writes commands with [`encode_command`] and reads replies with
//! [`Reply::decode`]. Commands are the same in both versions, only replies differ:
//!
//! ```text
//!   command   *2\r\n$3\r\nGET\r\n$3\r\nkey\r\n      or, typed by hand:  GET key\r\n
//!   reply     +OK\r\n   -ERR no\r\n   :42\r\n   $5\r\nvalue\r\n   *2\r\n…        both versions
//!             %1\r\n…  _\r\n  ,1.5\r\n  #t\r\n  =8\r\ntxt:…\r\n  >3\r\n…  ~2\r\n…  version 3 only
//! ```

mod command;
mod decode;
mod double;
mod encode;
mod glance;
mod inline;
mod number;
mod reply;
mod words;

pub use command::{Command, encode_command};
pub use decode::{Decoder, Limits, Malformed};
pub use double::{format_double, parse_double};
pub use encode::{Encoder, Protocol};
pub use glance::second_words;
pub use inline::split_line;
pub use number::parse_integer;
pub use reply::{BadReply, Reply};
pub use words::Words;
