//! Warm restart: a server that ends saves its items and its pilot's knowledge to a file, and the
//! next one starts with them.
//!
//! ```text
//!   ends: clients are closed ▶ all items to FILE.part ▶ synced ▶ renamed to FILE
//!   starts: FILE opened ▶ removed ▶ clients served ┄ in the background: checked, then restored
//! ```
//!
//! A cache may forget, but it must never answer with data that was overwritten or deleted. So:
//!
//! - The file that a start reads was written after the last client was gone, so no later write
//!   exists. It is removed before the first client is served. Whatever happens then, another start
//!   cannot find stale data.
//! - Writes and deletions by clients during the restore win over restored items
//!   (`store::Store::restore`).
//! - Every block has a checksum, and the whole file is read and checked before its first item is
//!   used (`file.rs`). A file that is incomplete, damaged or of another version is refused as a
//!   whole, with one line in the log. The cache then starts empty.
//! - Libraries of functions come before all items and are loaded before the first client, because a
//!   missing function is an error, not a miss. If the rest of the file is refused, the libraries
//!   that no client has replaced meanwhile are removed again.
//! - Compressed items stay compressed, and bring their dictionaries (`dictionaries.rs`). If a
//!   dictionary is damaged, its items are not restored; all others are.
//! - Items of tenants that are no longer configured are dropped, and so are keys that now belong to
//!   another tenant.
//!
//! SIGUSR1 writes a *copy* to `FILE.copy` while clients are served. The copy is out of date as soon
//! as a client writes, so no start reads it. To use it, for instance to fill another machine, give
//! it the name of that machine's file.

mod dictionaries;
pub(crate) mod file;
mod layout;
mod restore;
mod save;

pub(crate) use dictionaries::{PLAIN, Record, Restored, WrittenDictionaries};
pub(crate) use layout::Entry;
pub(crate) use restore::{open, run};
pub(crate) use save::{copy, save};
