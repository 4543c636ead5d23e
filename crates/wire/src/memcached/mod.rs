//! The text protocol and the meta protocol of memcached.
//!
//! A request is a line of words. A request that stores data also has a block of data, and the line
//! announces its length. Replies are lines too; the crate that answers writes them.
//!
//! ```text
//!   get key…                      set key flags exptime length [noreply]     mg key flags…
//!                                 data                                       ms key length flags…
//!                                                                            data
//! ```
//!
//! A request of the binary protocol begins with a byte that begins no line. It is recognised and
//! refused.

mod base64;
mod decode;
mod number;

pub use base64::{decode_key, encode_key};
pub use decode::{Data, Decoder, Limits, Malformed, Request};
pub use number::{parse_signed, parse_unsigned};
