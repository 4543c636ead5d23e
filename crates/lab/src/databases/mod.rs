//! Databases that a replay asks on a miss: SQLite in a file, PostgreSQL and MariaDB as servers.
//!
//! Each kind is a file here and an entry in [`KINDS`]; `load::ELSEWHERE` has the form in which
//! users write it. All kinds are behind the feature `databases`, because their client libraries are
//! half of the code that the lab would be built from.

mod mariadb;
mod place;
mod pool;
mod postgres;
mod sqlite;
mod table;
#[cfg(test)]
mod tests;

use load::Kind;

/// All kinds of databases.
pub const KINDS: &[Kind] = &[sqlite::KIND, postgres::KIND, mariadb::KIND];
