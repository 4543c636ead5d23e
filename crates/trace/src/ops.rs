//! Words and numbers for operations.
//!
//! Words are known (`format::op`), but numbers are not: in one published trace 0 is a read, in
//! another a write. So the user defines them: `--ops 0=get,1=set`.

use crate::format::op;
use crate::{Op, Options};

/// The fix for a number without a definition.
pub(crate) const FIX: &str = "whose meaning is named by --ops, as in --ops 0=get,1=set";

/// The user's definitions of operations, by word or number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ops(Vec<(Vec<u8>, Op)>);

impl Ops {
    /// Parses the argument of `--ops`.
    pub(crate) fn of(options: &Options) -> Result<Self, String> {
        let named = options.ops.as_deref().unwrap_or_default();
        let pairs = named.split(',').filter(|pair| !pair.trim().is_empty()).map(|pair| {
            let (word, meaning) = pair.split_once('=')?;
            Some((word.trim().as_bytes().to_vec(), op(meaning.trim().as_bytes())?))
        });
        let pairs: Option<Vec<_>> = pairs.collect();
        pairs
            .map(Self)
            .ok_or_else(|| format!("--ops '{named}': write pairs such as 0=get,1=set,2=delete"))
    }

    /// The operation of a word or number.
    #[inline]
    pub(crate) fn get(&self, word: &[u8]) -> Option<Op> {
        let said = self.0.iter().find(|(known, _)| known == word);
        said.map_or_else(|| op(word), |(_, op)| Some(*op))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_mean_what_is_said() {
        let ops = |text: &str| Ops::of(&Options { ops: Some(text.into()), ..Options::default() });
        let known = ops("0=get, 1=PUT,read=delete").unwrap();
        let read = |word: &str| known.get(word.as_bytes());
        assert_eq!([read("0"), read("1"), read("2")], [Some(Op::Get), Some(Op::Set), None]);
        assert_eq!([read("read"), read("HEAD")], [Some(Op::Delete), Some(Op::Get)]);
        for wrong in ["0", "0=fetch", "0=get;1=set"] {
            assert!(ops(wrong).unwrap_err().contains("0=get,1=set"), "{wrong}");
        }
    }
}
