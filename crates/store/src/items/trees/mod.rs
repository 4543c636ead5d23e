//! Collections: a tree of small nodes for each, and the trees of a tenant.

mod branch;
pub(crate) mod entry;
mod leaf;
pub(crate) mod tree;
pub(crate) mod trees;
