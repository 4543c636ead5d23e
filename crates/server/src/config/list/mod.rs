//! Every directive, by what it concerns.
//!
//! Names are those of Redis where it has the thing. What Redis has and this server does not need
//! stands in `ignored.rs`.

mod files;
mod memcached;
mod memory;
mod network;
mod observe;
mod users;

use super::directive::Directive;

pub(super) const ALL: &[&[Directive]] =
    &[network::ALL, memcached::ALL, users::ALL, memory::ALL, observe::ALL, files::ALL];

/// Words that say something.
fn not_empty(words: &[String]) -> Vec<String> {
    words.iter().filter(|word| !word.is_empty()).cloned().collect()
}
