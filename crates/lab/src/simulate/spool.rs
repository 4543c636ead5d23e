//! A trace to be played several times: packed in memory while it is short, in a temporary file
//! beyond.
//!
//! The file has no name, so that nothing is left of it however the command ends. It is read in the
//! order in which it was written, which suits the system's page cache.

use super::chunk::Chunk;
use super::packed;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

/// Maximum number of bytes held in memory: about half a million requests.
const IN_MEMORY: usize = 8 << 20;

/// Position, length and number of requests of a packed chunk.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u64,
    len: usize,
    requests: usize,
}

/// Packed chunks in their order.
#[derive(Debug, Default)]
pub(super) struct Spool {
    places: Vec<Place>,
    /// The first chunks.
    memory: Vec<u8>,
    /// The chunks behind these.
    file: Option<File>,
    end: u64,
    packed: Vec<u8>,
}

impl Spool {
    pub(super) const fn len(&self) -> usize {
        self.places.len()
    }

    /// Adds a chunk behind the last.
    pub(super) fn push(&mut self, chunk: &Chunk) -> Result<()> {
        self.packed.clear();
        packed::pack(chunk, &mut self.packed);
        let (start, len) = (self.end, self.packed.len());
        self.places.push(Place { start, len, requests: chunk.accesses.len() });
        self.end += len as u64;
        if self.file.is_none() && self.memory.len() + len <= IN_MEMORY {
            // Reserved at once, because growth by doubling would take twice as much.
            self.memory.reserve_exact(IN_MEMORY - self.memory.len());
            self.memory.extend_from_slice(&self.packed);
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(files::nameless(&std::env::temp_dir()).with_context(too_long)?),
        };
        file.write_all(&self.packed).with_context(too_long)
    }

    /// Reads a chunk, through a buffer that may be used again.
    pub(super) fn read(&self, at: usize, buffer: &mut Vec<u8>, chunk: &mut Chunk) -> Result<()> {
        let Place { start, len, requests } = self.places[at];
        let in_memory = self.memory.len() as u64;
        let bytes = match &self.file {
            Some(file) if start >= in_memory => {
                buffer.resize(len, 0);
                file.read_exact_at(buffer, start - in_memory)
                    .context("could not read the temporary file of the trace")?;
                &buffer[..]
            }
            _ => &self.memory[start as usize..start as usize + len],
        };
        packed::unpack(bytes, requests, chunk);
        Ok(())
    }

    /// Reverses the order of the chunks.
    pub(super) fn reverse(&mut self) {
        self.places.reverse();
    }
}

fn too_long() -> String {
    format!(
        "the simulation keeps the trace in a temporary file, but cannot write to {}: set TMPDIR to \
         a folder with space for it, about 16 bytes for each request",
        std::env::temp_dir().display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Access;

    /// Chunks in memory and in the file come back, forwards and backwards.
    #[test]
    fn what_is_pushed_comes_back() {
        let mut spool = Spool::default();
        let chunk = |at: u64| {
            let key = |n: u64| base::hash::mix(at << 32 | n);
            let accesses: Vec<_> = (0..50_000).map(|n| Access::get(key(n), 1)).collect();
            Chunk { causes: vec![None; accesses.len()], accesses }
        };
        for at in 0..30 {
            spool.push(&chunk(at)).unwrap();
        }
        assert!(spool.file.is_some() && spool.memory.len() > IN_MEMORY / 2);
        let (mut buffer, mut back) = (vec![], Chunk::default());
        for at in [0, 29, 15, 25, 3] {
            spool.read(at, &mut buffer, &mut back).unwrap();
            assert_eq!(back.accesses, chunk(at as u64).accesses);
        }
        spool.reverse();
        spool.read(0, &mut buffer, &mut back).unwrap();
        assert_eq!(back.accesses, chunk(29).accesses);
    }
}
