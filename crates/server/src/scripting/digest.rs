//! The SHA-1 of a script, which is its name.
//!
//! A client sends the text of a script with every EVAL, and usually the same few texts. Comparing a
//! text with a stored one is cheaper than hashing it. So the digests of recent texts are kept in
//! slots, chosen by a few bytes of the text.

use super::stored::Script;
use std::collections::HashMap;

/// The SHA-1 of a script, in lower-case hexadecimal.
pub(crate) type Digest = [u8; 40];

/// The number of digests that are kept.
const SLOTS: usize = 64;

/// The SHA-1 of a text.
pub(super) fn digest(text: &[u8]) -> Digest {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let hash = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, text);
    let mut digest = [0; 40];
    for (pair, byte) in digest.chunks_exact_mut(2).zip(hash.as_ref()) {
        pair.copy_from_slice(&[byte >> 4, byte & 15].map(|half| DIGITS[usize::from(half)]));
    }
    digest
}

/// The digests of recent texts.
#[derive(Debug)]
pub(super) struct Digests([Digest; SLOTS]);

impl Default for Digests {
    fn default() -> Self {
        Self([[0; 40]; SLOTS])
    }
}

impl Digests {
    /// The digest of a text, and its script if one is stored under that digest.
    pub(super) fn of<'k>(
        &mut self,
        text: &[u8],
        known: &'k HashMap<Digest, Script>,
    ) -> (Digest, Option<&'k Script>) {
        let remembered = &mut self.0[slot(text)];
        let found = known.get(remembered).filter(|script| *script.text == *text);
        if found.is_some() {
            return (*remembered, found);
        }
        *remembered = digest(text);
        (*remembered, known.get(remembered))
    }
}

/// The slot of a text's digest, from its length and some bytes spread over it.
fn slot(text: &[u8]) -> usize {
    let step = text.len() / 16 + 1;
    let bytes = text.iter().step_by(step);
    bytes.fold(text.len(), |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)))
        % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripting::flags::Flags;

    #[test]
    fn scripts_are_known_by_their_sha1() {
        assert_eq!(&digest(b""), b"da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(&digest(b"return 1"), b"e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    }

    #[test]
    fn texts_of_one_slot_have_digests_of_their_own() {
        let (mut digests, mut known) = (Digests::default(), HashMap::new());
        for round in 0..2 {
            for number in 0..500 {
                let text = format!("return {number}").into_bytes();
                let (found, script) = digests.of(&text, &known);
                assert_eq!(found, digest(&text), "{number}");
                assert_eq!(script.is_some(), round == 1, "{number}");
                let (text, flags) = (text.into(), Flags::UNSAID);
                let script = Script { text, flags, stays: false, asked: 0 };
                known.insert(found, script);
            }
        }
    }
}
