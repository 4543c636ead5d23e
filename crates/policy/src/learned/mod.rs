//! Policies that fit a model to past requests, and ask it which object will be wanted last.

mod history;
pub mod three_l_cache;
mod trees;
