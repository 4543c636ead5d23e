//! A command built in memory, from arguments instead of received bytes.

use super::command::{Command, Span};

/// Arguments stored one after another. Their memory is reused for the next command.
#[derive(Debug, Default)]
pub struct Words {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl Words {
    /// Removes all arguments.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    /// Adds an argument.
    pub fn push(&mut self, word: &[u8]) {
        self.spans.push(Span::new(self.bytes.len(), word.len()));
        self.bytes.extend_from_slice(word);
    }

    /// The command; `None` if there are no arguments, or more bytes than 32 bits can count.
    pub fn command(&self) -> Option<Command<'_>> {
        let fits = u32::try_from(self.bytes.len()).is_ok();
        (fits && !self.spans.is_empty()).then(|| Command::new(&self.bytes, &self.spans))
    }

    /// Removes all arguments, and frees memory beyond `bytes` bytes.
    pub fn shrink_to(&mut self, bytes: usize) {
        self.clear();
        self.bytes.shrink_to(bytes);
        self.spans.shrink_to(bytes / size_of::<Span>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_what_was_added() {
        let mut words = Words::default();
        assert!(words.command().is_none());
        for round in 0..2 {
            for word in [&b"SET"[..], b"", b"a b"] {
                words.push(word);
            }
            let command = words.command().unwrap();
            assert_eq!(command.iter_from(0).collect::<Vec<_>>(), [&b"SET"[..], b"", b"a b"]);
            assert_eq!(command.get(3), None, "{round}");
            words.shrink_to(0);
        }
    }
}
