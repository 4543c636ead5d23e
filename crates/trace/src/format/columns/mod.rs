//! Any text with a request a line and columns: the first line names them, or the user does.
//!
//! ```text
//! --columns time,key,-,size --separator tab
//! ```
//!
//! Names are `time` (seconds, with or without a fraction; also `time_ms`, `time_us`, `time_ns`),
//! `key`, `size`, `key_size`, `op`, `tenant` (a number or a word), `ttl` (seconds), `penalty`
//! (microseconds; also `penalty_s` and so on), `next`, and `-` for a column that means nothing.
//! Names of other programs are known too: see [`column::NAMES`](crate::column::NAMES). The first
//! line may begin with a `#`, as libCacheSim prints it. The default separator is the first of tab,
//! comma, semicolon, bar and blank that the line contains. A field may be in double quotes.
//!
//! A first line must name the key and the size; `--value-size` or `--ignore-size` may replace the
//! size. Where the user names the columns, only the key is required. Without a time, requests are a
//! millisecond apart. Without a size, a value has the bytes of `--value-size`, or one. Without an
//! operation, requests read.
//!
//! Written traces have every part of a request except the next access of the key, and have tenants
//! by name:
//!
//! ```text
//! time_us,key,key_size,value_size,tenant,op,ttl,penalty_us
//! ```

mod read;
mod spec;
mod splitter;
#[cfg(test)]
mod tests;
mod write;

pub use spec::SPEC;
