//! `ms` and `md`: writes and removals, and marking as stale.

use super::meta::{Answer, BAD_TOKEN, Flags};
use super::write::{Mode, Outcome, Write, too_large};
use super::{Ask, BAD_CHUNK, BAD_FORMAT, Done, Event, Life, detail, refused, watch};
use crate::value::{FRESH, Text};
use base::Micros;
use store::Change;
use wire::memcached::Data;

pub(super) fn set(ask: &mut Ask<'_>) -> Done {
    let errors = ["CLIENT_ERROR invalid flag", "CLIENT_ERROR duplicate flag"];
    if ask.request.len() < 3 {
        return Err(BAD_FORMAT);
    }
    if ask.request.data == Data::NoLength {
        return Err(BAD_FORMAT);
    }
    let flags = Flags::read(ask, 3, b"bcCEFIkOqsTMNU", errors)?;
    let bytes = flags.key(ask)?;
    let key = ask.key(&bytes)?;
    let now = ask.now;
    let life = |letter| -> Result<Option<Life>, &'static str> {
        Ok(flags.signed(letter)?.map(|seconds| Life::of(seconds, now)))
    };
    let mode = Mode::parse(flags.token(b'M'));
    let mode = mode.ok_or("CLIENT_ERROR invalid mode for ms M token")?;
    let client_flags = flags.unsigned(b'F')?.unwrap_or(0);
    let data = match ask.request.data {
        Data::Block(data) => data,
        Data::TooLarge => return too_large(ask, &key, mode),
        _ => return Err(BAD_CHUNK),
    };
    let cas = flags.unsigned(b'E')?.unwrap_or_else(|| ask.shared.next_cas());
    let write = Write {
        mode,
        new: Text {
            flags: u32::try_from(client_flags).map_err(|_| BAD_TOKEN)?,
            cas,
            data,
            ..FRESH
        },
        life: life(b'T')?.unwrap_or(Life::Forever),
        compare: flags.unsigned(b'C')?,
        invalidate: flags.has(b'I'),
        vivify: life(b'N')?,
        cost: flags.unsigned(b'U')?.map(Micros),
    };
    ask.count(Event::CmdMeta);
    let outcome = write.carry_out(ask, &key, b"ms")?;
    if outcome == Outcome::Stored && flags.has(b'q') {
        return Ok(());
    }
    reply(ask, 3, &flags, outcome, cas)
}

fn reply(ask: &mut Ask<'_>, first: usize, flags: &Flags<'_>, outcome: Outcome, cas: u64) -> Done {
    let order: Vec<&[u8]> = ask.request.iter_from(first).collect();
    let answer = Answer { flags, order: &order, key: ask.word(1)?, now: ask.now };
    ask.out.extend_from_slice(outcome.code());
    answer.plain(ask.out);
    if flags.has(b'c') && outcome == Outcome::Stored {
        ask.print(format_args!(" c{cas}"));
    }
    ask.line("")
}

pub(super) fn delete(ask: &mut Ask<'_>) -> Done {
    const WRONG: &str = "CLIENT_ERROR invalid or duplicate flag";
    ask.word(1)?;
    let flags = Flags::read(ask, 2, b"bCEIkOqTx", [WRONG, WRONG])?;
    let bytes = flags.key(ask)?;
    let key = ask.key(&bytes)?;
    let compare = flags.unsigned(b'C')?;
    let life = flags.signed(b'T')?.map(|seconds| Life::of(seconds, ask.now));
    let (invalidate, empty) = (flags.has(b'I'), flags.has(b'x'));
    let cas = flags.unsigned(b'E')?.unwrap_or_else(|| ask.shared.next_cas());
    ask.count(Event::CmdMeta);
    let outcome = ask.shared.store.update(&key, ask.now, |item| {
        let Some(old) = item.and_then(Text::of) else {
            // A hash is removed like anything else.
            let gone = item.is_some() && compare.is_none() && !invalidate;
            let outcome = if gone { Outcome::Stored } else { Outcome::NotFound };
            return (if gone { Change::Remove } else { Change::Keep }, outcome);
        };
        if compare.is_some_and(|wanted| wanted != old.cas) {
            return (Change::Keep, Outcome::Exists);
        }
        if !invalidate && !empty {
            return (Change::Remove, Outcome::Stored);
        }
        let expires = match life {
            Some(life) => life.expires(),
            None => item.and_then(|item| item.expires),
        };
        let data = if empty { b"" } else { old.data };
        let flags = if empty { 0 } else { old.flags };
        let new = Text { flags, cas, stale: invalidate, token_sent: false, data };
        (new.change(expires), Outcome::Stored)
    });
    let outcome = outcome.map_err(|error| refused(ask, error))?;
    let found = outcome == Outcome::Stored;
    ask.count(if found { Event::DeleteHits } else { Event::DeleteMisses });
    detail::delete(ask, key.bytes);
    if found {
        watch::deleted(ask, &key, b"md");
        if flags.has(b'q') {
            return Ok(());
        }
    }
    reply(ask, 2, &flags, outcome, cas)
}
