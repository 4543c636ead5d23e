//! The backend, which answers misses: a database, a wait, or both in sequence.
//!
//! An answer is the seed of the value. It costs the time of a real query (`postgres://…`) and of a
//! random wait (`delay:…`), one after the other, as with a database behind a network. Waits of one
//! connection overlap; the caller measures the actual time of an answer.
//!
//! A kind of database is a [`Kind`]. The kind for files is here. A program that links a client
//! library passes its kinds in ([`ELSEWHERE`]). Before a replay the objects of each tenant are put
//! into the database, from the same trace; a later run over that trace finds them.

mod chain;
mod database;
mod delay;
mod file;

pub use chain::{Backend, Connection, ELSEWHERE};
pub(crate) use chain::{POOL, is_elsewhere};
pub use database::{Database, Filled, Filler, KEY_MAX, Kind, Open, Origin, Reader};
pub use database::{seed_if, value_of};
pub use delay::Distribution;
pub use file::Values;
