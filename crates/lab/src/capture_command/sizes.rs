//! Asks a Redis for the sizes of keys that were only read.
//!
//! It asks for few keys, drawn by hash, in small batches with pauses: at most a thousand a second.
//! STRLEN gives the length of a string; MEMORY USAGE gives the bytes that any other value occupies.
//! Both are reads of keys that clients have just read. Where the server knows CLIENT NO-TOUCH, they
//! leave no trace.

use base::printable;
use load::Link;
use std::time::{Duration, Instant};
use trace::capture::{KeyNumber, Recorder};
use wire::resp::Reply;

/// Keys in a batch, and the pause behind it: at most a thousand keys a second.
const BATCH: usize = 20;
const PAUSE: Duration = Duration::from_millis(20);

/// Asking may take the time of all pauses, this many times over.
const SLOW: u32 = 4;
/// Time that asking may take in addition.
const LEAST: Duration = Duration::from_secs(5);

/// Number of keys with a known size now, and the reason if asking stopped early.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) keys: u64,
    pub(super) refused: Option<String>,
}

/// An answer to STRLEN.
enum Length {
    Is(u64),
    /// The key does not exist any more.
    Gone,
    /// The value is not a string.
    Other,
    Refused(String),
}

/// Asks for the sizes of up to `most` keys.
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
            asked.refused =
                Some(format!("the server answered for only {keys} keys in {seconds} s"));
            break;
        }
        // Keys of another database need a SELECT before them.
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

/// Asks for the lengths of strings. Returns the keys whose values are not strings.
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

/// Asks for the bytes that values occupy.
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
