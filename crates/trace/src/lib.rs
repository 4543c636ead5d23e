//! Where accesses come from: trace formats and generators.
#![forbid(unsafe_code)]
