//! Compares every model with its oracle.

mod ages;
mod conformance;
mod examples;
mod grids;
mod oracles;
mod properties;
mod remembered;
mod stacks;
