//! Lists, sets and sorted sets beside a plain implementation. A script of bytes is played on both,
//! and every reply and the final contents must be the same.
//!
//! A step is four bytes: a command, a key, and two numbers. Some steps add hundreds of elements, so
//! that collections become trees, and some remove as many.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use wire::resp::{Reply, encode_command};

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

/// The value of a key.
#[derive(Clone, Debug)]
enum Value {
    List(Vec<String>),
    Set(BTreeSet<String>),
    Zset(BTreeMap<String, i64>),
}

/// A reply, reduced to the parts that are compared.
#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Number(i64),
    Text(Option<String>),
    Texts(Vec<String>),
    /// Members in any order.
    Members(BTreeSet<String>),
    WrongType,
    Fails,
    Done,
}

#[derive(Debug, Default)]
struct Model(BTreeMap<&'static str, Value>);

fn element(number: usize) -> String {
    // Some elements are long, so that few of them fill a node.
    let long = if number.is_multiple_of(11) { "x".repeat(60) } else { String::new() };
    format!("e{number}{long}")
}

/// Members in the order of their scores.
fn sorted(zset: &BTreeMap<String, i64>) -> Vec<(i64, String)> {
    let mut all: Vec<_> = zset.iter().map(|(member, score)| (*score, member.clone())).collect();
    all.sort();
    all
}

/// The positions that a range covers.
fn span(start: i64, stop: i64, len: usize) -> std::ops::Range<usize> {
    let from_end = |at: i64| if at < 0 { at + len as i64 } else { at };
    let (start, stop) = (from_end(start).max(0), from_end(stop).min(len as i64 - 1));
    if start > stop { 0..0 } else { start as usize..stop as usize + 1 }
}

macro_rules! held {
    ($model:expr, $key:expr, $kind:ident) => {
        match $model.0.get($key) {
            None => Default::default(),
            Some(Value::$kind(value)) => value.clone(),
            Some(_) => return Answer::WrongType,
        }
    };
}

impl Model {
    fn put(&mut self, key: &'static str, value: Value) {
        let is_empty = match &value {
            Value::List(list) => list.is_empty(),
            Value::Set(set) => set.is_empty(),
            Value::Zset(zset) => zset.is_empty(),
        };
        if is_empty {
            self.0.remove(key);
        } else {
            self.0.insert(key, value);
        }
    }

    fn lists(&mut self, words: &[String], key: &'static str, other: &'static str) -> Answer {
        let mut list: Vec<String> = held!(self, key, List);
        let number = |at: usize| words[at].parse::<i64>().unwrap();
        let answer = match words[0].as_str() {
            "RPUSH" => {
                list.extend_from_slice(&words[2..]);
                Answer::Number(list.len() as i64)
            }
            "LPUSH" => {
                list.splice(0..0, words[2..].iter().rev().cloned());
                Answer::Number(list.len() as i64)
            }
            "LPOP" | "RPOP" if list.is_empty() => Answer::Text(None),
            "LPOP" => Answer::Texts(list.drain(..list.len().min(number(2) as usize)).collect()),
            "RPOP" => {
                let keep = list.len().saturating_sub(number(2) as usize);
                Answer::Texts(list.split_off(keep).into_iter().rev().collect())
            }
            "LINSERT" => match list.iter().position(|element| *element == words[3]) {
                Some(at) => {
                    list.insert(at + usize::from(words[2] == "AFTER"), words[4].clone());
                    Answer::Number(list.len() as i64)
                }
                None => Answer::Number(if list.is_empty() { 0 } else { -1 }),
            },
            "LREM" => {
                let (count, mut removed) = (number(2), 0);
                let most = if count == 0 { i64::MAX } else { count.abs() };
                if count < 0 {
                    list.reverse();
                }
                list.retain(|element| {
                    let goes = *element == words[3] && removed < most;
                    removed += i64::from(goes);
                    !goes
                });
                if count < 0 {
                    list.reverse();
                }
                Answer::Number(removed)
            }
            "LTRIM" => {
                list = list[span(number(2), number(3), list.len())].to_vec();
                Answer::Done
            }
            "LSET" => {
                let at = number(2) + if number(2) < 0 { list.len() as i64 } else { 0 };
                match usize::try_from(at).ok().and_then(|at| list.get_mut(at)) {
                    Some(element) => {
                        element.clone_from(&words[3]);
                        Answer::Done
                    }
                    None => Answer::Fails,
                }
            }
            "LRANGE" => {
                let range = span(number(2), number(3), list.len());
                return Answer::Texts(list[range].to_vec());
            }
            "LPOS" => {
                let at = list.iter().position(|element| *element == words[2]);
                return at.map_or(Answer::Text(None), |at| Answer::Number(at as i64));
            }
            _ => {
                if list.is_empty() {
                    return Answer::Text(None);
                }
                let _: Vec<String> = held!(self, other, List);
                let left = words[3] == "LEFT";
                let moved = if left { list.remove(0) } else { list.pop().unwrap() };
                self.put(key, Value::List(list));
                let mut to: Vec<String> = held!(self, other, List);
                let at = if words[4] == "LEFT" { 0 } else { to.len() };
                to.insert(at, moved.clone());
                self.put(other, Value::List(to));
                return Answer::Text(Some(moved));
            }
        };
        self.put(key, Value::List(list));
        answer
    }

    fn sets(&mut self, words: &[String], key: &'static str, other: &'static str) -> Answer {
        let mut set: BTreeSet<String> = held!(self, key, Set);
        let answer = match words[0].as_str() {
            "SADD" => {
                let before = set.len();
                set.extend(words[2..].iter().cloned());
                Answer::Number((set.len() - before) as i64)
            }
            "SREM" => {
                let before = set.len();
                set.retain(|member| !words[2..].contains(member));
                Answer::Number((before - set.len()) as i64)
            }
            "SISMEMBER" => return Answer::Number(i64::from(set.contains(&words[2]))),
            "SMEMBERS" => return Answer::Members(set),
            "SCARD" => return Answer::Number(set.len() as i64),
            "SMOVE" => {
                if set.is_empty() {
                    return Answer::Number(0);
                }
                let mut to: BTreeSet<String> = held!(self, other, Set);
                let is_there = set.contains(&words[3]);
                if is_there && key != other {
                    set.remove(&words[3]);
                    to.insert(words[3].clone());
                    self.put(other, Value::Set(to));
                    self.put(key, Value::Set(set));
                }
                return Answer::Number(i64::from(is_there));
            }
            _ => {
                let two: BTreeSet<String> = held!(self, other, Set);
                let found: BTreeSet<String> = match words[0].as_str() {
                    "SINTERSTORE" => set.intersection(&two).cloned().collect(),
                    "SUNIONSTORE" => set.union(&two).cloned().collect(),
                    _ => set.difference(&two).cloned().collect(),
                };
                let count = found.len() as i64;
                self.put(KEYS[3], Value::Set(found));
                return Answer::Number(count);
            }
        };
        self.put(key, Value::Set(set));
        answer
    }

    fn zsets(&mut self, words: &[String], key: &'static str, other: &'static str) -> Answer {
        if words[0] == "ZUNIONSTORE" {
            return self.union(key, other);
        }
        let mut zset: BTreeMap<String, i64> = held!(self, key, Zset);
        let number = |at: usize| words[at].parse::<i64>().unwrap();
        let names = |all: &[(i64, String)]| all.iter().map(|(_, name)| name.clone()).collect();
        let all = sorted(&zset);
        let answer = match words[0].as_str() {
            "ZADD" => {
                let before = zset.len();
                for pair in words[2..].chunks(2) {
                    zset.insert(pair[1].clone(), pair[0].parse().unwrap());
                }
                Answer::Number((zset.len() - before) as i64)
            }
            "ZREM" => {
                let before = zset.len();
                zset.retain(|member, _| !words[2..].contains(member));
                Answer::Number((before - zset.len()) as i64)
            }
            "ZRANK" => {
                let at = all.iter().position(|(_, member)| *member == words[2]);
                return at.map_or(Answer::Text(None), |at| Answer::Number(at as i64));
            }
            "ZSCORE" => {
                return Answer::Text(zset.get(&words[2]).map(ToString::to_string));
            }
            "ZRANGEBYSCORE" => {
                let within = |(score, _): &&(i64, String)| (number(2)..=number(3)).contains(score);
                return Answer::Texts(all.iter().filter(within).map(|(_, n)| n.clone()).collect());
            }
            "ZREVRANGE" => {
                let back: Vec<_> = all.into_iter().rev().collect();
                let range = span(number(2), number(3), back.len());
                return Answer::Texts(names(&back[range]));
            }
            "ZREMRANGEBYRANK" => {
                let range = span(number(2), number(3), all.len());
                for (_, member) in &all[range.clone()] {
                    zset.remove(member);
                }
                Answer::Number(range.len() as i64)
            }
            "ZREMRANGEBYSCORE" => {
                let before = zset.len();
                zset.retain(|_, score| !(number(2)..=number(3)).contains(score));
                Answer::Number((before - zset.len()) as i64)
            }
            "ZCOUNT" => {
                let within = |score: &&i64| (number(2)..=number(3)).contains(*score);
                return Answer::Number(zset.values().filter(within).count() as i64);
            }
            "ZPOPMAX" => {
                let taken: Vec<_> = all.into_iter().rev().take(number(2) as usize).collect();
                let shown =
                    taken.iter().flat_map(|(score, name)| [name.clone(), score.to_string()]);
                let shown = shown.collect();
                for (_, member) in taken {
                    zset.remove(&member);
                }
                Answer::Texts(shown)
            }
            other => panic!("{other}"),
        };
        self.put(key, Value::Zset(zset));
        answer
    }

    /// The union of two keys, with added scores; each member of a set scores 1.
    fn union(&mut self, key: &'static str, other: &'static str) -> Answer {
        let mut sum = BTreeMap::<String, i64>::new();
        for key in [key, other] {
            let scores: BTreeMap<String, i64> = match self.0.get(key) {
                Some(Value::Set(set)) => set.iter().map(|member| (member.clone(), 1)).collect(),
                _ => held!(self, key, Zset),
            };
            for (member, score) in scores {
                *sum.entry(member).or_default() += score;
            }
        }
        let count = sum.len() as i64;
        self.put(KEYS[3], Value::Zset(sum));
        Answer::Number(count)
    }

    fn any(&mut self, words: &[String], key: &'static str, other: &'static str) -> Answer {
        let value = self.0.get(key).cloned();
        match words[0].as_str() {
            "DEL" => Answer::Number(i64::from(self.0.remove(key).is_some())),
            "RENAME" => match value {
                Some(value) => {
                    self.0.remove(key);
                    self.0.insert(other, value);
                    Answer::Done
                }
                None => Answer::Fails,
            },
            _ if key == other => Answer::Fails,
            _ => {
                let copied = value.is_some();
                value.map(|value| self.0.insert(other, value));
                Answer::Number(i64::from(copied))
            }
        }
    }

    /// Carries a command out, and returns its answer.
    fn answer(&mut self, words: &[String]) -> Answer {
        let key = |at: usize| KEYS.into_iter().find(|key| words.get(at).is_some_and(|w| w == key));
        // Where a destination comes first, the sources follow it.
        let stores = words[0].ends_with("STORE");
        let skip = usize::from(stores) + usize::from(words[0].starts_with('Z') && stores);
        let (one, two) = (key(1 + skip).unwrap(), key(2 + skip).unwrap_or("a"));
        match words[0].as_bytes()[0] {
            b'D' | b'C' => self.any(words, one, two),
            b'R' if words[0] == "RENAME" => self.any(words, one, two),
            b'S' => self.sets(words, one, two),
            b'Z' => self.zsets(words, one, two),
            _ => self.lists(words, one, two),
        }
    }
}

/// The command of a step.
fn words([command, key, x, y]: [u8; 4]) -> Vec<String> {
    let (x, y) = (usize::from(x), usize::from(y));
    let (key, other) = (KEYS[usize::from(key) % 4], KEYS[usize::from(key) / 4 % 4]);
    // Now and then hundreds of elements.
    let count = if x % 8 == 0 { 100 + y } else { 1 + y % 5 };
    let elements = || (0..count).map(|at| element((x * 7 + at) % 400));
    let scored = || {
        let pair = |at| [((x + at) as i64 % 50 - 20).to_string(), element((y * 3 + at) % 400)];
        (0..count).flat_map(pair)
    };
    let (low, high) = ((x as i64 - 128).to_string(), (y as i64 - 128).to_string());
    let (side, end) = (["LEFT", "RIGHT"][x % 2], ["LEFT", "RIGHT"][y % 2]);
    let before = ["BEFORE", "AFTER"][x % 2];
    let with = |name: &str, rest: &mut dyn Iterator<Item = String>| {
        [name.to_owned(), key.to_owned()].into_iter().chain(rest).collect()
    };
    let pair =
        |name: &str, a: &str, b: &str| with(name, &mut [a.to_owned(), b.to_owned()].into_iter());
    let one = |name: &str, a: &str| with(name, &mut [a.to_owned()].into_iter());
    let three = |name: &str| vec![name.into(), KEYS[3].into(), key.into(), other.into()];
    match command % 32 {
        0 | 1 => with("RPUSH", &mut elements()),
        2 | 3 => with("LPUSH", &mut elements()),
        4 => one("LPOP", &(1 + x % 40).to_string()),
        5 => one("RPOP", &(1 + x % 40).to_string()),
        6 => {
            let all = [before.to_owned(), element(y), element(x)];
            with("LINSERT", &mut all.into_iter())
        }
        7 => pair("LREM", &(x as i64 % 5 - 2).to_string(), &element(y)),
        8 => pair("LTRIM", &(x as i64 % 20 - 10).to_string(), &(y as i64 - 50).to_string()),
        9 => pair("LSET", &low, &element(y)),
        10 => pair("LRANGE", &low, &high),
        11 => {
            let all = [other.to_owned(), side.to_owned(), end.to_owned()];
            with("LMOVE", &mut all.into_iter())
        }
        12 => one("LPOS", &element(x)),
        13 | 14 => with("SADD", &mut elements()),
        15 => with("SREM", &mut elements()),
        16 => one("SISMEMBER", &element(x)),
        17 => pair("SMOVE", other, &element(x)),
        18 => three(["SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE"][x % 3]),
        19 | 20 => with("ZADD", &mut scored()),
        21 => with("ZREM", &mut elements()),
        22 => one(["ZRANK", "ZSCORE"][x % 2], &element(y)),
        23 => pair("ZRANGEBYSCORE", &low, &high),
        24 => pair("ZREVRANGE", &low, &high),
        25 => pair("ZREMRANGEBYRANK", &(x as i64 % 20 - 10).to_string(), &high),
        26 => pair("ZREMRANGEBYSCORE", &(x as i64 % 20).to_string(), &(y % 30).to_string()),
        27 => pair("ZCOUNT", &low, &high),
        28 => one("ZPOPMAX", &(1 + x % 40).to_string()),
        29 => {
            let all = ["ZUNIONSTORE", KEYS[3], "2", key, other];
            all.into_iter().map(str::to_owned).collect()
        }
        30 => vec![["DEL", "RENAME"][x % 2].into(), key.into(), other.into()]
            .into_iter()
            .take(2 + x % 2)
            .collect(),
        _ => pair("COPY", other, "REPLACE"),
    }
}

fn read(reply: &Reply<'_>, like: &Answer) -> Answer {
    let text = |reply: &Reply<'_>| {
        String::from_utf8_lossy(reply.as_bytes().unwrap_or_default()).into_owned()
    };
    match reply {
        Reply::Integer(number) => Answer::Number(*number),
        Reply::Null => Answer::Text(None),
        Reply::Error(error) if error.starts_with(b"WRONGTYPE") => Answer::WrongType,
        Reply::Error(_) => Answer::Fails,
        Reply::Array(all) if matches!(like, Answer::Members(_)) => {
            Answer::Members(all.iter().map(text).collect())
        }
        Reply::Array(all) => Answer::Texts(all.iter().map(text).collect()),
        other if text(other) == "OK" => Answer::Done,
        other => Answer::Text(Some(text(other))),
    }
}

/// Plays a script on an empty server.
///
/// # Panics
/// If a reply or the final contents differ from the model.
pub(crate) fn play(server: SocketAddr, script: &[u8]) {
    let (mut model, mut commands) = (Model::default(), vec![]);
    for step in script.as_chunks::<4>().0 {
        let words = words(*step);
        let answer = model.answer(&words);
        commands.push((words, answer));
    }
    for (key, value) in &model.0 {
        let (words, answer) = match value {
            Value::List(list) => (["LRANGE", key, "0", "-1"].to_vec(), Answer::Texts(list.clone())),
            Value::Set(set) => (["SMEMBERS", key].to_vec(), Answer::Members(set.clone())),
            Value::Zset(zset) => {
                let all = sorted(zset);
                let shown = all.into_iter().flat_map(|(score, name)| [name, score.to_string()]);
                let words = ["ZRANGE", key, "0", "-1", "WITHSCORES"].to_vec();
                (words, Answer::Texts(shown.collect()))
            }
        };
        commands.push((words.into_iter().map(str::to_owned).collect(), answer));
    }
    let mut client = TcpStream::connect(server).unwrap();
    let (mut sent, mut received) = (vec![], vec![]);
    encode_command(&mut sent, &["FLUSHALL"]);
    for (words, _) in &commands {
        encode_command(&mut sent, words);
    }
    let mut writer = client.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| writer.write_all(&sent).unwrap());
        let mut expected =
            [(vec!["FLUSHALL".to_owned()], Answer::Done)].into_iter().chain(commands);
        let mut next = expected.next();
        while let Some((words, answer)) = &next {
            if let Some((reply, len)) = Reply::decode(&received).expect("a reply") {
                assert_eq!(read(&reply, answer), *answer, "{words:?}");
                received.drain(..len);
                next = expected.next();
                continue;
            }
            let mut chunk = [0; 8 << 10];
            let len = client.read(&mut chunk).unwrap();
            assert!(len > 0, "the server has closed");
            received.extend_from_slice(&chunk[..len]);
        }
    });
}
