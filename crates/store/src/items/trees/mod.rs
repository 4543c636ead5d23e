//! Collections: a tree of small nodes for each, and the trees of a tenant.

mod branch;
mod leaf;
pub(crate) mod tree;
pub(crate) mod trees;
