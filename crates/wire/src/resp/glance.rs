//! The keys of the next commands, at a glance.
//!
//! In a pipeline a server can see the next commands before it runs them. Mostly it also sees their
//! keys: the second word of each. It can prefetch their items from memory. A glance parses only the
//! arrays that clients usually send. It ends at any other input, because no result depends on it.

/// The second words of the commands at the front of `bytes`, as far as commands have one.
#[inline]
pub fn second_words(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    Glance(bytes)
}

struct Glance<'a>(&'a [u8]);

impl<'a> Glance<'a> {
    /// Reads the number that follows `mark`, and moves to the next line.
    #[inline]
    fn number(&mut self, mark: u8) -> Option<usize> {
        let [first, rest @ ..] = self.0 else { return None };
        if *first != mark {
            return None;
        }
        let mut number = 0usize;
        for (at, &byte) in rest.iter().enumerate().take(10) {
            match byte {
                b'0'..=b'9' => number = number * 10 + usize::from(byte - b'0'),
                b'\r' => {
                    self.0 = rest.get(at + 2..)?;
                    return Some(number);
                }
                _ => return None,
            }
        }
        None
    }

    #[inline]
    fn word(&mut self) -> Option<&'a [u8]> {
        let len = self.number(b'$')?;
        let word = self.0.get(..len)?;
        self.0 = self.0.get(len + 2..).unwrap_or_default();
        Some(word)
    }
}

impl<'a> Iterator for Glance<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let mut count = 0;
        while count < 2 {
            count = self.number(b'*')?;
            self.word()?;
        }
        let second = self.word()?;
        for _ in 2..count {
            if self.word().is_none() {
                // The other words have not arrived yet.
                self.0 = &[];
                break;
            }
        }
        Some(second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(bytes: &[u8]) -> Vec<String> {
        second_words(bytes).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    #[test]
    fn keys_of_a_pipeline() {
        let whole = b"*2\r\n$3\r\nGET\r\n$2\r\nab\r\n*1\r\n$4\r\nPING\r\n\
                      *3\r\n$3\r\nSET\r\n$1\r\nc\r\n$5\r\nvalue\r\n*2\r\n$3\r\nGET\r\n$0\r\n\r\n";
        assert_eq!(seen(whole), ["ab", "c", ""]);
        for end in 0..whole.len() {
            let part = seen(&whole[..end]);
            assert!(["ab", "c", ""].iter().zip(&part).all(|(whole, part)| whole == part));
        }
        assert!(seen(b"GET key\r\n").is_empty());
    }

    proptest! {
        /// Any input is only looked at: all words lie within it.
        #[test]
        fn nothing_is_too_strange(bytes in prop::collection::vec(
            prop::sample::select(b"*$0129\r\nGET".to_vec()), 0..60),
        ) {
            let within = bytes.as_ptr_range();
            for word in second_words(&bytes) {
                prop_assert!(word.is_empty() || within.contains(&word.as_ptr()));
            }
        }
    }
}
