//! Commands of Redis that are not here, and what is said of them.
//!
//! Whoever sends one learns which part of Redis it belongs to and what Larder holds instead of
//! guessing at a spelling. The error begins as that of a server that never had the command, for
//! clients and libraries look for these words.

/// Names in lower case, blanks between them, and why there is none of them.
const ABSENT: &[(&str, &str)] = &[
    (
        "blmove blmpop blpop brpop brpoplpush lindex linsert llen lmove lmpop lpop lpos lpush \
         lpushx lrange lrem lset ltrim rpop rpoplpush rpush rpushx",
        "Larder holds strings and hashes, no lists",
    ),
    (
        "sadd scard sdiff sdiffstore sinter sintercard sinterstore sismember smembers smismember \
         smove spop srandmember srem sscan sunion sunionstore",
        "Larder holds strings and hashes, no sets",
    ),
    (
        "bzmpop bzpopmax bzpopmin zadd zcard zcount zdiff zdiffstore zincrby zinter zintercard \
         zinterstore zlexcount zmpop zmscore zpopmax zpopmin zrandmember zrange zrangebylex \
         zrangebyscore zrangestore zrank zrem zremrangebylex zremrangebyrank zremrangebyscore \
         zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore zunion zunionstore",
        "Larder holds strings and hashes, no sorted sets",
    ),
    (
        "geoadd geodist geohash geopos georadius georadius_ro georadiusbymember \
         georadiusbymember_ro geosearch geosearchstore",
        "Larder holds strings and hashes, no sorted sets of places",
    ),
    (
        "pfadd pfcount pfdebug pfmerge pfselftest",
        "Larder holds strings and hashes, no HyperLogLogs",
    ),
    (
        "xack xadd xautoclaim xclaim xdel xgroup xinfo xlen xpending xrange xread xreadgroup \
         xrevrange xsetid xtrim",
        "Larder holds strings and hashes, no streams",
    ),
    ("sort sort_ro", "Larder holds strings and hashes, and nothing of theirs is to be sorted"),
    (
        "bgrewriteaof bgsave save",
        "Larder holds its strings and hashes in memory alone; warm-restart-file keeps them across \
         a restart",
    ),
    (
        "failover psync replconf replicaof slaveof sync waitaof",
        "Larder holds strings and hashes of its own, without replication",
    ),
    (
        "dump migrate restore restore-asking",
        "Larder holds strings and hashes, and does not write them in the format of Redis",
    ),
    (
        "swapdb",
        "Larder holds strings and hashes under their databases, and databases do not change places",
    ),
    (
        "debug",
        "Larder holds strings and hashes; INFO, MEMORY and LARDER show what it knows of them",
    ),
    ("lolwut", "Larder holds strings and hashes, no art"),
    ("sentinel", "Larder holds strings and hashes; this is a server, no sentinel"),
];

/// Whether Redis has a command of that name, in lower case, and this server has not.
pub(crate) fn is_absent(name: &str) -> bool {
    why(name.as_bytes()).is_some()
}

/// Why the command of that name, in any case, is not here; `None` if Redis has none either.
pub(super) fn why(name: &[u8]) -> Option<&'static str> {
    let is = |other: &str| other.as_bytes().eq_ignore_ascii_case(name);
    let found = ABSENT.iter().find(|(names, _)| names.split(' ').any(is))?;
    Some(found.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_is_not_there() {
        let names: Vec<&str> = ABSENT.iter().flat_map(|(names, _)| names.split(' ')).collect();
        for name in &names {
            assert_eq!(crate::commands::find(name.as_bytes()), None, "{name}");
            assert!(why(name.to_ascii_uppercase().as_bytes()).is_some());
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
        for name in [&b""[..], b"nosuch", b"get", b"llen lmove", b"\xff"] {
            assert_eq!(why(name), None);
        }
    }
}
