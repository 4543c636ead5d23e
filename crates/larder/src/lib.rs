//! Larder as a library: a cache in your own process, bounded by the bytes that it really takes.
//!
//! ```
//! # fn main() -> Result<(), larder::Error> {
//! use larder::Cache;
//! use std::time::Duration;
//!
//! let cache = Cache::new(64 << 20);
//! cache.insert("user:1", "Ada")?;
//! cache.insert_for("session:9", "token", Duration::from_secs(60))?;
//! let page = cache.get_or_insert_with("page:/", || "<h1>slow to make</h1>");
//! assert_eq!(cache.get("user:1").as_deref(), Some(&b"Ada"[..]));
//! assert_eq!(page, b"<h1>slow to make</h1>");
//! assert!(cache.remove("user:1") && cache.get("user:1").is_none());
//! # Ok(())
//! # }
//! ```
//!
//! Keys and values are bytes, copied in and out, and the store is the one of the server. The size
//! of an entry is never guessed, so no weigher is needed: the capacity bounds header, key, value,
//! rounding and table together. The cost of a *miss* is known where [`Cache::get_or_insert_with`]
//! timed it, [`Cache::insert_priced`] stated it, or a [`Builder::cost`] computes it. Policies and
//! plans that use costs use these.
//!
//! Users of moka or quick_cache find these equivalents:
//!
//! | there | here |
//! |---|---|
//! | `get_with`, `get_or_insert_with`: threads wait for one fetch | [`Cache::get_or_insert_with`] |
//! | `try_get_with` | [`Cache::get_or_try_insert_with`] |
//! | `eviction_listener`, `Lifecycle` | [`Builder::removal_listener`] |
//! | `weigher`, `weighter`: size of an entry | none needed: bytes are counted |
//! | nothing: cost of a miss | [`Builder::cost`] |
//! | `invalidate`, `invalidate_all` | [`Cache::remove`], [`Cache::clear`] |
//! | `iter` | [`Cache::iter`] |
//! | `run_pending_tasks` | [`Cache::maintain`] |
//! | `entry_count`, `weighted_size` | [`Cache::len`], [`Cache::used`] |
//!
//! A cache may have [parts](Cache::part) that share its capacity. With a recipe the cache watches a
//! sample of its own requests and divides the memory among the parts, as the server does among
//! tenants:
//!
//! ```
//! # fn main() -> Result<(), larder::Error> {
//! let builder = larder::Cache::builder(16 << 20).recipe("kredis");
//! let cache = builder.parts(["users", "pages"]).build()?;
//! let (users, pages) = (cache.part("users").unwrap(), cache.part("pages").unwrap());
//! users.insert("1", "Ada")?;
//! pages.insert("1", "<h1>Ada</h1>")?;
//! cache.maintain(); // a few times a second, from any thread; or Builder::maintained() starts one
//! assert_eq!(users.stats().len.items, 1);
//! if let (Some(curve), Some(plan)) = (pages.curve(), cache.plan()) {
//!     println!("with 32 MiB {} would miss\n{plan}", curve.at(larder::Bytes(32 << 20)));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! To leave out the binary and its dependencies: `cargo add larder --no-default-features`.
#![forbid(unsafe_code)]

mod builder;
mod cache;
mod plant;

pub use base::{Bytes, Micros, MissRatio};
pub use builder::Builder;
pub use cache::{Cache, Entry, Error, Iter, Removal};
pub use curve::MissRatioCurve;
pub use policy::{Meta, Rank, rank};
pub use store::{
    CompressionStats, Counters, Evictor, Len, Pauses, PenaltyStats, Slab, Spike,
    TenantStats as Stats,
};
pub use store::{Error as Refusal, RemovalCause};
pub use tune::Plan;
