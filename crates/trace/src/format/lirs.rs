//! Lists of the LIRS papers: one key a line, nothing else.
//!
//! A line with a `*` marks a break in the original and is dropped. The keys are block numbers in
//! the original, but any text is accepted. There is no clock (requests are a millisecond apart) and
//! no size (blocks have 4096 bytes).
//!
//! Jiang, Zhang. LIRS: an efficient low inter-reference recency set replacement policy to improve
//! buffer cache performance. SIGMETRICS '02.

use super::FormatSpec;
use crate::error::excerpt;
use crate::text::{self, Batch, LineFormat, LineRequest, MADE_GAP_US};

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "lirs",
    about: "one key per line",
    units: "no times: requests are a millisecond apart",
    extensions: &["lirs", "trace", "trc", "txt"],
    recognises: |_| false,
    open: |reader, options| {
        let lirs = Lirs { size: options.value_size.unwrap_or(BLOCK_BYTES), requests: 0 };
        Ok(text::open(reader, options, lirs))
    },
    create: None,
    looks_ahead: false,
    loses: &[],
};

const BLOCK_BYTES: u64 = 4096;

struct Lirs {
    size: u64,
    requests: u64,
}

impl LineFormat for Lirs {
    fn read(&mut self, _: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        let key = line.trim_ascii();
        if key.is_empty() || key == b"*" {
            return Ok(());
        }
        if key.iter().any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control()) {
            return Err(format!("expected one key without spaces, and found '{}'", excerpt(key)));
        }
        // Lines of columns would be read as keys that never repeat.
        if key.iter().any(|byte| matches!(byte, b',' | b';')) {
            return Err(format!(
                "expected one key, and found '{}': if the line has columns, name them with \
                 --columns",
                excerpt(key)
            ));
        }
        batch.push(key, LineRequest::get(self.requests * MADE_GAP_US, self.size));
        self.requests += 1;
        Ok(())
    }
}
