//! Base64. Meta commands may use it to write keys that hold blanks or control bytes.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends `key` to `out` in base64.
pub fn encode_key(out: &mut Vec<u8>, key: &[u8]) {
    for chunk in key.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= chunk.len() { digit } else { b'=' });
        }
    }
}

/// The key that `text` encodes; `None` if it is not base64.
pub fn decode_key(text: &[u8]) -> Option<Vec<u8>> {
    if text.is_empty() || !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|&&byte| byte == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text.chunks(4) {
        let mut bits = 0u32;
        for &byte in chunk {
            let digit = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'=' => 0,
                _ => return None,
            };
            bits = bits << 6 | u32::from(digit);
        }
        out.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    // Padding anywhere but at the end would decode to zeros.
    if text[..text.len() - padding].contains(&b'=') {
        return None;
    }
    out.truncate(out.len() - padding);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_answers() {
        for (plain, text) in [
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("\u{1}", "AQ=="),
        ] {
            let mut out = vec![];
            encode_key(&mut out, plain.as_bytes());
            assert_eq!(out, text.as_bytes());
        }
        for text in ["", "Zg", "Zg=", "Z===", "Zm=v", "Zm9v!abc", "====", "Zg==Zg=="] {
            assert_eq!(decode_key(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn reads_what_it_writes(key in prop::collection::vec(any::<u8>(), 1..300)) {
            let mut text = vec![];
            encode_key(&mut text, &key);
            prop_assert_eq!(decode_key(&text), Some(key));
        }

        #[test]
        fn rubbish_does_no_harm(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = decode_key(&text);
        }
    }
}
