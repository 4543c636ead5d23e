//! Items, and the structures that hold them: tables, pages of chunks, trees, the timing wheel.
//!
//! Nothing here counts a request, and nothing knows a tenant's bounds.

pub(crate) mod dump_index;
#[allow(unsafe_code)]
pub(crate) mod item;
pub(crate) mod pages;
pub(crate) mod sizes;
pub(crate) mod table;
pub(crate) mod trees;
pub(crate) mod view;
pub(crate) mod wheel;
