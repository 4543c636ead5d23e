//! The options by which CLIENT LIST and CLIENT KILL choose connections. All options must hold.

use crate::call::{Call, Failure, SYNTAX};
use crate::services::clients::Client;
use std::sync::atomic::Ordering;
use wire::resp::parse_integer;

/// An option, with the value that it compares.
#[derive(Clone, Debug)]
enum What {
    Ids(Vec<i64>),
    Address(String),
    Local(String),
    Ip(String),
    Name(String),
    User(String),
    Type(Type),
    /// The client has all of these flags.
    Flags(String),
    LibName(String),
    LibVer(String),
    /// The client follows redirections to another server.
    Redirects,
    Db(u8),
    AgeMin(u64),
    IdleMin(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Normal,
    PubSub,
    /// Masters and replicas, which are never among the clients.
    Other,
}

/// The flags that CLIENT LIST shows, here or in Valkey.
const FLAGS: &str = "AbBcdeiIMNOPrRStTuUxE";

impl What {
    fn holds(&self, client: &Client, now_ms: u64) -> bool {
        let seconds = |since_ms: u64| now_ms.saturating_sub(since_ms) / 1_000;
        match self {
            Self::Ids(ids) => ids.contains(&(client.id as i64)),
            Self::Address(address) => client.address == *address,
            Self::Local(address) => client.local == *address,
            Self::Ip(ip) => client
                .address
                .rsplit_once(':')
                .is_some_and(|(host, _)| host.trim_start_matches('[').trim_end_matches(']') == ip),
            Self::Name(name) => client.labels().name == *name,
            Self::User(user) => client.labels().user == *user,
            Self::Type(kind) => *kind == if client.listens() { Type::PubSub } else { Type::Normal },
            Self::Flags(wanted) => {
                let flags = client.flags();
                wanted.chars().all(|flag| flags.contains(flag))
            }
            Self::LibName(name) => client.labels().lib_name == *name,
            Self::LibVer(version) => client.labels().lib_ver == *version,
            Self::Redirects => client.redirects.load(Ordering::Relaxed),
            Self::Db(db) => client.db.load(Ordering::Relaxed) == *db,
            Self::AgeMin(age) => seconds(client.since_ms) >= *age,
            Self::IdleMin(idle) => seconds(client.last_ms.load(Ordering::Relaxed)) >= *idle,
        }
    }
}

/// The options, each with `true` if it must hold, or `false` if it must not.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter(Vec<(What, bool)>);

fn seconds(value: &[u8], name: &str) -> Result<u64, Failure> {
    let wrong = || Failure::err(&format!("{name} is not an integer or out of range"));
    let number = parse_integer(value).ok_or_else(wrong)?;
    let number = u64::try_from(number).ok().filter(|&number| number > 0);
    number.ok_or_else(|| Failure::err(&format!("{name} should be greater than 0")))
}

fn kind(name: &[u8]) -> Result<Type, Failure> {
    match name.to_ascii_lowercase().as_slice() {
        b"normal" => Ok(Type::Normal),
        b"pubsub" => Ok(Type::PubSub),
        b"master" | b"primary" | b"replica" | b"slave" => Ok(Type::Other),
        _ => Err([b"ERR Unknown client type '", name, b"'"].concat().into()),
    }
}

impl Filter {
    /// Reads the options from argument 2 on. Also returns whether to leave out the client of the
    /// call (SKIPME). By default CLIENT KILL leaves it out.
    pub(super) fn read(call: &Call<'_>, kills: bool) -> Result<(Self, bool), Failure> {
        let (mut filter, mut skip_me, mut at) = (Self::default(), kills, 2);
        while at < call.args.len() {
            let word = call.text(at).to_ascii_lowercase();
            let value = call.args.get(at + 1).ok_or(SYNTAX)?;
            at += 2;
            if word == "skipme" {
                skip_me = match value.to_ascii_lowercase().as_slice() {
                    b"yes" => true,
                    b"no" => false,
                    _ => return Err(SYNTAX.into()),
                };
                continue;
            }
            let (name, holds) = match word.strip_prefix("not-") {
                Some(name) => (name, false),
                None => (word.as_str(), true),
            };
            let what = if name == "id" {
                at -= 1;
                What::Ids(read_ids(call, &mut at, kills)?)
            } else {
                Self::what(call, name, value, holds)?
            };
            filter.add(what, holds);
        }
        Ok((filter, skip_me))
    }

    /// A repeated option replaces the earlier one; repeated ids are added to the earlier ones.
    fn add(&mut self, what: What, holds: bool) {
        let kind = std::mem::discriminant(&what);
        let same = |known: &&mut (What, bool)| {
            std::mem::discriminant(&known.0) == kind && known.1 == holds
        };
        match (self.0.iter_mut().find(same), what) {
            (Some((What::Ids(ids), _)), What::Ids(more)) => ids.extend(more),
            (Some(known), what) => known.0 = what,
            (None, what) => self.0.push((what, holds)),
        }
    }

    fn what(call: &Call<'_>, name: &str, value: &[u8], holds: bool) -> Result<What, Failure> {
        let text = String::from_utf8_lossy(value).into_owned();
        Ok(match name {
            "addr" => What::Address(text),
            "laddr" => What::Local(text),
            "ip" => What::Ip(text),
            "name" => What::Name(text),
            "user" if call.view.settings.user(&text).is_none() => {
                return Err(Failure::err(&format!("No such user '{text}'")));
            }
            "user" => What::User(text),
            "type" => What::Type(kind(value)?),
            "flags" if text.is_empty() || !text.chars().all(|flag| FLAGS.contains(flag)) => {
                let wrong = format!("Unknown flags found in the provided filter: {text}");
                return Err(Failure::err(&wrong));
            }
            "flags" => What::Flags(text),
            "lib-name" => What::LibName(text),
            "lib-ver" => What::LibVer(text),
            "capa" if text != "r" => {
                let wrong = format!("Unknown capa found in the provided filter: {text}");
                return Err(Failure::err(&wrong));
            }
            "capa" => What::Redirects,
            "db" => {
                let last = call.view.settings.databases - 1;
                let wrong = || {
                    Failure::limit(
                        &format!("ERR DB number should be between 0 and {last}"),
                        "databases",
                        last + 1,
                    )
                };
                let db = parse_integer(value).and_then(|db| u8::try_from(db).ok());
                What::Db(db.filter(|&db| u32::from(db) <= last).ok_or_else(wrong)?)
            }
            "maxage" if holds => What::AgeMin(seconds(value, "maxage")?),
            "idle" if holds => What::IdleMin(seconds(value, "idle")?),
            _ => return Err(SYNTAX.into()),
        })
    }

    /// Whether the options choose this client.
    pub(super) fn chooses(&self, client: &Client, now_ms: u64) -> bool {
        self.0.iter().all(|(what, holds)| what.holds(client, now_ms) == *holds)
    }
}

/// Reads the ids from argument `at` on. There must be at least one.
fn read_ids(call: &Call<'_>, at: &mut usize, kills: bool) -> Result<Vec<i64>, Failure> {
    let mut ids = vec![];
    while let Some(id) = call.args.get(*at).and_then(parse_integer) {
        if kills && id < 1 {
            break;
        }
        ids.push(id);
        *at += 1;
    }
    match (ids.is_empty(), kills) {
        (false, _) => Ok(ids),
        (true, true) => Err("ERR client-id should be greater than 0".into()),
        (true, false) => Err("ERR Invalid client ID".into()),
    }
}
