//! The engine: tables, items, sampled eviction, expiry, tenants, and the tap for models.
//!
//! Worker threads share a [`Store`]. It reads no clock, opens nothing and starts nothing: every
//! call is told the time, so a run is a function of the calls. `store.rs` shows the whole surface
//! and tells who locks what.

mod config;
mod error;
mod key;
mod stats;
mod store;
mod view;

pub use config::{Bounds, Config, Evictor, Pool};
pub use error::Error;
pub use key::{Key, Now, Scope};
pub use stats::{Counters, Len, PenaltyStats, Swept, TenantStats};
pub use store::{Store, charge};
pub use view::{Change, Item, ScanItem};
