//! Policies that fit a model to what they saw, and ask it who will be wanted last.

mod known;
pub mod three_l_cache;
mod trees;
