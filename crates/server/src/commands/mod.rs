//! Commands: one table of all, one file for each family.
//!
//! A family is a constant list of [`Command`]s and their handlers; [`FAMILIES`] names the lists. A
//! handler reads its arguments from a [`Call`] and writes exactly one reply, or returns a
//! [`Failure`], which becomes the error reply. Commands are found by a hash of their name in any
//! case, without allocation.
#![allow(
    clippy::unnecessary_wraps,
    reason = "handlers have one signature, also those that never fail"
)]

mod acl;
mod admin;
mod bitfield;
mod bits;
mod blocking;
mod budget;
mod client;
mod client_filter;
mod cluster;
mod collection_steps;
mod command;
mod config;
mod connection;
mod counter;
mod expiry_args;
mod function;
mod hash;
mod hash_getex;
mod hash_life;
mod hash_random;
mod hash_steps;
pub(crate) mod hotkeys;
mod info;
mod introspection;
mod key;
pub(crate) mod larder;
mod latency;
mod lcs;
mod list;
mod list_move;
mod list_search;
pub(crate) mod monitor;
mod pubsub;
mod random_member;
mod relocate;
mod scan;
mod scan_options;
mod script;
mod set;
mod set_algebra;
pub(crate) mod slowlog;
mod sort;
mod string;
pub(crate) mod tracking;
mod transaction;
pub(crate) mod unsupported;
mod zset;
mod zset_algebra;
mod zset_pop;
mod zset_range;

pub(crate) use blocking::run_again;
pub(crate) use cluster::redirect;
use command::{ALL_KEYS, Handler, KEY_VALUES, NO_KEY, ONE_KEY};
pub(crate) use command::{Access, Channels, Command, Databases, Keys, access, flag};
pub(crate) use info::REDIS_VERSION;
pub(crate) use unsupported::is_absent;

use crate::execute::http_guard;
use crate::server::{Server, View};
use crate::services::clients::Client;
use crate::services::exclusive::BUSY;
use crate::services::stats;
use crate::session::Session;
use crate::settings::acl::Denied;
use crate::settings::cluster::Elsewhere;
use std::borrow::Cow;
use std::fmt::Display;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;
use store::{Key, Now};
use wire::resp::{self, Encoder, parse_integer};

/// The families, in the order of COMMAND's reply.
const FAMILIES: &[&[Command]] = &[
    string::COMMANDS,
    lcs::COMMANDS,
    counter::COMMANDS,
    bits::COMMANDS,
    bitfield::COMMANDS,
    hash::COMMANDS,
    hash_life::COMMANDS,
    hash_getex::COMMANDS,
    list::COMMANDS,
    list_search::COMMANDS,
    list_move::COMMANDS,
    set::COMMANDS,
    set_algebra::COMMANDS,
    zset::COMMANDS,
    zset_range::COMMANDS,
    zset_pop::COMMANDS,
    zset_algebra::COMMANDS,
    blocking::COMMANDS,
    sort::COMMANDS,
    key::COMMANDS,
    relocate::COMMANDS,
    scan::COMMANDS,
    connection::COMMANDS,
    client::COMMANDS,
    acl::COMMANDS,
    transaction::COMMANDS,
    script::COMMANDS,
    function::COMMANDS,
    pubsub::COMMANDS,
    introspection::COMMANDS,
    latency::COMMANDS,
    config::COMMANDS,
    info::COMMANDS,
    admin::COMMANDS,
    cluster::COMMANDS,
    monitor::COMMANDS,
    slowlog::COMMANDS,
    hotkeys::COMMANDS,
    larder::COMMANDS,
];

/// The error reply of a command that fails, with its code in front.
#[derive(Debug)]
pub(crate) struct Failure(Cow<'static, [u8]>);

impl Failure {
    /// An error with the code `ERR`.
    pub(crate) fn err(text: &str) -> Self {
        Self(format!("ERR {text}").into_bytes().into())
    }

    /// An error in Redis' words, with its code in front, and the setting that causes it behind.
    pub(crate) fn limit(text: &str, setting: &str, value: impl Display) -> Self {
        Self(format!("{text} ({setting} {value})").into_bytes().into())
    }

    /// The text of the error, with its code in front.
    pub(crate) fn text(&self) -> &[u8] {
        &self.0
    }
}

impl From<&'static str> for Failure {
    fn from(text: &'static str) -> Self {
        Self(text.as_bytes().into())
    }
}

impl From<Vec<u8>> for Failure {
    fn from(text: Vec<u8>) -> Self {
        Self(text.into())
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Full => OUT_OF_MEMORY.into(),
            store::Error::TooLarge { .. } => Self(format!("OOM {error}").into_bytes().into()),
            store::Error::TooLong { .. } => Self::err(&error.to_string()),
        }
    }
}

/// The result of a handler: it has written its one reply, or it failed.
pub(crate) type Done = Result<(), Failure>;

pub(crate) const SYNTAX: &str = "ERR syntax error";
pub(crate) const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
pub(crate) const NO_AUTH: &str = "NOAUTH Authentication required.";
/// The reply exceeds the memory that its client may use: the client is disconnected.
pub(crate) const OVERFLOW: &str = "ERR the reply is above client-output-buffer-limit";
pub(crate) const OUT_OF_MEMORY: &str = "OOM command not allowed when used memory > 'maxmemory'.";

/// A command that is running.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The arguments; the command's name is at 0.
    pub(crate) args: resp::Command<'a>,
    pub(crate) out: Encoder<'a>,
    pub(crate) session: &'a mut Session,
    pub(crate) server: &'a Server,
    pub(crate) view: &'a View,
    pub(crate) now: Now,
}

impl<'a> Call<'a> {
    /// The argument at `at`. The arity guarantees that it exists.
    #[inline]
    pub(crate) fn arg(&self, at: usize) -> &'a [u8] {
        self.args.get(at).unwrap_or_default()
    }

    /// The argument at `at` as text; bytes that are no UTF-8 become the replacement character.
    pub(crate) fn text(&self, at: usize) -> Cow<'a, str> {
        String::from_utf8_lossy(self.arg(at))
    }

    /// The argument at `at` as an integer.
    pub(crate) fn integer(&self, at: usize) -> Result<i64, Failure> {
        parse_integer(self.arg(at)).ok_or_else(|| NOT_AN_INTEGER.into())
    }

    /// The argument at `at` as the number of a database.
    pub(crate) fn database(&self, at: usize) -> Result<u8, Failure> {
        let (db, count) = (self.integer(at)?, self.view.settings.databases);
        if (0..i64::from(count)).contains(&db) {
            return Ok(db as u8);
        }
        Err(Failure::limit("ERR DB index is out of range", "databases", count))
    }

    /// Whether the argument at `at` is this word, in any case.
    #[inline]
    pub(crate) fn is(&self, at: usize, word: &str) -> bool {
        self.args.get(at).is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// The key with these bytes in the client's database, with the tenant that owns it.
    #[allow(clippy::inline_always, reason = "of a GET the call alone would be a fiftieth")]
    #[inline(always)]
    pub(crate) fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        let tenant = self.session.owners.of(bytes);
        let key = self.server.store.key(tenant, self.session.db, bytes);
        // The client of a script does not fetch what the script misses, so no miss is timed.
        Key { is_untimed: self.session.scripted, ..key }
    }

    /// The key at argument `at`.
    #[inline]
    pub(crate) fn key_at(&self, at: usize) -> Key<'a> {
        self.key(self.arg(at))
    }

    /// Lets `f` write a part of the reply while it reads the call, which has no reply buffer
    /// meanwhile.
    pub(crate) fn write<R>(
        &mut self,
        f: impl FnOnce(&Self, &mut Encoder<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let mut buffer = self.out.take();
        let result = f(self, &mut self.out.like(&mut buffer));
        self.out.put_back(buffer);
        result
    }

    /// Replies OK.
    #[inline]
    pub(crate) fn ok(&mut self) -> Done {
        self.out.raw(b"+OK\r\n");
        Ok(())
    }

    /// Replies with the lines of a HELP subcommand.
    pub(crate) fn help(&mut self, lines: &[&str]) -> Done {
        self.out.array(lines.len());
        for line in lines {
            self.out.simple(line);
        }
        Ok(())
    }
}

/// The handler of a container. It would run only for a container without a subcommand, which the
/// arity forbids.
fn only_subcommands(_: &mut Call<'_>) -> Done {
    Err(SYNTAX.into())
}

/// Every command and subcommand by number, and a table to find them by name.
struct Table {
    /// Each command with the numbers of its subcommands.
    entries: Vec<(&'static Command, std::ops::Range<u16>)>,
    /// The number of entries that are commands; the subcommands follow them.
    commands: usize,
    /// A hash table with open addressing: 0 is vacant, any other value is a number plus one.
    slots: Vec<u16>,
}

/// The number of slots: several times the number of commands, so that one probe finds most.
const SLOTS: usize = 1024;

/// The slot at which the search for a name begins.
#[inline]
fn slot(name: &[u8]) -> usize {
    let mut word = [0; 8];
    let len = name.len().min(8);
    word[..len].copy_from_slice(&name[..len]);
    // This makes letters lower case. Its effect on other bytes is harmless, because the found name
    // is compared.
    let folded = u64::from_le_bytes(word) | 0x2020_2020_2020_2020;
    let mixed = (folded ^ name.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 54) as usize
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let all: Vec<&'static Command> = FAMILIES.iter().flat_map(|family| family.iter()).collect();
    let commands = all.len();
    let mut entries: Vec<(&'static Command, std::ops::Range<u16>)> = vec![];
    let mut next = commands as u16;
    for command in &all {
        let end = next + command.subcommands.len() as u16;
        entries.push((command, next..end));
        next = end;
    }
    let subcommands = all.iter().flat_map(|command| command.subcommands);
    entries.extend(subcommands.map(|command| (command, 0..0)));
    let mut slots = vec![0; SLOTS];
    for (number, command) in all.iter().enumerate() {
        let mut at = slot(command.name.as_bytes());
        while slots[at] != 0 {
            at = (at + 1) % SLOTS;
        }
        slots[at] = number as u16 + 1;
    }
    Table { entries, commands, slots }
});

/// The number of the command with this name, in any case.
#[allow(clippy::inline_always, reason = "of a GET the call alone would be a fiftieth")]
#[inline(always)]
pub(crate) fn find(name: &[u8]) -> Option<u16> {
    let table = &*TABLE;
    let mut at = slot(name);
    loop {
        let number = table.slots[at].checked_sub(1)?;
        if table.entries[number as usize].0.name.as_bytes().eq_ignore_ascii_case(name) {
            return Some(number);
        }
        at = (at + 1) % SLOTS;
    }
}

/// The number of a command's subcommand with this name.
pub(crate) fn find_subcommand(number: u16, name: &[u8]) -> Option<u16> {
    let (command, range) = &TABLE.entries[number as usize];
    let prefix = command.name.len() + 1;
    range.clone().find(|&at| {
        TABLE.entries[at as usize].0.name.as_bytes()[prefix..].eq_ignore_ascii_case(name)
    })
}

/// The numbers of the commands that a rule for `command` or `command|subcommand` (in lower case)
/// means.
pub(crate) fn numbers(name: &str) -> Option<impl Iterator<Item = u16> + use<>> {
    let (parent, rest) = name.split_once('|').unwrap_or((name, ""));
    let number = find(parent.as_bytes())?;
    if rest.is_empty() {
        let found = (parent == name).then(|| TABLE.entries[number as usize].1.clone())?;
        return Some(std::iter::once(number).chain(found));
    }
    let number = find_subcommand(number, rest.as_bytes())?;
    Some(std::iter::once(number).chain(0..0))
}

/// The command with this number.
pub(crate) fn get(number: u16) -> &'static Command {
    TABLE.entries[number as usize].0
}

/// The name of the command with this number; `NULL` before a client's first command.
pub(crate) fn name_of(number: u16) -> &'static str {
    TABLE.entries.get(number as usize).map_or("NULL", |entry| entry.0.name)
}

/// The number of commands and subcommands.
pub(crate) fn count() -> usize {
    TABLE.entries.len()
}

/// Every command, without the subcommands.
pub(crate) fn all() -> impl ExactSizeIterator<Item = &'static Command> {
    TABLE.entries[..TABLE.commands].iter().map(|entry| entry.0)
}

/// Whether a command may run scripts, which may take long: EVAL and related commands, FCALL, EXEC.
#[inline]
pub(crate) fn may_run_scripts(command: &resp::Command<'_>) -> bool {
    let name = command.get(0).unwrap_or_default();
    let [first, second, ..] = *name else { return false };
    match [first | 0x20, second | 0x20] {
        [b'e', b'v'] | [b'f', b'c'] => true,
        [b'e', b'x'] => name.get(2).is_some_and(|third| third | 0x20 == b'e'),
        _ => false,
    }
}

/// Runs one command and writes its reply. Returns the command's number, if the command exists.
#[inline]
pub(crate) fn execute(call: &mut Call<'_>, counters: &stats::Worker) -> Option<u16> {
    let mark = call.out.mark();
    match resolve(call) {
        Ok(number) => {
            let command = get(number);
            let counted = &counters.commands[number as usize];
            call.session.client.command.store(number, Ordering::Relaxed);
            let result = if call.session.transaction.is_some() && !command.has(flag::UNQUEUED) {
                // EXEC times it when it runs.
                call.session.timed_alone += 1;
                transaction::queue(call, command)
            } else {
                counted.calls.add(1);
                if command.is_brief() { (command.run)(call) } else { run_watched(call, command) }
            };
            if let Err(failure) = result {
                counted.failed.add(1);
                fail(call, mark, &failure);
            }
            Some(number)
        }
        Err(Refused::Unknown | Refused::Arity(_)) if http_guard::is_http(call) => {
            http_guard::close(call);
            None
        }
        Err(refused) => refuse(call, counters, refused),
    }
}

/// Replies to a refused command. Returns its number, if the command exists.
#[cold]
fn refuse(call: &mut Call<'_>, counters: &stats::Worker, refused: Refused) -> Option<u16> {
    let (mark, number, mut failure) = (call.out.mark(), refused.number(), refused.tell(call));
    if let Some(number) = number {
        counters.commands[number as usize].rejected.add(1);
        if get(number).has(flag::ABORTS) {
            failure = transaction::abort(call, failure);
        }
    }
    if let Some(transaction) = &mut call.session.transaction {
        transaction.broken = true;
    }
    fail(call, mark, &failure);
    number
}

/// Refuses a command while a script holds the gate, and returns true. It returns false for a
/// command with the flag `ALLOW_BUSY`, and for one that is refused anyway.
#[cold]
pub(crate) fn refuse_busy(call: &mut Call<'_>, counters: &stats::Worker) -> bool {
    let Ok(number) = resolve(call) else { return false };
    let refuses = !get(number).has(flag::ALLOW_BUSY);
    if refuses {
        refuse(call, counters, Refused::Busy(number));
    }
    refuses
}

/// Runs a command that may take long.
#[inline(never)]
fn run_watched(call: &mut Call<'_>, command: &Command) -> Done {
    let (result, micros) = run_timed(call, command);
    call.session.timed_alone_us += micros;
    call.session.timed_alone += 1;
    result
}

/// Runs a command, and adds it to the slow log if it took long. A command that blocks is logged
/// when its wait ends, and for EXEC the queued commands are logged. Returns its duration in
/// microseconds.
pub(crate) fn run_timed(call: &mut Call<'_>, command: &Command) -> (Done, u64) {
    let before = call.server.clock.micros();
    let result = (command.run)(call);
    let micros = call.server.clock.micros().0 - before.0;
    if let Some(wait) = &mut call.session.blocked {
        wait.took_us += micros;
    } else if call.view.settings.is_slow(micros) && !command.has(flag::ABORTS) {
        let args: Vec<&[u8]> = call.args.iter_from(0).collect();
        note_slow(call.server, call.view, &call.session.client, &args, micros, 1);
    }
    (result, micros)
}

/// Adds a command to the slow log if it took long, alone or as the largest of `together` commands.
pub(crate) fn note_slow(
    server: &Server,
    view: &View,
    client: &Client,
    args: &[&[u8]],
    micros: u64,
    together: usize,
) {
    let settings = &view.settings;
    let name = args.first().copied().unwrap_or_default();
    if settings.is_slow(micros) && !monitor::is_secret(name) {
        let more = format!("... (timed together with {} others)", together.max(1) - 1);
        let mut args = args.to_vec();
        if together > 1 {
            args.push(more.as_bytes());
        }
        server.slowlog.add(client, args.into_iter(), micros, settings.slowlog_max_len);
    }
}

/// Logs a command with many bytes, or with many bytes in its reply.
#[cold]
pub(crate) fn note_large(call: &Call<'_>, request: usize, reply: usize) {
    let (settings, server) = (&call.view.settings, call.server);
    if monitor::is_secret(call.arg(0)) {
        return;
    }
    for (log, bytes, from, max) in [
        (&server.large_requests, request, settings.large_request, settings.large_request_max_len),
        (&server.large_replies, reply, settings.large_reply, settings.large_reply_max_len),
    ] {
        if from >= 0 && bytes as u64 >= from as u64 {
            let args: Vec<&[u8]> = call.args.iter_from(0).collect();
            log.add(&call.session.client, args.into_iter(), bytes as u64, max);
        }
    }
}

/// Counts the keys of a command in a timed batch.
#[cold]
pub(crate) fn note_keys(call: &Call<'_>, counters: &stats::Worker, number: u16) {
    let places = get(number).key_places(call.args.len(), |at| call.args.get(at));
    if places.len() > 0
        && let Some(mut hottest) = counters.hottest_now()
    {
        for at in places {
            let key = call.arg(at);
            hottest.note(call.session.owners.of(key), key);
        }
    }
}

/// Replaces the part of a reply written so far by an error.
#[cold]
fn fail(call: &mut Call<'_>, mark: usize, failure: &Failure) {
    call.server.stats.error(failure.text());
    if failure.text() == OVERFLOW.as_bytes() {
        call.session.overflow();
    }
    call.out.rewind(mark);
    call.out.error(failure.text());
}

/// The reason why a command does not run, with the command's number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refused {
    Unknown,
    /// The command has no such subcommand.
    Subcommand(u16),
    Arity(u16),
    /// The client has not authenticated.
    Stranger(u16),
    Denied(u16, Denied),
    Listens(u16),
    InMulti(u16),
    /// A script holds the gate.
    Busy(u16),
    /// Another node of the cluster owns its keys.
    Elsewhere(u16, Elsewhere),
}

impl Refused {
    pub(crate) const fn number(self) -> Option<u16> {
        match self {
            Self::Unknown => None,
            Self::Subcommand(number)
            | Self::Arity(number)
            | Self::Stranger(number)
            | Self::Denied(number, _)
            | Self::Listens(number)
            | Self::InMulti(number)
            | Self::Busy(number)
            | Self::Elsewhere(number, _) => Some(number),
        }
    }

    /// The error text for the client. An ACL refusal is also added to the ACL log.
    #[cold]
    pub(crate) fn tell(self, call: &Call<'_>) -> Failure {
        let name = self.number().map_or("", name_of);
        match self {
            Self::Unknown => unknown(call),
            Self::Subcommand(number) => unknown_subcommand(call, get(number)),
            Self::Arity(_) => wrong_number(name),
            Self::Stranger(_) => NO_AUTH.into(),
            Self::Denied(number, denied) => acl::refuse(call, number, denied),
            Self::Listens(_) => Failure::err(&format!(
                "Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / \
                 RESET are allowed in this context"
            )),
            Self::InMulti(_) => "ERR Command not allowed inside a transaction".into(),
            Self::Busy(_) => BUSY.into(),
            Self::Elsewhere(_, elsewhere) => {
                cluster::redirect(call.view, &call.session.client, elsewhere)
            }
        }
    }
}

/// Finds the command of the call and checks that it may run.
#[allow(clippy::inline_always, reason = "of a GET the call alone would be a twentieth")]
#[inline(always)]
pub(crate) fn resolve(call: &Call<'_>) -> Result<u16, Refused> {
    let Some(mut number) = find(call.arg(0)) else { return Err(Refused::Unknown) };
    let mut command = get(number);
    if !command.subcommands.is_empty() && call.args.len() > 1 {
        match find_subcommand(number, call.arg(1)) {
            Some(found) => number = found,
            None => return Err(Refused::Subcommand(number)),
        }
        command = get(number);
    }
    if !command.accepts(call.args.len()) {
        return Err(Refused::Arity(number));
    }
    if call.session.limited && !command.has(flag::NO_AUTH) {
        acl::permit(call, number)?;
    }
    if call.session.only_listens() && !command.has(flag::LISTENING) {
        return Err(Refused::Listens(number));
    }
    if call.session.transaction.is_some() && command.has(flag::NO_MULTI) {
        return Err(Refused::InMulti(number));
    }
    if let Some(nodes) = &call.view.cluster {
        cluster::permit(nodes, call, number)?;
    }
    Ok(number)
}

/// Whether a command waits for the end of a pause. A command that is refused anyway does not wait.
pub(crate) fn waits(call: &Call<'_>) -> bool {
    let Ok(number) = resolve(call) else { return false };
    let command = get(number);
    let mut flags = paused_flags(call, command);
    if command.has(flag::ABORTS)
        && let Some(transaction) = &call.session.transaction
    {
        flags |= transaction.flags;
    }
    flags & flag::UNPAUSED == 0 && call.server.pause.holds(flags & flag::PAUSED != 0)
}

/// The flags of a command from the view of a pause: a script declared as read-only does not count
/// as a write.
fn paused_flags(call: &Call<'_>, command: &Command) -> u32 {
    let is_paused = command.has(flag::CARRIES) && command.has(flag::MAY_REPLICATE);
    if is_paused && call.server.scripts.writes_nothing(call, command.name) {
        return command.flags & !flag::PAUSED;
    }
    command.flags
}

/// Whether memory is too full for a command of `len` bytes: nothing can be evicted to make room, or
/// the command is larger than the memory limit.
pub(crate) fn is_full(call: &Call<'_>, len: usize) -> bool {
    let ((used, limit), reserve) = (call.server.memory(), call.server.store.reserve());
    let held = if call.server.nothing_leaves(call.view) { used.0 + reserve.0 } else { 0 };
    limit.0 > 0 && held + len as u64 > limit.0
}

pub(crate) fn wrong_number(name: &str) -> Failure {
    Failure::err(&format!("wrong number of arguments for '{name}' command"))
}

/// The error for a subcommand with an unexpected number of arguments.
fn wrong_arguments(call: &Call<'_>) -> Failure {
    let (name, parent) = (call.text(1), call.text(0).to_ascii_uppercase());
    Failure::err(&format!(
        "unknown subcommand or wrong number of arguments for '{name}'. Try {parent} HELP."
    ))
}

/// The number of bytes of names and arguments that an error repeats.
const ECHO_MAX: usize = 128;

#[cold]
fn unknown(call: &Call<'_>) -> Failure {
    if let Some(why) = unsupported::why(call.arg(0)) {
        let name = call.text(0);
        return Failure::err(&format!("unknown command '{name}', which is not supported: {why}"));
    }
    let clip = |bytes: &'_ [u8], max: usize| bytes[..bytes.len().min(max)].to_vec();
    let mut shown = vec![];
    for arg in call.args.iter_from(1) {
        if shown.len() >= ECHO_MAX {
            break;
        }
        shown.push(b'\'');
        let room = ECHO_MAX - (shown.len() - 1);
        shown.extend(clip(arg, room));
        shown.extend_from_slice(b"' ");
    }
    let mut text = b"ERR unknown command '".to_vec();
    text.extend(clip(call.arg(0), ECHO_MAX));
    text.extend_from_slice(b"', with args beginning with: ");
    text.extend(shown);
    text.into()
}

#[cold]
fn unknown_subcommand(call: &Call<'_>, command: &Command) -> Failure {
    let name = call.arg(1);
    let mut text = b"ERR unknown subcommand '".to_vec();
    text.extend_from_slice(&name[..name.len().min(ECHO_MAX)]);
    text.extend_from_slice(b"'. Try ");
    text.extend_from_slice(command.name.to_ascii_uppercase().as_bytes());
    text.extend_from_slice(b" HELP.");
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_name_in_any_case() {
        let mut seen = std::collections::BTreeSet::new();
        for command in all() {
            let number = find(command.name.as_bytes()).expect(command.name);
            assert_eq!(get(number).name, command.name);
            assert_eq!(find(command.name.to_ascii_uppercase().as_bytes()), Some(number));
            assert!(seen.insert(command.name), "{} is listed twice", command.name);
            assert!(!command.summary.is_empty(), "{} has no summary", command.name);
            assert_eq!(command.name, command.name.to_ascii_lowercase());
            for subcommand in command.subcommands {
                let (parent, name) = subcommand.name.split_once('|').expect(subcommand.name);
                assert_eq!(parent, command.name);
                let found = find_subcommand(number, name.to_ascii_uppercase().as_bytes());
                assert_eq!(get(found.unwrap()).name, subcommand.name);
            }
        }
        for name in [&b""[..], b"ge", b"gett", b"GET\0", b"a name longer than all", b"\xff"] {
            assert_eq!(find(name), None);
        }
        assert!(seen.len() * 4 < SLOTS, "names need room to be found at once");
    }
}
