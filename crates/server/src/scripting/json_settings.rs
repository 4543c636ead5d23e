//! The settings of `cjson`, which each script may change.

/// The deepest nesting of tables in both directions, whatever a script has set, because the stack
/// is finite.
pub(super) const DEPTH_MAX: i64 = 1_000;

/// The settings of a script.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonSettings {
    /// Whether arrays with many holes become objects, and from which ratio and which length on.
    pub(super) sparse: (bool, i64, i64),
    pub(super) encode_depth: i64,
    pub(super) decode_depth: i64,
    pub(super) digits: i64,
    pub(super) keeps_buffer: bool,
    pub(super) encode_invalid: Invalid,
    pub(super) decode_invalid: bool,
}

impl Default for JsonSettings {
    fn default() -> Self {
        Self {
            sparse: (false, 2, 10),
            encode_depth: 1_000,
            decode_depth: 1_000,
            digits: 14,
            keeps_buffer: true,
            encode_invalid: Invalid::Refused,
            decode_invalid: true,
        }
    }
}

/// The treatment of numbers that JSON does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invalid {
    Refused,
    Written,
    Null,
}
