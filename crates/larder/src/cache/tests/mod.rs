//! The promises of the cache to its callers, in virtual time except for the maintenance thread.

mod calls;
mod compressed;
mod flight;
mod iter;
mod removal;

use super::*;
use crate::{Builder, Evictor, rank};
use base::{Bytes, Prng};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn cache(capacity: u64) -> Builder {
    Cache::builder(capacity).virtual_time().seed(1)
}
