//! Size classes: `size_classes.rs` defines them, `division.rs` chooses them for a limit, and
//! `layout.rs` says what of a page is not chunks.

pub(crate) mod division;
pub(crate) mod layout;
pub(crate) mod size_class;
pub(crate) mod size_classes;
