//! Items by key: a hash table of cache lines, which grows by one bucket at a time.

#[allow(unsafe_code)]
pub(crate) mod bucket;
pub(crate) mod item_table;
