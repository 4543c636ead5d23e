//! Commands of Redis that Larder does not have, and the error for each.
//!
//! A client that sends one learns which part of Redis it belongs to and what Larder has instead. So
//! its user need not suspect a typing error. The error begins like that of a server that never had
//! the command, because clients and libraries look for these words.

/// Names in lower case, separated by blanks, and the reason why they are missing.
const ABSENT: &[(&str, &str)] = &[
    (
        "geoadd geodist geohash geopos georadius georadius_ro georadiusbymember \
         georadiusbymember_ro geosearch geosearchstore",
        "Larder holds no geospatial sets",
    ),
    ("pfadd pfcount pfdebug pfmerge pfselftest", "Larder holds no HyperLogLogs"),
    (
        "xack xadd xautoclaim xclaim xdel xgroup xinfo xlen xpending xrange xread xreadgroup \
         xrevrange xsetid xtrim",
        "Larder holds no streams",
    ),
    (
        "bgrewriteaof bgsave save",
        "Larder holds its data in memory only; warm-restart-file keeps data across a restart",
    ),
    ("failover psync replconf replicaof slaveof sync waitaof", "Larder does not replicate data"),
    (
        "dump migrate restore restore-asking",
        "Larder does not write its data in the format of Redis",
    ),
    ("swapdb", "Larder cannot exchange the keys of two databases"),
    ("debug", "INFO, MEMORY and LARDER show what Larder knows of its data"),
    ("lolwut", "Larder holds no art"),
    ("sentinel", "Larder is not a sentinel"),
];

/// Whether Redis has a command of this name (in lower case) that this server does not have.
pub(crate) fn is_absent(name: &str) -> bool {
    why(name.as_bytes()).is_some()
}

/// The reason why the command of this name, in any case, is missing; `None` if Redis does not have
/// it either.
pub(crate) fn why(name: &[u8]) -> Option<&'static str> {
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
            assert_eq!(crate::facts::table::find(name.as_bytes()), None, "{name}");
            assert!(why(name.to_ascii_uppercase().as_bytes()).is_some());
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
        for name in [&b""[..], b"nosuch", b"get", b"get lmove", b"\xff"] {
            assert_eq!(why(name), None);
        }
    }
}
