//! Larder's own compact form: every part of an access, in a few bytes a request.
//!
//! Most requests repeat a recently requested object, at its old size. So writer and reader keep the
//! same table of recent objects, one for each value of some bits of the key's hash. A request for
//! an object in the table names its place, and only the fields that changed since. A new object
//! brings its key and replaces the object at its place.
//!
//! ```text
//! file    magic, then blocks
//! block   u32 length packed │ u32 length plain │ zstd frame
//! plain   varint requests │ five varint lengths │ five columns
//!
//! column  time     zigzag varint, microseconds since the request before
//!         flags    one byte: see the constants
//!         place    varint place in the table, for an object that is there
//!         key      varint length and text, for one that is not
//!         fields   varints: key size of a new object, then what the flags say has changed
//! ```
//!
//! A sample of a trace (`larder trace sample`) is marked in the first bytes, with its rate and
//! seed. Each request has the number of requests and of reads omitted before it, and the end has
//! the numbers omitted after the last. So the reader of a sample knows the clock of the whole
//! trace.
//!
//! A block holds up to 65536 requests, so reading needs a few megabytes besides the table (about 25
//! MB when full). Columns of one kind compress better side by side than request by request.

mod layout;
mod read;
mod sift;
mod spec;
mod table;
#[cfg(test)]
mod tests;
mod varint;
mod write;

pub use spec::SPEC;
