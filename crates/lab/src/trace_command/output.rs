//! Output to a reader that may stop reading.

use std::io::{self, Write};

/// Whether the reader of our output closed it, as `| head` does.
pub(super) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        let json = cause.downcast_ref::<serde_json::Error>();
        io.map(io::Error::kind).or(json.and_then(serde_json::Error::io_error_kind))
            == Some(io::ErrorKind::BrokenPipe)
    })
}

/// Prints a line to standard output.
pub(super) fn print_line(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}
