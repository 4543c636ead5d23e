//! `ma`: adds to and takes from numbers.

use super::meta::{Answer, Flags, Shown};
use super::number::{NO_NUMBER, change, moved, number_of};
use super::{Ask, Done, Event, Life, refused};
use crate::value::{FRESH, Text};
use store::{Change, Item};

/// What became of it.
enum Outcome {
    /// The number now, its expiry, its cas.
    Number(u64, Option<u64>, u64),
    NotFound,
    Exists,
}

pub(super) fn arithmetic(ask: &mut Ask<'_>) -> Done {
    const WRONG: &str = "CLIENT_ERROR invalid or duplicate flag";
    ask.word(1)?;
    let flags = Flags::read(ask, 2, b"bcCDEJkMNOqtTv", [WRONG, WRONG])?;
    let bytes = flags.key(ask)?;
    let key = ask.key(&bytes)?;
    let now = ask.now;
    let up = match flags.token(b'M') {
        None | Some([b'I' | b'i' | b'+']) => true,
        Some([b'D' | b'd' | b'-']) => false,
        Some(_) => return Err("CLIENT_ERROR invalid mode for ma M token"),
    };
    let by = flags.unsigned(b'D').map_err(|_| WRONG)?.unwrap_or(1);
    let initial = flags.unsigned(b'J').map_err(|_| WRONG)?.unwrap_or(0);
    let life = |letter| -> Result<Option<Life>, &'static str> {
        Ok(flags.signed(letter)?.map(|seconds| Life::of(seconds, now)))
    };
    let (vivify, touch) = (life(b'N')?, life(b'T')?);
    let compare = flags.unsigned(b'C')?;
    let cas = flags.unsigned(b'E')?.unwrap_or_else(|| ask.shared.next_cas());
    ask.count(Event::CmdMeta);
    let outcome = ask.shared.store.update(&key, now, |item| {
        let Some((item, old)) = item.and_then(|item| Some((item, Text::of(item)?))) else {
            let Some(life) = vivify.filter(|_| item.is_none()) else {
                return (Change::Keep, Ok(Outcome::NotFound));
            };
            let mut digits = itoa::Buffer::new();
            let data = digits.format(initial).as_bytes();
            let expires = life.expires();
            let new = Text { cas, data, ..FRESH }.change(expires);
            return (new, Ok(Outcome::Number(initial, expires, cas)));
        };
        if compare.is_some_and(|wanted| wanted != old.cas) {
            return (Change::Keep, Ok(Outcome::Exists));
        }
        let Some(number) = number_of(&old) else { return (Change::Keep, Err(NO_NUMBER)) };
        let sum = moved(number, by, up);
        let expires = touch.map_or(item.expires, Life::expires);
        let mut moved = *item;
        moved.expires = expires;
        (change(&moved, &old, sum, cas), Ok(Outcome::Number(sum, expires, cas)))
    });
    let outcome = outcome.map_err(|error| refused(ask, error))??;
    ask.count(match (up, matches!(outcome, Outcome::Number(..))) {
        (true, true) => Event::IncrHits,
        (true, false) => Event::IncrMisses,
        (false, true) => Event::DecrHits,
        (false, false) => Event::DecrMisses,
    });
    let order: Vec<&[u8]> = ask.request.iter_from(2).collect();
    let answer = Answer { flags: &flags, order: &order, key: ask.word(1)?, now };
    let (number, expires, cas) = match outcome {
        Outcome::Number(..) if flags.has(b'q') => return Ok(()),
        Outcome::Number(number, expires, cas) => (number, expires, cas),
        Outcome::NotFound | Outcome::Exists => {
            let found = matches!(outcome, Outcome::Exists);
            ask.out.extend_from_slice(if found { b"EX" } else { b"NF" });
            answer.plain(ask.out);
            return ask.line("");
        }
    };
    let mut digits = itoa::Buffer::new();
    let data = digits.format(number).as_bytes();
    let item = Item::outside(data, crate::value::STRING, expires);
    let shown = Shown { text: Text { cas, data, ..FRESH }, item: &item, expires, idle_s: 0 };
    if flags.has(b'v') {
        ask.print(format_args!("VA {}", data.len()));
    } else {
        ask.out.extend_from_slice(b"HD");
    }
    answer.full(ask.out, &shown);
    ask.line("")?;
    if flags.has(b'v') {
        ask.out.extend_from_slice(data);
        ask.line("")?;
    }
    Ok(())
}
