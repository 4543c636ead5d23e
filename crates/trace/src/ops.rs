//! Words and numbers for operations.
//!
//! Words are known ([`op`]), but numbers are not: in one published trace 0 is a read, in
//! another a write. So the user defines them: `--ops 0=get,1=set`.

use crate::ReadOptions;
use base::Op;

/// The fix for a number without a definition.
pub(crate) const FIX: &str = "whose meaning --ops defines, as in --ops 0=get,1=set";

/// The user's definitions of operations, by word or number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ops(Vec<(Vec<u8>, Op)>);

impl Ops {
    /// Parses the argument of `--ops`.
    pub(crate) fn of(options: &ReadOptions) -> Result<Self, String> {
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

/// The effect of a command of memcached, Redis, an object store or a published trace on a cache;
/// `None` for an unknown word. A command that reads and writes is a write.
#[inline]
pub(crate) fn op(word: &[u8]) -> Option<Op> {
    match word {
        b"get" => return Some(Op::Get),
        b"set" => return Some(Op::Set),
        _ => {}
    }
    let mut lower = [0; 8];
    let lower = lower.get_mut(..word.len())?;
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    Some(match &*lower {
        b"get" | b"gets" | b"read" | b"r" | b"head" => Op::Get,
        b"set" | b"add" | b"replace" | b"cas" | b"append" | b"prepend" | b"incr" | b"decr"
        | b"write" | b"w" | b"update" | b"put" | b"post" | b"copy" => Op::Set,
        b"delete" | b"del" | b"remove" => Op::Delete,
        _ => return None,
    })
}

/// The word for an operation in formats that write words.
pub(crate) const fn word(op: Op) -> &'static str {
    match op {
        Op::Get => "get",
        Op::Set => "set",
        Op::Delete => "delete",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_mean_what_is_said() {
        let ops =
            |text: &str| Ops::of(&ReadOptions { ops: Some(text.into()), ..ReadOptions::default() });
        let known = ops("0=get, 1=PUT,read=delete").unwrap();
        let read = |word: &str| known.get(word.as_bytes());
        assert_eq!([read("0"), read("1"), read("2")], [Some(Op::Get), Some(Op::Set), None]);
        assert_eq!([read("read"), read("HEAD")], [Some(Op::Delete), Some(Op::Get)]);
        for wrong in ["0", "0=fetch", "0=get;1=set"] {
            assert!(ops(wrong).unwrap_err().contains("0=get,1=set"), "{wrong}");
        }
    }
}
