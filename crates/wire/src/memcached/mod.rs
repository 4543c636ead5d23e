//! The text and meta protocol of memcached.
//!
//! A request is a line of words, and for those that store something a block of data of a length
//! that the line announces. Replies are lines too, written by whoever answers.
//!
//! ```text
//!   get key…                      set key flags exptime length [noreply]     mg key flags…
//!                                 data                                       ms key length flags…
//!                                                                            data
//! ```
//!
//! The binary protocol begins with a byte that no line begins with; it is recognised and refused.

mod base64;
mod decode;
mod number;

pub use base64::{decode_key, encode_key};
pub use decode::{Data, Decoder, Limits, Malformed, Request};
pub use number::{parse_signed, parse_unsigned};
