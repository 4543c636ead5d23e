//! Slots of Redis Cluster: they decide which keys are kept together.

/// The number of slots.
pub const SLOTS: u16 = 16_384;

/// Checksums of one byte: CRC-16 with the polynomial 0x1021 (XMODEM).
const CHECKSUMS: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = ((byte as u16) << 8, 0);
        while bit < 8 {
            sum = if sum & 0x8000 == 0 { sum << 1 } else { sum << 1 ^ 0x1021 };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
};

/// The slot of a key. If the key has a part in braces, only that part counts, so that keys can be
/// kept together: `{user7}:name` and `{user7}:mail`.
pub fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let len = rest.iter().position(|&byte| byte == b'}')?;
        (len > 0).then(|| &rest[..len])
    });
    let sum = tag
        .unwrap_or(key)
        .iter()
        .fold(0u16, |sum, &byte| sum << 8 ^ CHECKSUMS[usize::from((sum >> 8) as u8 ^ byte)]);
    sum % SLOTS
}

/// The slot that all keys matching a pattern share. There is one if the pattern has no wildcard, or
/// none before the end of a tag in braces. `None` if the keys may be in different slots.
pub fn slot_of_pattern(pattern: &[u8]) -> Option<u16> {
    let is_wild = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\');
    let Some(wild) = pattern.iter().position(is_wild) else { return Some(slot(pattern)) };
    let plain = &pattern[..wild];
    let open = plain.iter().position(|&byte| byte == b'{')?;
    let len = plain[open + 1..].iter().position(|&byte| byte == b'}')?;
    (len > 0).then(|| slot(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples from the specification of Redis Cluster.
    #[test]
    fn slots_are_those_of_redis() {
        assert_eq!(CHECKSUMS[1], 0x1021);
        assert_eq!(slot(b"123456789"), 0x31c3);
        for (key, want) in [(&b"foo"[..], 12_182), (b"bar", 5_061), (b"hello", 866), (b"", 0)] {
            assert_eq!(slot(key), want);
        }
        let same = [&b"{user1000}.following"[..], b"{user1000}.followers", b"user1000"];
        assert!(same.iter().all(|key| slot(key) == slot(same[0])));
        // An empty tag does not count. With several pairs of braces, the first counts.
        assert_eq!(slot(b"foo{{bar}}zap"), slot(b"{bar"));
        assert_eq!(slot(b"foo{bar}{zap}"), slot(b"bar"));
        assert_ne!(slot(b"foo{}{bar}"), slot(b"bar"));
    }

    #[test]
    fn a_pattern_has_a_slot_where_its_tag_is_plain() {
        for pattern in [&b"{bar}*"[..], b"x{bar}:*->y", b"bar"] {
            assert_eq!(slot_of_pattern(pattern), Some(slot(b"bar")));
        }
        for pattern in [&b"*"[..], b"*{bar}", b"{b*r}", b"{}*", b"{bar*}", b"[a]{bar}", b"\\x"] {
            assert_eq!(slot_of_pattern(pattern), None);
        }
    }
}
