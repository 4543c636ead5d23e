//! The live store as the pilot observes and controls it.
//!
//! `tune` does not know the store, and `store` does not know the pilot. This crate joins them for
//! the server, for a cache in process and for the lab. `plant.rs` implements the plant,
//! `readings.rs` reads the tenants' counts, `evictor.rs` translates policies, and `pages.rs`
//! handles the pages of size classes.
#![forbid(unsafe_code)]

mod evictor;
mod pages;
mod plant;
mod readings;

pub use evictor::evictor;
pub use plant::{Live, Look, PENALTY_KEEP, tick};
pub use readings::Known;
