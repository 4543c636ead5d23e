//! `ma`: adds to and subtracts from numbers.

use super::meta::Answer;
use super::meta_flags::{Flags, MA};
use super::number::{NO_NUMBER, moved, number_of, numbered};
use super::request::{Ask, BAD_FORMAT, Done, Expiry, refused};
use super::write::kept;
use crate::facts::event_classes;
use crate::facts::memcached_events::Event;
use crate::values::text_value::{FRESH, Text};
use store::Change;

/// The outcome of a change.
enum Outcome {
    /// The new number, the expiry before the request, the cas, and whether the request created the
    /// item.
    Number(u64, Option<u64>, u64, bool),
    NotFound,
    Exists,
}

pub(super) fn arithmetic(ask: &mut Ask<'_>) -> Done {
    const WRONG: &str = "CLIENT_ERROR invalid or duplicate flag";
    let flags = Flags::read(ask, 2, MA)
        .map_err(|error| if error == BAD_FORMAT { BAD_FORMAT } else { WRONG })?;
    let bytes = flags.key(ask)?;
    let key = ask.key(&bytes)?;
    let now = ask.now;
    let up = match flags.token(b'M') {
        None | Some([b'I' | b'i' | b'+', ..]) => true,
        Some([b'D' | b'd' | b'-', ..]) => false,
        Some(_) => return Err("CLIENT_ERROR invalid mode for ma M token"),
    };
    let by = flags.unsigned(b'D').unwrap_or(1);
    let initial = flags.unsigned(b'J').unwrap_or(0);
    let life = |letter| flags.seconds(letter).map(|seconds| Expiry::of(seconds, now).ends());
    let (vivify, touch) = (life(b'N'), life(b'T'));
    let compare = flags.unsigned(b'C').filter(|&wanted| wanted > 0);
    let cas = flags.unsigned(b'E').unwrap_or_else(|| ask.next_cas());
    ask.count(Event::CmdMeta);
    let outcome = ask.server.store.update(&key, now, |item| {
        let Some((item, old)) = item.and_then(|item| Some((item, Text::of(item)?))) else {
            let Some(life) = vivify.filter(|_| item.is_none()) else {
                return (Change::Keep, Ok(Outcome::NotFound));
            };
            let mut digits = itoa::Buffer::new();
            let data = digits.format(initial).as_bytes();
            let new = kept(&Text { cas, data, ..FRESH }, touch.unwrap_or(life), now);
            return (new, Ok(Outcome::Number(initial, None, cas, true)));
        };
        if compare.is_some_and(|wanted| wanted != old.cas) {
            return (Change::Keep, Ok(Outcome::Exists));
        }
        let Some(number) = number_of(&old) else {
            return (Change::Keep, Err(NO_NUMBER));
        };
        let sum = moved(number, by, up);
        let mut digits = itoa::Buffer::new();
        let new = numbered(item, &old, digits.format(sum), cas);
        let change = kept(&new, touch.unwrap_or(item.expires), now);
        (change, Ok(Outcome::Number(sum, item.expires, cas, false)))
    });
    let outcome = outcome.map_err(|error| refused(ask, error))??;
    match (&outcome, up) {
        (Outcome::Number(_, _, _, false), true) => ask.count(Event::IncrHits),
        (Outcome::Number(_, _, _, false), false) => ask.count(Event::DecrHits),
        (Outcome::NotFound, true) => ask.count(Event::IncrMisses),
        (Outcome::NotFound, false) => ask.count(Event::DecrMisses),
        (Outcome::Number(..) | Outcome::Exists, _) => {}
    }
    if matches!(outcome, Outcome::Number(..)) {
        ask.tell(event_classes::STRING, "incrby", &key);
    }
    let answer = Answer { flags: &flags, key: ask.word(1)?, now };
    let (number, mut expires, cas, made) = match outcome {
        Outcome::Number(..) if flags.has(b'q') => return Ok(()),
        Outcome::Number(number, expires, cas, made) => (number, expires, cas, made),
        Outcome::NotFound | Outcome::Exists => {
            let found = matches!(outcome, Outcome::Exists);
            ask.out.extend_from_slice(if found { b"EX" } else { b"NF" });
            answer.plain(ask.out);
            return ask.line("");
        }
    };
    let mut digits = itoa::Buffer::new();
    let data = digits.format(number).as_bytes();
    if flags.has(b'v') {
        ask.print(format_args!("VA {}", data.len()));
    } else {
        ask.out.extend_from_slice(b"HD");
    }
    for word in flags.order() {
        match word.first() {
            // In the order of the flags: t sees the expiry that an earlier T or N has set.
            Some(b'T') => expires = touch.flatten(),
            Some(b'N') if made => expires = vivify.flatten(),
            Some(b'c') => ask.print(format_args!(" c{cas}")),
            // Writing to a Vec does not fail.
            Some(b't') => answer.life(ask.out, expires).unwrap_or_default(),
            _ => answer.of_request(ask.out, word),
        }
    }
    ask.line("")?;
    if flags.has(b'v') {
        ask.out.extend_from_slice(data);
        ask.line("")?;
    }
    Ok(())
}
