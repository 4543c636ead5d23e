//! Commands of Redis as requests to a cache: what each does, and which of its arguments say so.

use base::Op;

/// Which arguments of a command are keys.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keys {
    First,
    All,
    /// A key, a value, a key, a value.
    Pairs,
    /// How many, then the keys.
    Numbered,
}

/// Where a command says how long its key lives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Life {
    None,
    /// The second argument, in units of so many microseconds.
    Second(u64),
    /// Behind EX, PX, EXAT or PXAT, from the third argument on.
    Options,
}

/// What a command means to a cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meaning {
    pub(crate) op: Op,
    pub(crate) keys: Keys,
    /// The argument, from 1, behind which all belongs to the value; 0 where nothing does.
    pub(crate) value_from: usize,
    pub(crate) life: Life,
    /// Whether a write replaces the value, and does not only change a part of it.
    pub(crate) is_whole: bool,
}

const fn meaning(op: Op, keys: Keys, value_from: usize, life: Life) -> Meaning {
    Meaning { op, keys, value_from, life, is_whole: false }
}

/// The commands that are requests to a cache.
pub(crate) fn find(command: &[u8]) -> Option<Meaning> {
    let mut lower = [0; 16];
    let lower = lower.get_mut(..command.len())?;
    lower.copy_from_slice(command);
    lower.make_ascii_lowercase();
    let read = |keys| Some(meaning(Op::Get, keys, 0, Life::None));
    let write = |value_from, life| Some(meaning(Op::Set, Keys::First, value_from, life));
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
        | b"xlen" | b"geopos" | b"geodist" | b"geosearch" | b"getex" | b"dump" => read(Keys::First),
        b"mget" | b"exists" | b"touch" | b"sinter" | b"sunion" | b"sdiff" | b"pfcount" => {
            read(Keys::All)
        }
        b"sintercard" | b"zunion" | b"zinter" | b"zdiff" => read(Keys::Numbered),
        b"set" => whole(Keys::First, 2, Life::Options),
        b"setex" => whole(Keys::First, 3, Life::Second(1_000_000)),
        b"psetex" => whole(Keys::First, 3, Life::Second(1_000)),
        b"setnx" | b"getset" => whole(Keys::First, 2, Life::None),
        b"setrange" | b"setbit" | b"incr" | b"decr" | b"incrby" | b"decrby" | b"incrbyfloat"
        | b"hset" | b"hmset" | b"hsetnx" | b"hincrby" | b"hincrbyfloat" | b"hdel" | b"lpush"
        | b"rpush" | b"lpushx" | b"rpushx" | b"linsert" | b"lset" | b"lrem" | b"ltrim"
        | b"lpop" | b"rpop" | b"sadd" | b"srem" | b"spop" | b"zadd" | b"zrem" | b"zincrby"
        | b"zpopmin" | b"zpopmax" | b"xadd" | b"xdel" | b"xtrim" | b"pfadd" | b"geoadd"
        | b"restore" | b"append" => write(2, Life::None),
        b"mset" | b"msetnx" => whole(Keys::Pairs, 2, Life::None),
        b"del" | b"unlink" => Some(meaning(Op::Delete, Keys::All, 0, Life::None)),
        b"getdel" => Some(meaning(Op::Delete, Keys::First, 0, Life::None)),
        _ => None,
    }
}
