//! The refusal of the binary protocol, as a packet of that protocol.
//!
//! A client that knows only the binary protocol waits for a packet, and retries when the connection
//! simply ends. So it gets a packet with the reason. The log names the number of such clients from
//! time to time.
//!
//! ```text
//!   0      1        2       4        5     6         8          12       16     24
//!  ┌──────┬────────┬───────┬────────┬─────┬─────────┬──────────┬────────┬──────┬──────
//!  │ 0x81 │ opcode │ key 0 │ extras │ 0   │ status  │ length   │ opaque │ cas 0│ text
//!  └──────┴────────┴───────┴────────┴─────┴─────────┴──────────┴────────┴──────┴──────
//! ```

const RESPONSE: u8 = 0x81;
const UNKNOWN_COMMAND: u16 = 0x81;
const TEXT: &[u8] = b"the server does not speak the binary protocol: use the text protocol";

/// Writes the packet that answers a request.
pub(super) fn write(out: &mut Vec<u8>, opcode: u8, opaque: [u8; 4]) {
    out.extend_from_slice(&[RESPONSE, opcode, 0, 0, 0, 0]);
    out.extend_from_slice(&UNKNOWN_COMMAND.to_be_bytes());
    out.extend_from_slice(&(TEXT.len() as u32).to_be_bytes());
    out.extend_from_slice(&opaque);
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(TEXT);
}
