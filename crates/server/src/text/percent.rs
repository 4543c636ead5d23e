//! Text with hexadecimal bytes, as memcached prints keys.

use std::io::Write;

/// Writes a key as memcached prints it: bytes that are not plain are hexadecimal.
pub(crate) fn escaped(out: &mut Vec<u8>, key: &[u8]) {
    for &byte in key {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}
