//! Requests to a language model, as Mooncake publishes them: one JSON object a line.
//!
//! ```text
//! {"timestamp": 27482, "input_length": 1536, "output_length": 52, "hash_ids": [46, 47, 48]}
//! ```
//!
//! Each hash stands for a block of 512 tokens together with all tokens before it, so a block that
//! hits saves the work for its tokens. Each block is an object, and a line requests its blocks in
//! order, at one time (in milliseconds). A value has 512 bytes, one for each token, unless
//! `--value-size` gives the size of a block in the model's memory.
//!
//! Qin, Li, He, Zhang, Wu, Zheng, Xu. Mooncake: Trading More Storage for Less Computation. FAST
//! '25.

use super::FormatSpec;
use crate::error::excerpt;
use crate::object::Number;
use crate::text::{self, Batch, LineFormat, LineRequest};
use serde::Deserialize;

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "mooncake",
    about: "JSON lines with timestamp (ms) and hash_ids: blocks of a language model's prompts",
    units: "times in milliseconds",
    extensions: &["jsonl", "mooncake"],
    recognises: |head| {
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let has = |name: &[u8]| memchr::memmem::find(line, name).is_some();
        line.starts_with(b"{") && has(b"\"timestamp\"") && has(b"\"hash_ids\"")
    },
    open: |reader, options| {
        let size = options.value_size.unwrap_or(BLOCK_TOKENS);
        Ok(text::open(reader, options, Mooncake { size, number: Number::default() }))
    },
    create: None,
    looks_ahead: false,
    loses: &[],
};

const BLOCK_TOKENS: u64 = 512;

#[derive(Deserialize)]
struct JsonLine {
    timestamp: f64,
    hash_ids: Vec<u64>,
}

struct Mooncake {
    size: u64,
    number: Number,
}

impl LineFormat for Mooncake {
    fn read(&mut self, _: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let JsonLine { timestamp, hash_ids } = serde_json::from_slice(line).map_err(|error| {
            format!("expected {} and found '{}': {error}", SPEC.about, excerpt(line))
        })?;
        let micros = (timestamp.max(0.0) * 1_000.0) as u64;
        for block in hash_ids {
            batch.push(self.number.write(block), LineRequest::get(micros, self.size));
        }
        Ok(())
    }
}
