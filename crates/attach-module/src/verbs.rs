//! Commands that read, write or remove keys, and the positions of their keys.
//!
//! Commands that examine keys without their values (SCAN, TYPE, OBJECT, TTL) are no workload.
//! Commands that write several keys of other types are rare in caches. Neither kind is in the list.
//! A write whose command does not hold the whole value has no size; the key's old size replaces it.

/// The effect of a command on its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Read,
    /// Writes the key, with the value at this argument.
    Write(u8),
    /// Changes a part of the value.
    Change,
    Remove,
}

/// The positions of a command's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPositions {
    /// The first argument.
    First,
    /// All arguments.
    All,
    /// Every second argument, with a value behind each.
    Pairs,
}

/// A command with its effect and the positions of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verb {
    name: &'static [u8],
    pub(crate) deed: Deed,
    pub(crate) keys: KeyPositions,
}

const fn verb(name: &'static str, deed: Deed, keys: KeyPositions) -> Verb {
    Verb { name: name.as_bytes(), deed, keys }
}

const fn read(name: &'static str) -> Verb {
    verb(name, Deed::Read, KeyPositions::First)
}

const fn change(name: &'static str) -> Verb {
    verb(name, Deed::Change, KeyPositions::First)
}

/// The commands that the module observes, frequent ones first.
const ALL: &[Verb] = &[
    read("get"),
    verb("set", Deed::Write(2), KeyPositions::First),
    verb("mget", Deed::Read, KeyPositions::All),
    verb("setex", Deed::Write(3), KeyPositions::First),
    verb("del", Deed::Remove, KeyPositions::All),
    verb("unlink", Deed::Remove, KeyPositions::All),
    read("hget"),
    read("hgetall"),
    read("hmget"),
    change("hset"),
    change("incr"),
    verb("mset", Deed::Write(2), KeyPositions::Pairs),
    verb("psetex", Deed::Write(3), KeyPositions::First),
    verb("setnx", Deed::Write(2), KeyPositions::First),
    verb("getset", Deed::Write(2), KeyPositions::First),
    verb("getdel", Deed::Remove, KeyPositions::First),
    read("getex"),
    read("getrange"),
    read("substr"),
    read("strlen"),
    change("append"),
    change("setrange"),
    change("incrby"),
    change("decr"),
    change("decrby"),
    read("lrange"),
    read("lindex"),
    change("lpush"),
    change("rpush"),
    read("smembers"),
    read("sismember"),
    change("sadd"),
    read("zrange"),
    read("zscore"),
    change("zadd"),
    read("hvals"),
    read("hkeys"),
    read("hexists"),
    change("hmset"),
    change("hincrby"),
    change("hdel"),
];

/// The command of this name, in either case.
#[inline]
pub(crate) fn find(name: &[u8]) -> Option<&'static Verb> {
    // Most commands of a cache are these.
    if let &[g, e, t] = name
        && u32::from_le_bytes([g, e, t, 0]) | 0x20_20_20 == u32::from_le_bytes(*b"get\0")
    {
        return ALL.first();
    }
    ALL.iter().find(|verb| verb.name.len() == name.len() && verb.name.eq_ignore_ascii_case(name))
}

impl Verb {
    /// The positions of the keys among `count` words, the command's name included.
    pub(crate) fn places(&self, count: usize) -> impl Iterator<Item = usize> {
        let (end, step) = match self.keys {
            KeyPositions::First => (2, 1),
            KeyPositions::All => (count, 1),
            KeyPositions::Pairs => (count, 2),
        };
        (1..end.min(count)).step_by(step)
    }

    /// The position of the value for the key at `place`, if the command holds the value.
    pub(crate) fn value(&self, place: usize) -> Option<usize> {
        match (self.deed, self.keys) {
            (Deed::Write(_), KeyPositions::Pairs) => Some(place + 1),
            (Deed::Write(at), _) => Some(usize::from(at)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_where_the_server_reads_them() {
        let places = |name: &str, count| -> Vec<usize> {
            find(name.as_bytes()).unwrap().places(count).collect()
        };
        assert_eq!(places("GET", 2), [1]);
        assert_eq!(places("mGet", 4), [1, 2, 3]);
        assert_eq!(places("MSET", 5), [1, 3]);
        assert_eq!(places("set", 5), [1]);
        assert_eq!(places("get", 1), [] as [usize; 0]);
        let value = |name: &str, place| find(name.as_bytes()).unwrap().value(place);
        assert_eq!(
            [value("setex", 1), value("mset", 3), value("append", 1)],
            [Some(3), Some(4), None]
        );
        assert!(find(b"scan").is_none() && find(b"").is_none());
    }

    #[test]
    fn every_command_stands_once() {
        for verb in ALL {
            let same = ALL.iter().filter(|other| other.name == verb.name);
            assert_eq!(same.count(), 1, "{}", String::from_utf8_lossy(verb.name));
        }
    }
}
