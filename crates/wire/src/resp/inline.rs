//! Lines typed by hand: words separated by blanks, with quotes.
//!
//! `"…"` knows the escapes `\n \r \t \b \a \xHH`; before any other byte, `\` stands for that byte.
//! `'…'` knows only `\'`. After a closing quote, a blank or the end must follow. Lines of a
//! configuration file have the same rules.

use super::command::Span;

/// Splits `line` into words, and appends them unescaped to `bytes`. Returns false if a quote is not
/// closed, or if anything but a blank follows a closing quote.
pub(super) fn split(line: &[u8], bytes: &mut Vec<u8>, words: &mut Vec<Span>) -> bool {
    let mut rest = line;
    loop {
        while let [first, tail @ ..] = rest
            && is_blank(*first)
        {
            rest = tail;
        }
        if rest.is_empty() {
            return true;
        }
        let start = bytes.len();
        let Some(after) = word(rest, bytes) else { return false };
        words.push(Span::new(start, bytes.len() - start));
        rest = after;
    }
}

/// Splits a line into words; `None` if its quotes do not balance.
pub fn split_line(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (mut bytes, mut words) = (vec![], vec![]);
    split(line, &mut bytes, &mut words)
        .then(|| words.iter().map(|word| word.of(&bytes).to_vec()).collect())
}

/// Whether C's `isspace` accepts the byte.
const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Takes one word off the front of `rest`, and returns the remaining bytes.
fn word<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            // Vertical tab and form feed separate words only at the start of a word.
            [] | [b' ' | b'\n' | b'\r' | b'\t', ..] => return Some(rest),
            [b'"', tail @ ..] => return closed(double_quoted(tail, out)?),
            [b'\'', tail @ ..] => return closed(single_quoted(tail, out)?),
            [byte, tail @ ..] => {
                out.push(*byte);
                rest = tail;
            }
        }
    }
}

fn closed(rest: &[u8]) -> Option<&[u8]> {
    rest.first().is_none_or(|&byte| is_blank(byte)).then_some(rest)
}

fn double_quoted<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (byte, tail) = match rest {
            [] => return None,
            [b'"', tail @ ..] => return Some(tail),
            [b'\\', b'x', high, low, tail @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                (hex(*high) << 4 | hex(*low), tail)
            }
            [b'\\', escaped, tail @ ..] => (unescape(*escaped), tail),
            [byte, tail @ ..] => (*byte, tail),
        };
        out.push(byte);
        rest = tail;
    }
}

const fn unescape(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    }
}

const fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (byte, tail) = match rest {
            [] => return None,
            [b'\'', tail @ ..] => return Some(tail),
            [b'\\', b'\'', tail @ ..] => (b'\'', tail),
            [byte, tail @ ..] => (*byte, tail),
        };
        out.push(byte);
        rest = tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_escapes() {
        let cases: &[(&str, Option<&[&[u8]]>)] = &[
            ("", Some(&[])),
            ("  set  a b ", Some(&[b"set", b"a", b"b"])),
            (r#"set a "b c""#, Some(&[b"set", b"a", b"b c"])),
            (r#""\x41\n\q\"" x"#, Some(&[b"A\nq\"", b"x"])),
            (r"'it\'s' \n", Some(&[b"it's", b"\\n"])),
            (r#"pre"fix ed""#, Some(&[b"prefix ed"])),
            (r#""" ''"#, Some(&[b"", b""])),
            (r#""open"#, None),
            (r#""a"b"#, None),
            ("'a", None),
            ("\"a\\", None),
        ];
        for (line, words) in cases {
            let split = split_line(line.as_bytes());
            let words = words.map(|words| words.iter().map(|word| word.to_vec()).collect());
            assert_eq!(split, words, "{line}");
        }
    }
}
