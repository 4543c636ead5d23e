//! Asks a Redis for the sizes of keys that were only read.
//!
//! Few, drawn by hash, in small batches with pauses: a thousand a second at most. STRLEN tells a
//! string's length; of anything else MEMORY USAGE tells what it occupies. Both are reads of keys
//! that clients have just read; where the server knows CLIENT NO-TOUCH they leave no trace.

use base::printable;
use load::Link;
use std::time::{Duration, Instant};
use trace::capture::{KeyNumber, Recorder};
use wire::resp::Reply;

/// Keys asked for at once, and the pause behind them: a thousand a second.
const BATCH: usize = 20;
const PAUSE: Duration = Duration::from_millis(20);

/// Answers that take longer than so many times the pauses are not worth more waiting.
const SLOW: u32 = 4;
/// And at least so long is waited.
const LEAST: Duration = Duration::from_secs(5);

/// What became of asking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) keys: u64,
    pub(super) refused: Option<String>,
}

/// An answer to STRLEN.
enum Length {
    Is(u64),
    /// No such key by now.
    Gone,
    /// It is no string.
    Other,
    Refused(String),
}

/// Asks for up to `most` keys.
pub(super) fn ask(link: &mut Link, recorder: &mut Recorder, most: usize) -> anyhow::Result<Asked> {
    let mut keys = recorder.unsized_keys(most);
    keys.sort_by_key(|(_, db, _)| *db);
    let mut asked = Asked::default();
    if keys.is_empty() {
        return Ok(asked);
    }
    link.put(&["CLIENT", "NO-TOUCH", "ON"]);
    link.flush()?;
    link.reply(|_| ())?;
    let mut selected = 0;
    let batches = u32::try_from(keys.len().div_ceil(BATCH)).unwrap_or(u32::MAX);
    let (began, most) = (Instant::now(), LEAST + PAUSE.saturating_mul(SLOW * batches.min(1 << 20)));
    for batch in keys.chunks(BATCH) {
        if began.elapsed() > most {
            let (keys, seconds) = (asked.keys, most.as_secs());
            asked.refused = Some(format!("it answered for {keys} keys in {seconds} s"));
            break;
        }
        // The keys of a batch of several databases would need a SELECT between them.
        for part in batch.chunk_by(|a, b| a.1 == b.1) {
            if part[0].1 != selected {
                selected = part[0].1;
                link.put(&["SELECT", &selected.to_string()]);
                link.flush()?;
                link.reply(|_| ())?;
            }
            let others = lengths(link, recorder, part, &mut asked)?;
            if asked.refused.is_some() {
                return Ok(asked);
            }
            occupied(link, recorder, &others, &mut asked)?;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(asked)
}

type KeyText<'a> = (KeyNumber, &'a [u8]);

/// Lengths of strings; those that are none are handed back.
fn lengths<'a>(
    link: &mut Link,
    recorder: &mut Recorder,
    keys: &'a [(KeyNumber, u32, Vec<u8>)],
    asked: &mut Asked,
) -> anyhow::Result<Vec<KeyText<'a>>> {
    for (_, _, text) in keys {
        link.put(&[&b"STRLEN"[..], text]);
    }
    link.flush()?;
    let mut others = vec![];
    for (number, _, text) in keys {
        let length = link.reply(|reply| match reply {
            Reply::Integer(0) => Length::Gone,
            Reply::Integer(length) => Length::Is(length.unsigned_abs()),
            Reply::Error(text) if text.starts_with(b"WRONGTYPE") => Length::Other,
            Reply::Error(text) => {
                Length::Refused(printable(&String::from_utf8_lossy(text)).into_owned())
            }
            _ => Length::Gone,
        })?;
        match length {
            Length::Is(size) => {
                recorder.set_size(*number, size);
                asked.keys += 1;
            }
            Length::Gone => {}
            Length::Other => others.push((*number, text.as_slice())),
            Length::Refused(why) => asked.refused = Some(why),
        }
    }
    Ok(others)
}

/// What the values of keys occupy.
fn occupied(
    link: &mut Link,
    recorder: &mut Recorder,
    keys: &[KeyText<'_>],
    asked: &mut Asked,
) -> anyhow::Result<()> {
    for (_, text) in keys {
        link.put(&[&b"MEMORY"[..], b"USAGE", text]);
    }
    link.flush()?;
    for (number, _) in keys {
        let size = link.reply(|reply| match reply {
            Reply::Integer(size) => Some(size.unsigned_abs()),
            _ => None,
        })?;
        if let Some(size) = size {
            recorder.set_size(*number, size);
            asked.keys += 1;
        }
    }
    Ok(())
}
