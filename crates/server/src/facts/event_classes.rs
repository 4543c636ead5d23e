//! Classes of keyspace notifications, and the letters that `notify-keyspace-events` has for them.

/// Sends on `__keyspace@db__:key`.
pub(crate) const KEYSPACE: u32 = 1;
/// Sends on `__keyevent@db__:event`.
pub(crate) const KEYEVENT: u32 = 1 << 1;
/// Commands for keys of any type, such as DEL and EXPIRE.
pub(crate) const GENERIC: u32 = 1 << 2;
/// Commands for strings.
pub(crate) const STRING: u32 = 1 << 3;
/// Commands for lists.
pub(crate) const LIST: u32 = 1 << 4;
/// Commands for sets.
pub(crate) const SET: u32 = 1 << 5;
/// Commands for hashes.
pub(crate) const HASH: u32 = 1 << 6;
/// Commands for sorted sets.
pub(crate) const ZSET: u32 = 1 << 7;
/// Expired keys.
pub(crate) const EXPIRED: u32 = 1 << 8;
/// Evicted keys.
pub(crate) const EVICTED: u32 = 1 << 9;
/// Reads that found no key.
pub(crate) const MISS: u32 = 1 << 12;
/// Keys that did not exist before.
pub(crate) const NEW: u32 = 1 << 13;

/// The letters of the classes; the ones that `A` includes come first.
const LETTERS: &[(char, u32)] = &[
    ('g', GENERIC),
    ('$', STRING),
    ('l', LIST),
    ('s', SET),
    ('h', HASH),
    ('z', ZSET),
    ('x', EXPIRED),
    ('e', EVICTED),
    ('t', 1 << 10),
    ('d', 1 << 11),
    ('K', KEYSPACE),
    ('E', KEYEVENT),
    ('m', MISS),
    ('n', NEW),
];
/// The number of classes that `A` includes.
const ALL: usize = 10;

fn all() -> u32 {
    LETTERS[..ALL].iter().map(|(_, class)| class).sum()
}

/// Reads the value of `notify-keyspace-events`.
pub(crate) fn parse(text: &str) -> Result<u32, String> {
    let class = |letter| match LETTERS.iter().find(|(known, _)| *known == letter) {
        Some((_, class)) => Ok(*class),
        None if letter == 'A' => Ok(all()),
        None => Err("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".to_owned()),
    };
    text.chars().try_fold(0, |sum, letter| Ok(sum | class(letter)?))
}

/// The letters of classes, as the setting shows them.
pub(crate) fn show(classes: u32) -> String {
    let is_all = classes & all() == all();
    let rest = if is_all { &LETTERS[ALL..] } else { LETTERS };
    let letters = rest.iter().filter(|(_, class)| classes & class != 0).map(|(letter, _)| letter);
    is_all.then_some(&'A').into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// redis-server 7 shows the same letters, except that it forgets `n` beside `A`.
    #[test]
    fn classes_are_shown_as_redis_does() {
        for (given, shown) in [
            ("", ""),
            ("KEA", "AKE"),
            ("KEAnm", "AKEmn"),
            ("nmxeK", "xeKmn"),
            ("gd$lshzxet", "A"),
            ("Ex", "xE"),
        ] {
            assert_eq!(show(parse(given).unwrap()), shown, "{given}");
        }
        assert!(parse("Kq").unwrap_err().contains("Invalid event class character"));
    }
}
