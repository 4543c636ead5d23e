//! Scripts in the shape that clients and frameworks send: locks, rate limiters, compare-and-swap,
//! tagged caches. Commands, keys and arguments are the originals; the text of the scripts is our
//! own.

use crate::client::Client;
use crate::process::{Server, serve};

fn connected() -> (Server, Client) {
    let server = serve("");
    let client = Client::new(server.addr());
    (server, client)
}

/// Runs a script; returns the value of its reply.
fn eval(client: &mut Client, script: &str, rest: &str) -> String {
    client.value(&format!("EVAL \"{script}\" {rest}"))
}

/// A lock that only its holder can release: redis-py's Lock, Redlock, Laravel's locks.
#[test]
fn a_lock_is_released_by_its_holder_alone() {
    const RELEASE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then \
                           return redis.call('del', KEYS[1]) end return 0";
    let (_server, mut client) = connected();
    let ask = &mut client;
    assert_eq!(ask.value("SET lock mine NX PX 30000"), "OK");
    assert_eq!(ask.value("SET lock theirs NX PX 30000"), "(null)");
    assert_eq!(eval(ask, RELEASE, "1 lock theirs"), "0");
    assert_eq!(eval(ask, RELEASE, "1 lock mine"), "1");
    assert_eq!(eval(ask, RELEASE, "1 lock mine"), "0", "it is gone");
    // By digest, as redis-py does: unknown first, then loaded, then known.
    let digest = ask.value(&format!("SCRIPT LOAD \"{RELEASE}\""));
    assert_eq!(ask.value("SCRIPT FLUSH"), "OK");
    let error = ask.value(&format!("EVALSHA {digest} 1 lock mine"));
    assert_eq!(error, "NOSCRIPT No matching script. Please use EVAL.");
    assert_eq!(ask.value(&format!("SCRIPT LOAD \"{RELEASE}\"")), digest);
    ask.value("SET lock mine");
    assert_eq!(ask.value(&format!("EVALSHA {digest} 1 lock mine")), "1");
}

/// redis-py's Lock.extend and Lock.reacquire.
#[test]
fn a_lock_is_extended_by_its_holder_alone() {
    const EXTEND: &str = "local token = redis.call('get', KEYS[1]) \
                          if not token or token ~= ARGV[1] then return 0 end \
                          local left = redis.call('pttl', KEYS[1]) \
                          if not left then left = 0 end \
                          if left < 0 then return 0 end \
                          local life = ARGV[2] \
                          if ARGV[3] == '0' then life = ARGV[2] + left end \
                          redis.call('pexpire', KEYS[1], life) return 1";
    let (_server, mut client) = connected();
    let ask = &mut client;
    ask.value("SET lock mine PX 30000");
    assert_eq!(eval(ask, EXTEND, "1 lock theirs 10000 0"), "0");
    assert_eq!(eval(ask, EXTEND, "1 lock mine 10000 0"), "1");
    let left: u64 = ask.value("PTTL lock").parse().unwrap();
    assert!((30_001..=40_000).contains(&left), "{left}");
    assert_eq!(eval(ask, EXTEND, "1 lock mine 10000 1"), "1");
    let left: u64 = ask.value("PTTL lock").parse().unwrap();
    assert!(left <= 10_000, "{left}");
}

/// Redisson's lock: a hash of holders with counts, so that a holder may lock again.
#[test]
fn a_lock_is_taken_again_by_its_holder() {
    const LOCK: &str = "if redis.call('exists', KEYS[1]) == 0 \
                        or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then \
                        redis.call('hincrby', KEYS[1], ARGV[2], 1) \
                        redis.call('pexpire', KEYS[1], ARGV[1]) return nil end \
                        return redis.call('pttl', KEYS[1])";
    const UNLOCK: &str = "if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end \
                          local count = redis.call('hincrby', KEYS[1], ARGV[3], -1) \
                          if count > 0 then redis.call('pexpire', KEYS[1], ARGV[2]) return 0 end \
                          redis.call('del', KEYS[1]) \
                          redis.call('publish', KEYS[2], ARGV[1]) return 1";
    let (server, mut client) = connected();
    let mut listener = Client::new(server.addr());
    listener.ask("SUBSCRIBE channel");
    let ask = &mut client;
    assert_eq!(eval(ask, LOCK, "1 lock 30000 me:1"), "(null)");
    assert_eq!(eval(ask, LOCK, "1 lock 30000 me:1"), "(null)");
    let left: u64 = eval(ask, LOCK, "1 lock 30000 you:1").parse().unwrap();
    assert!(left > 20_000 && left <= 30_000, "{left}");
    assert_eq!(eval(ask, UNLOCK, "2 lock channel 0 30000 you:1"), "(null)");
    assert_eq!(eval(ask, UNLOCK, "2 lock channel 0 30000 me:1"), "0");
    assert_eq!(eval(ask, UNLOCK, "2 lock channel 0 30000 me:1"), "1");
    let heard = String::from_utf8(listener.reply()).unwrap();
    assert!(heard.ends_with("channel\r\n$1\r\n0\r\n"), "{heard}");
    assert_eq!(ask.value("EXISTS lock"), "0");
}

/// A counting window: Laravel, rack-attack, rate-limiter-flexible.
#[test]
fn hits_are_counted_in_a_window() {
    const HIT: &str = "redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX') \
                       local hits = redis.call('incrby', KEYS[1], ARGV[1]) \
                       local left = redis.call('pttl', KEYS[1]) \
                       if left == -1 then redis.call('expire', KEYS[1], ARGV[2]) \
                       left = 1000 * ARGV[2] end \
                       return {hits, left}";
    const CONCURRENT: &str = "for at = 1, ARGV[1] do \
                              if not redis.call('get', KEYS[1] .. at) then \
                              redis.call('set', KEYS[1] .. at, ARGV[2], 'EX', 9) return at end \
                              end return false";
    let (_server, mut client) = connected();
    for hits in 1..=3 {
        let reply = client.ask(&format!("EVAL \"{HIT}\" 1 hits 1 60"));
        let (count, left) = reply.strip_prefix("*2\r\n:").unwrap().split_once("\r\n:").unwrap();
        assert_eq!(count, hits.to_string());
        assert!((50_000..=60_000).contains(&left.trim().parse::<u64>().unwrap()), "{reply}");
    }
    for wanted in ["1", "2", "(null)"] {
        assert_eq!(eval(&mut client, CONCURRENT, "1 slot: 2 me"), wanted);
    }
}

/// A token bucket in a hash, with fractions: Redisson, Spring Cloud Gateway.
#[test]
fn tokens_fill_a_bucket() {
    const TAKE: &str = "local rate, most, now, want = tonumber(ARGV[1]), tonumber(ARGV[2]), \
                        tonumber(ARGV[3]), tonumber(ARGV[4]) \
                        local known = redis.call('hmget', KEYS[1], 'tokens', 'at') \
                        local tokens = tonumber(known[1]) or most \
                        local at = tonumber(known[2]) or now \
                        tokens = math.min(most, tokens + math.max(0, now - at) * rate) \
                        local allowed = tokens >= want \
                        if allowed then tokens = tokens - want end \
                        redis.call('hset', KEYS[1], 'tokens', tokens, 'at', now) \
                        redis.call('expire', KEYS[1], math.floor(most / rate * 2)) \
                        return {allowed and 1 or 0, tostring(tokens)}";
    let (_server, mut client) = connected();
    let mut take =
        |now: u32, want: u32| client.ask(&format!("EVAL \"{TAKE}\" 1 bucket 0.5 3 {now} {want}"));
    assert_eq!(take(100, 2), "*2\r\n:1\r\n$1\r\n1\r\n");
    assert_eq!(take(100, 2), "*2\r\n:0\r\n$1\r\n1\r\n");
    assert_eq!(take(101, 2), "*2\r\n:0\r\n$3\r\n1.5\r\n");
    assert_eq!(take(102, 2), "*2\r\n:1\r\n$1\r\n0\r\n");
    assert_eq!(client.value("HGET bucket tokens"), "0");
}

/// Bucket4j: a binary state is replaced only if it still equals the one that was read.
#[test]
fn a_state_is_swapped_where_it_is_the_one_that_was_seen() {
    const SWAP: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then \
                        redis.call('set', KEYS[1], ARGV[2], 'PX', ARGV[3]) return 1 end return 0";
    const CREATE: &str = "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then \
                          return 1 end return 0";
    let (_server, mut client) = connected();
    let ask = &mut client;
    assert_eq!(eval(ask, CREATE, r#"1 state "\x00\xff\r\n" 60000"#), "1");
    assert_eq!(eval(ask, CREATE, "1 state other 60000"), "0");
    assert_eq!(eval(ask, SWAP, r#"1 state "\x00\xff" new 60000"#), "0");
    assert_eq!(eval(ask, SWAP, r#"1 state "\x00\xff\r\n" new 60000"#), "1");
    assert_eq!(ask.value("GET state"), "new");
}

/// Symfony's tagged items: a script deletes the set of a tag and all its items in one step.
#[test]
fn tags_are_dropped_with_their_items() {
    const TAG: &str = "for at = 2, #KEYS do redis.call('sadd', KEYS[at], KEYS[1]) end \
                       return redis.call('setex', KEYS[1], ARGV[1], ARGV[2])";
    const DROP: &str = "local keys = redis.call('smembers', KEYS[1]) \
                        redis.call('del', KEYS[1]) \
                        if #keys == 0 then return 0 end \
                        return redis.call('unlink', unpack(keys))";
    let (_server, mut client) = connected();
    let ask = &mut client;
    for item in 0..300 {
        let line = format!("EVAL \"{TAG}\" 3 item:{item} tag:a tag:b 60 value");
        assert_eq!(ask.ask(&line), "+OK\r\n");
    }
    assert_eq!(eval(ask, DROP, "1 tag:a"), "300");
    assert_eq!(eval(ask, DROP, "1 tag:a"), "0");
    assert_eq!(ask.value("SCARD tag:b"), "300");
    assert_eq!(ask.value("EXISTS item:0 item:299"), "0");
}

/// A sliding window in a sorted set, and queues as BullMQ reads them.
#[test]
fn windows_and_queues() {
    const HIT: &str = "redis.call('zremrangebyscore', KEYS[1], '-inf', ARGV[1] - ARGV[2]) \
                       local hits = redis.call('zcard', KEYS[1]) \
                       if hits < tonumber(ARGV[3]) then \
                       redis.call('zadd', KEYS[1], ARGV[1], ARGV[1]) return 1 end return 0";
    const COUNTS: &str = "local counts = {} for at = 2, #ARGV do local key = KEYS[1] .. ARGV[at] \
                          local kind = redis.call('type', key).ok \
                          if kind == 'list' then counts[at - 1] = redis.call('llen', key) \
                          elseif kind == 'zset' then counts[at - 1] = redis.call('zcard', key) \
                          else counts[at - 1] = 0 end end return counts";
    let (_server, mut client) = connected();
    let ask = &mut client;
    for (now, wanted) in [(100, "1"), (101, "1"), (102, "0"), (111, "1")] {
        assert_eq!(eval(ask, HIT, &format!("1 window {now} 10 2")), wanted, "{now}");
    }
    ask.value("RPUSH q:wait 1 2 3");
    ask.value("ZADD q:delayed 5 4");
    let reply = ask.ask(&format!("EVAL \"{COUNTS}\" 1 q: x wait delayed failed"));
    assert_eq!(reply, "*3\r\n:3\r\n:1\r\n:0\r\n");
}
