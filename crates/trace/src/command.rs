//! Redis commands as requests to a cache: the effect of each, and the arguments that matter.

use base::Op;

/// The arguments of a command that are keys.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyArgs {
    First,
    All,
    /// Alternating keys and values.
    Pairs,
    /// The number of keys, then the keys.
    Numbered,
}

/// The place of the time to live in a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Life {
    None,
    /// The second argument, in units of this many microseconds.
    Second(u64),
    /// After EX, PX, EXAT or PXAT, from the third argument on.
    Options,
}

/// The effect of a command on a cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meaning {
    pub(crate) op: Op,
    pub(crate) keys: KeyArgs,
    /// Index of the first argument of the value, where arguments count from 1; 0 if there is no
    /// value.
    pub(crate) value_from: usize,
    pub(crate) life: Life,
    /// Whether a write replaces the value, and does not just change a part of it.
    pub(crate) is_whole: bool,
}

const fn meaning(op: Op, keys: KeyArgs, value_from: usize, life: Life) -> Meaning {
    Meaning { op, keys, value_from, life, is_whole: false }
}

/// The meaning of a command, if it is a request to a cache.
pub(crate) fn find(command: &[u8]) -> Option<Meaning> {
    let mut lower = [0; 16];
    let lower = lower.get_mut(..command.len())?;
    lower.copy_from_slice(command);
    lower.make_ascii_lowercase();
    let read = |keys| Some(meaning(Op::Get, keys, 0, Life::None));
    let write = |value_from, life| Some(meaning(Op::Set, KeyArgs::First, value_from, life));
    let whole = |keys, value_from, life| {
        Some(Meaning { is_whole: true, ..meaning(Op::Set, keys, value_from, life) })
    };
    match &*lower {
        b"get" | b"getrange" | b"substr" | b"strlen" | b"getbit" | b"bitcount" | b"bitpos"
        | b"hget" | b"hmget" | b"hgetall" | b"hkeys" | b"hvals" | b"hlen" | b"hexists"
        | b"hstrlen" | b"hscan" | b"lrange" | b"lindex" | b"llen" | b"lpos" | b"smembers"
        | b"sismember" | b"smismember" | b"scard" | b"srandmember" | b"sscan" | b"zrange"
        | b"zrevrange" | b"zrangebyscore" | b"zrevrangebyscore" | b"zscore" | b"zmscore"
        | b"zcard" | b"zcount" | b"zrank" | b"zrevrank" | b"zscan" | b"xrange" | b"xrevrange"
        | b"xlen" | b"geopos" | b"geodist" | b"geosearch" | b"getex" | b"dump" => {
            read(KeyArgs::First)
        }
        b"mget" | b"exists" | b"touch" | b"sinter" | b"sunion" | b"sdiff" | b"pfcount" => {
            read(KeyArgs::All)
        }
        b"sintercard" | b"zunion" | b"zinter" | b"zdiff" => read(KeyArgs::Numbered),
        b"set" => whole(KeyArgs::First, 2, Life::Options),
        b"setex" => whole(KeyArgs::First, 3, Life::Second(1_000_000)),
        b"psetex" => whole(KeyArgs::First, 3, Life::Second(1_000)),
        b"setnx" | b"getset" => whole(KeyArgs::First, 2, Life::None),
        b"setrange" | b"setbit" | b"incr" | b"decr" | b"incrby" | b"decrby" | b"incrbyfloat"
        | b"hset" | b"hmset" | b"hsetnx" | b"hincrby" | b"hincrbyfloat" | b"hdel" | b"lpush"
        | b"rpush" | b"lpushx" | b"rpushx" | b"linsert" | b"lset" | b"lrem" | b"ltrim"
        | b"lpop" | b"rpop" | b"sadd" | b"srem" | b"spop" | b"zadd" | b"zrem" | b"zincrby"
        | b"zpopmin" | b"zpopmax" | b"xadd" | b"xdel" | b"xtrim" | b"pfadd" | b"geoadd"
        | b"restore" | b"append" => write(2, Life::None),
        b"mset" | b"msetnx" => whole(KeyArgs::Pairs, 2, Life::None),
        b"del" | b"unlink" => Some(meaning(Op::Delete, KeyArgs::All, 0, Life::None)),
        b"getdel" => Some(meaning(Op::Delete, KeyArgs::First, 0, Life::None)),
        _ => None,
    }
}
