//! CONFIG REWRITE: the current settings, as a file that sets them.
//!
//! Lines that set a directive are replaced in place, and comments and includes stay. Settings that
//! neither the file nor an included file makes are added at the end. Then the text is read like at
//! a start. Where an include would override a setting, the setting is repeated at the end, where it
//! wins. A text that would not restore the current settings is not written.

mod rewrite;
#[cfg(test)]
mod tests;
