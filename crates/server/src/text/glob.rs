//! Patterns for KEYS, SCAN, CONFIG GET and PSUBSCRIBE.
//!
//! `*` matches any run of bytes, `?` any byte, `[ab]`, `[a-z]` and `[^a]` one byte of a set; `\`
//! takes the next byte literally. The match backtracks only to the last `*`, so the product of the
//! two lengths bounds the time for any pattern.

/// Whether `text` matches `pattern`.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // The position to continue at when the run of the last star grows by a byte.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if pattern.get(p) == Some(&b'*') {
            retry = Some((p + 1, t));
            p += 1;
            continue;
        }
        if t == text.len() {
            // The rest of the pattern would need another byte.
            if p == pattern.len() {
                return true;
            }
        } else if let Some(next) = step(pattern, p, text[t]) {
            (p, t) = (next, t + 1);
            continue;
        }
        match retry {
            Some((after, from)) if from < text.len() => {
                retry = Some((after, from + 1));
                (p, t) = (after, from + 1);
            }
            _ => return false,
        }
    }
}

/// Whether `text` matches `pattern`, ignoring the case of letters.
pub(crate) fn matches_ignore_case(pattern: &[u8], text: &[u8]) -> bool {
    let (pattern, text) = (pattern.to_ascii_lowercase(), text.to_ascii_lowercase());
    matches(&pattern, &text)
}

/// The next position in the pattern if its part at `p` accepts `byte`.
fn step(pattern: &[u8], p: usize, byte: u8) -> Option<usize> {
    match *pattern.get(p)? {
        b'?' => Some(p + 1),
        b'[' => set(pattern, p + 1, byte),
        b'\\' if p + 1 < pattern.len() => (pattern[p + 1] == byte).then_some(p + 2),
        literal => (literal == byte).then_some(p + 1),
    }
}

/// Matches a set from behind its bracket. A set without a closing bracket ends with the pattern.
fn set(pattern: &[u8], mut p: usize, byte: u8) -> Option<usize> {
    let negated = pattern.get(p) == Some(&b'^');
    if negated {
        p += 1;
    }
    let mut found = false;
    loop {
        match pattern[p.min(pattern.len())..] {
            [] => break,
            [b'\\', literal, ..] => {
                found |= literal == byte;
                p += 2;
            }
            [b']', ..] => {
                p += 1;
                break;
            }
            [low, b'-', high, ..] => {
                found |= (low.min(high)..=low.max(high)).contains(&byte);
                p += 3;
            }
            [literal, ..] => {
                found |= literal == byte;
                p += 1;
            }
        }
    }
    (found != negated).then_some(p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_patterns_of_redis() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c*", "abcd", true),
            ("a?c", "abc", true),
            ("a?", "a", false),
            ("h[ae]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-c]llo", "hbllo", true),
            ("h[c-a]llo", "hbllo", true),
            ("[\\]]", "]", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("user:*:name", "user:1:2:name", true),
            ("[ab", "b", true),
            ("*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
        assert!(matches_ignore_case(b"MAX*", b"maxmemory"));
    }

    /// The textbook definition, which takes exponential time in the number of stars.
    fn oracle(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => (0..=text.len()).any(|at| oracle(rest, &text[at..])),
            ([b'?', rest @ ..], [_, tail @ ..]) => oracle(rest, tail),
            ([a, rest @ ..], [b, tail @ ..]) => a == b && oracle(rest, tail),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(pattern in "[ab*?]{0,8}", text in "[ab]{0,8}") {
            let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(matches(pattern, text), oracle(pattern, text));
        }

        #[test]
        fn never_panics(pattern in "[ab*?\\[\\]^\\\\-]{0,12}", text in "[ab]{0,6}") {
            matches(pattern.as_bytes(), text.as_bytes());
        }
    }
}
