//! A command while it runs, and the checks that every write passes.

pub(crate) mod size_check;
