//! Every directive, grouped by subject.
//!
//! A directive has Redis' name if Redis has one for the same purpose. Redis' directives that this
//! server does not need are in `ignored.rs`.

mod files;
mod memcached;
mod memory;
mod network;
mod observe;
mod users;

use super::directive::Directive;

pub(super) const ALL: &[&[Directive]] =
    &[network::ALL, memcached::ALL, users::ALL, memory::ALL, observe::ALL, files::ALL];

/// The words that are not empty.
fn not_empty(words: &[String]) -> Vec<String> {
    words.iter().filter(|word| !word.is_empty()).cloned().collect()
}
