//! Permissions of a limited user: a request is allowed if the user may call the command of Redis
//! that does the same.
//!
//! The table of verbs names that command. A verb without one is denied.

use super::request::{Ask, Done};
use super::verbs::{Keys, Verb, VerbNeeds};
use crate::facts::flag;
use crate::facts::table;
use crate::services::acl_log::What;
use crate::services::clock::Clock;
use crate::settings::acl::Denied;
use std::borrow::Cow;
use wire::memcached::decode_key;

const REFUSED: &str = "CLIENT_ERROR user has no permission for this";

/// The numbers of the commands of Redis that a request needs, none if every user may make it. The
/// error is the line of a refusal.
fn needed(ask: &Ask<'_>, verb: &Verb) -> Result<Vec<u16>, &'static str> {
    let needs = verb.needs();
    let mut numbers = match &needs.verb {
        VerbNeeds::Nothing => vec![],
        VerbNeeds::Command(number) => vec![*number],
        VerbNeeds::ByWord(words) => {
            let word = ask.request.get(1).unwrap_or_default();
            let found = words.iter().find(|(known, _)| known.as_bytes() == word);
            vec![found.ok_or(REFUSED)?.1]
        }
    };
    for flag in given(ask, verb) {
        let own = needs.flags.iter().filter(|(letter, _)| *letter == flag.letter);
        numbers.extend(own.map(|(_, number)| *number));
    }
    Ok(numbers)
}

/// The flags in a request that its verb knows. Their first position does not matter, because in
/// `ms` the word before them is a length.
fn given<'a>(
    ask: &Ask<'a>,
    verb: &Verb,
) -> impl Iterator<Item = &'static super::meta_flags::Flag> + use<'a> {
    let flags = verb.flags;
    let words = ask.request.iter_from(2);
    words.filter_map(move |word| flags.iter().find(|flag| word.first() == Some(&flag.letter)))
}

/// The keys in a request.
fn keys<'a>(ask: &Ask<'a>, verb: &Verb) -> Vec<Cow<'a, [u8]>> {
    let (first, count) = match verb.keys {
        Keys::None => return vec![],
        Keys::At(at) => (at, 1),
        Keys::From(first) => (first, usize::MAX),
    };
    // A word that is not valid base64 is refused later.
    let in_base64 = given(ask, verb).any(|flag| flag.letter == b'b');
    let key = |word: &'a [u8]| match decode_key(word).filter(|_| in_base64) {
        Some(key) => Cow::Owned(key),
        None => Cow::Borrowed(word),
    };
    ask.request.iter_from(first).take(count).map(key).collect()
}

/// The verb of a request that may write; `None` for other requests.
fn writing(ask: &Ask<'_>) -> Option<&'static Verb> {
    let verb = Verb::find(ask.request.get(0)?)?;
    let writes = |number| table::get(number).has(flag::WRITE);
    needed(ask, verb).is_ok_and(|numbers| numbers.into_iter().any(writes)).then_some(verb)
}

/// Whether a request may write.
pub(super) fn writes(ask: &Ask<'_>) -> bool {
    writing(ask).is_some()
}

/// Sends invalidations for the keys that a request has changed.
pub(super) fn invalidate(ask: &Ask<'_>) {
    let Some(verb) = writing(ask) else { return };
    for key in keys(ask, verb) {
        let tenant = ask.session.owners.of(&key);
        ask.server.audience.tracking.changed(
            ask.server.clients.mail(),
            ask.session.client.id,
            tenant,
            &key,
        );
    }
}

/// Counts the keys of a request in a timed batch.
#[cold]
pub(super) fn note_keys(ask: &Ask<'_>, worker: usize) {
    let Some(verb) = ask.request.get(0).and_then(Verb::find) else {
        return;
    };
    let Some(mut hottest) = ask.server.stats.workers[worker].hottest_now() else {
        return;
    };
    for key in keys(ask, verb) {
        hottest.note(ask.session.owners.of(&key), &key);
    }
}

/// Checks that the client's user may make this request. Called only for clients with limits.
#[cold]
pub(super) fn permit(ask: &Ask<'_>, verb: &Verb) -> Done {
    let numbers = needed(ask, verb)?;
    let word = verb.name.as_bytes();
    // Each key is checked separately, because most of these commands have a key only as their first
    // argument.
    let keys = keys(ask, verb);
    let calls: Vec<Vec<&[u8]>> = match keys.as_slice() {
        [] => vec![vec![word]],
        keys => keys.iter().map(|key| vec![word, key]).collect(),
    };
    for number in numbers {
        for args in &calls {
            if let Err(denied) = ask.session.permits(number, args) {
                log(ask, verb, &denied, args[args.len() - 1]);
                return Err(REFUSED);
            }
        }
    }
    Ok(())
}

/// Notes a refusal in the ACL log.
fn log(ask: &Ask<'_>, verb: &Verb, denied: &Denied, key: &[u8]) {
    let what = What {
        reason: denied.reason(),
        context: "toplevel",
        object: match denied {
            Denied::Command => verb.name.as_bytes().to_vec(),
            _ => key.to_vec(),
        },
        user: ask.session.user.clone().unwrap_or_default(),
    };
    let (now_ms, max) = (ask.now.micros.0 / 1_000, ask.view.settings.acllog_max_len);
    let unix_ms = Clock::unix_us() / 1_000;
    ask.server.logs.acl.add(what, ask.session.client.line(now_ms), unix_ms, max);
}
