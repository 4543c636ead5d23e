//! The state of a connection, except its bytes.

use crate::facts::Speaks;
use crate::server::View;
use crate::services::blocked_clients::BlockedCommand;
use crate::services::clients::Client;
use crate::services::clock::Clock;
use crate::services::login_backoff::LoginBackoff;
use crate::services::pubsub::{Kind, PubSub, Publication};
use crate::settings::acl::{Denied, User};
use base::TenantId;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tune::tenant::{Origin, Owners};
use wire::resp::Protocol;

/// The replies that a client wants, as CLIENT REPLY sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mute {
    /// All replies.
    #[default]
    No,
    /// All replies, except that to the command after CLIENT REPLY SKIP.
    Next,
    /// All replies, except that to this command.
    This,
    /// No replies.
    Always,
}

impl Mute {
    /// Whether the client does not want the reply to the command that has just run. Moves on to the
    /// state for the next command.
    #[inline]
    pub(crate) const fn is_muted(&mut self) -> bool {
        match self {
            Self::No => return false,
            Self::Next => *self = Self::This,
            Self::This => {
                *self = Self::No;
                return true;
            }
            Self::Always => return true,
        }
        false
    }
}

/// The commands between MULTI and EXEC.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    /// The commands as encoded, one after another.
    pub(crate) bytes: Vec<u8>,
    pub(crate) commands: usize,
    /// One of the commands was refused, so EXEC refuses all.
    pub(crate) broken: bool,
    /// The flags of all commands together.
    pub(crate) flags: u32,
    /// The database in which the next command will run, if an earlier one selects it.
    pub(crate) db: Option<u8>,
}

/// The keys that EXEC depends on, each with its database, and a hash of its contents at WATCH;
/// `None` for a missing key.
pub(crate) type Watched = HashMap<(u8, Vec<u8>), Option<u64>>;

/// The channels and patterns to which a client is subscribed.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    pub(crate) channels: BTreeSet<Vec<u8>>,
    pub(crate) patterns: BTreeSet<Vec<u8>>,
    pub(crate) sharded: BTreeSet<Vec<u8>>,
}

impl Subscriptions {
    pub(crate) fn of(&mut self, kind: Kind) -> &mut BTreeSet<Vec<u8>> {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
            Kind::Sharded => &mut self.sharded,
        }
    }

    /// Whether a published message is for one of these subscriptions.
    pub(crate) fn has(&self, publication: &Publication) -> bool {
        let channel = &publication.channel[..];
        match &publication.pattern {
            Some(pattern) => self.patterns.contains(&pattern[..]),
            None if publication.sharded => self.sharded.contains(channel),
            None => self.channels.contains(channel),
        }
    }

    /// The count in the reply of SUBSCRIBE.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        match kind {
            Kind::Sharded => self.sharded.len(),
            _ => self.channels.len() + self.patterns.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.patterns.is_empty() && self.sharded.is_empty()
    }
}

/// The way in which a client tracks the keys it reads, as CLIENT TRACKING sets it.
#[derive(Clone, Debug)]
pub(crate) struct Tracks {
    /// The client that gets the invalidations instead; 0 for the client itself.
    pub(crate) redirect: u64,
    pub(crate) prefixes: Option<Vec<Vec<u8>>>,
    pub(crate) opt_in: bool,
    pub(crate) opt_out: bool,
    pub(crate) no_loop: bool,
    /// The word of CLIENT CACHING, about the next command.
    pub(crate) caching: Option<bool>,
}

/// [`Session::waits_until_ms`] of a client whose next command waits for the end of a pause.
const PAUSED: u64 = u64::MAX;
/// The batch ends here, because the command has changed which hooks apply to later commands.
const LOOKS_AGAIN: u64 = u64::MAX - 1;
/// The next command waits until the replies so far are sent, or other clients have had their turn.
const HELD_BACK: u64 = u64::MAX - 2;
/// The batch ends here, because another worker is about to run alone. The rest is another batch.
const TURNED_AWAY: u64 = u64::MAX - 3;
/// The reply to a command exceeds the memory that its client may use.
const OVERFLOWS: u64 = u64::MAX - 4;
/// A command is blocked until another client writes.
const BLOCKED: u64 = u64::MAX - 5;

/// A connection as commands see it.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(crate) struct Session {
    pub(crate) client: Arc<Client>,
    pub(crate) protocol: Protocol,
    pub(crate) db: u8,
    /// The user, once the client has authenticated.
    pub(crate) user: Option<String>,
    /// Whether its commands must be checked: it has not authenticated, or may not do everything.
    pub(crate) limited: bool,
    /// The permissions of the user.
    rights: Option<Arc<User>>,
    /// The tenants that own the client's keys.
    pub(crate) owners: Owners,
    /// The generation of the settings from which `owners` was computed.
    generation: u64,
    /// The connection is closed after its replies are written.
    pub(crate) closing: bool,
    /// The reason why it ends, in the words of memcached's `watch connevents`.
    pub(crate) ending: &'static str,
    /// The lines that a watcher of memcached's protocol has missed since the last line it got.
    pub(crate) skipped: u64,
    pub(crate) mute: Mute,
    /// The running command wrote output that is sent even if replies are muted.
    pub(crate) pushed: bool,
    /// Its reads do not affect recency (CLIENT NO-TOUCH).
    pub(crate) no_touch: bool,
    pub(crate) transaction: Option<Transaction>,
    /// Commands of a transaction are running; none of them may block.
    pub(crate) executing: bool,
    /// A script runs commands.
    pub(crate) scripted: bool,
    pub(crate) watched: Watched,
    /// The blocked command.
    pub(crate) blocked: Option<Box<BlockedCommand>>,
    pub(crate) subscriptions: Option<Box<Subscriptions>>,
    pub(crate) tracks: Option<Box<Tracks>>,
    /// It watches other clients, by MONITOR or memcached's `watch`.
    pub(crate) watching: bool,
    /// The commands that were timed alone since the last group, and their microseconds.
    pub(crate) timed_alone: usize,
    pub(crate) timed_alone_us: u64,
    needs_token: bool,
    /// The client sent a wrong password: until this time, in milliseconds of the server's clock, it
    /// is neither answered nor read. Values near the maximum are the states above.
    pub(crate) waits_until_ms: u64,
}

impl Session {
    /// The session of a client that has just connected. With `needs_token` it must authenticate
    /// even if the default user needs no password.
    pub(crate) fn new(client: Arc<Client>, view: &View, needs_token: bool) -> Self {
        let mut session = Self {
            client,
            protocol: Protocol::Resp2,
            db: 0,
            user: None,
            limited: true,
            rights: None,
            owners: Owners::default(),
            generation: 0,
            closing: false,
            ending: "normal",
            skipped: 0,
            mute: Mute::No,
            pushed: false,
            no_touch: false,
            transaction: None,
            executing: false,
            scripted: false,
            watched: Watched::new(),
            blocked: None,
            subscriptions: None,
            tracks: None,
            watching: false,
            timed_alone: 0,
            timed_alone_us: 0,
            needs_token,
            waits_until_ms: 0,
        };
        session.leave(view);
        session
    }

    /// Logs the client out: it becomes the default user if that needs no password, otherwise no
    /// user.
    pub(crate) fn leave(&mut self, view: &View) {
        let open = view.settings.is_open() && !self.needs_token;
        let user = open.then(|| crate::settings::config::DEFAULT_USER.to_owned());
        self.set_user(user, view);
    }

    /// Makes the client `user` from here on.
    pub(crate) fn set_user(&mut self, user: Option<String>, view: &View) {
        self.client.labels().user = user.clone().unwrap_or_default();
        self.user = user;
        self.resolve(view);
    }

    /// Selects the database `db` for the client from here on.
    pub(crate) fn set_db(&mut self, db: u8, view: &View) {
        self.db = db;
        self.client.db.store(db, Ordering::Relaxed);
        self.resolve(view);
    }

    pub(crate) fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        let number = if protocol == Protocol::Resp3 { 3 } else { 2 };
        self.client.protocol.store(number, Ordering::Relaxed);
    }

    /// Applies changed settings.
    #[inline]
    pub(crate) fn follow(&mut self, view: &View) {
        if self.generation != view.generation {
            self.resolve(view);
        }
    }

    /// Computes the client's permissions, and the tenants that own its keys.
    fn resolve(&mut self, view: &View) {
        self.generation = view.generation;
        let rights = self.user.as_deref().and_then(|name| view.settings.user(name));
        self.limited = match (&self.user, rights) {
            (Some(_), Some(user)) => !user.is_unlimited(),
            // The name is from memcached's own file.
            (Some(_), None) => self.client.speaks == Speaks::Redis || !self.needs_token,
            (None, _) => true,
        };
        self.rights = rights.cloned();
        self.owners = view.owners(Origin {
            user: self.user.as_deref(),
            listener: self.client.listener,
            db: self.db,
        });
    }

    /// Checks a call of the command with this number by a `limited` client. A queued command is
    /// checked in the database in which it will run.
    #[cold]
    pub(crate) fn permits(&self, number: u16, args: &[&[u8]]) -> Result<(), Denied> {
        let queued = self.transaction.as_ref().and_then(|transaction| transaction.db);
        match &self.rights {
            Some(user) => user.check(number, args, queued.unwrap_or(self.db)),
            None => Err(Denied::Command),
        }
    }

    /// Whether the user may call this command, and read every key.
    pub(crate) fn reads_all(&self, args: &[&[u8]]) -> bool {
        let number = args.first().and_then(|name| crate::facts::table::find(name));
        let may = |user: &Arc<User>| number.is_some_and(|it| user.reads_all(it, args, self.db));
        !self.limited || self.rights.as_ref().is_some_and(may)
    }

    /// Whether the user still exists, and may keep all its subscriptions.
    pub(crate) fn may_stay(&self, view: &View) -> bool {
        let Some(name) = &self.user else { return true };
        let Some(user) = view.settings.user(name) else {
            return view.tokens.knows(name);
        };
        self.subscriptions.as_ref().is_none_or(|heard| {
            let mut channels = heard.channels.iter().chain(&heard.sharded);
            channels.all(|name| user.allows_channel(name, false))
                && heard.patterns.iter().all(|name| user.allows_channel(name, true))
        })
    }

    /// The tenants of all keys that the client can reach in any database. A client in the key space
    /// of a user or a port reaches only that. Every other client reaches all keys that are visible
    /// to everyone.
    pub(crate) fn reachable(&self, view: &View) -> Vec<TenantId> {
        let mut tenants = vec![];
        for db in 0..view.settings.databases {
            let user = self.user.as_deref();
            let origin = Origin { user, listener: self.client.listener, db: db as u8 };
            tenants.extend(view.owners(origin).all());
        }
        tenants.sort_unstable();
        tenants.dedup();
        tenants
    }

    /// Whether the next command may run.
    #[inline]
    pub(crate) const fn goes_on(&self) -> bool {
        !self.closing && self.waits_until_ms == 0
    }

    /// Whether it is neither answered nor read for a while.
    pub(crate) const fn backs_off(&self) -> bool {
        self.waits_until_ms > 0 && self.waits_until_ms < BLOCKED
    }

    /// Makes the next command wait until the replies so far are sent, or other clients have had
    /// their turn.
    pub(crate) const fn hold_back(&mut self) {
        if self.goes_on() {
            self.waits_until_ms = HELD_BACK;
        }
    }

    pub(crate) const fn is_held_back(&self) -> bool {
        self.waits_until_ms == HELD_BACK
    }

    /// Notes that a reply exceeds the limit for this client, which is disconnected for that.
    #[cold]
    pub(crate) const fn overflow(&mut self) {
        self.waits_until_ms = OVERFLOWS;
    }

    /// Whether a reply exceeded the limit.
    pub(crate) const fn overflows(&self) -> bool {
        self.waits_until_ms == OVERFLOWS
    }

    /// Makes the next command wait for the end of a pause.
    pub(crate) fn pause(&mut self) {
        self.waits_until_ms = PAUSED;
        self.client.paused.store(true, Ordering::Relaxed);
    }

    /// Ends the wait for a pause.
    pub(crate) fn go_on(&mut self) {
        self.waits_until_ms = 0;
        self.client.paused.store(false, Ordering::Relaxed);
    }

    pub(crate) const fn is_paused(&self) -> bool {
        self.waits_until_ms == PAUSED
    }

    /// Blocks the client until another client writes.
    pub(crate) fn block(&mut self, wait: BlockedCommand) {
        self.blocked = Some(Box::new(wait));
        self.waits_until_ms = BLOCKED;
        self.client.blocked.store(true, Ordering::Relaxed);
    }

    /// Ends the blocking. Returns the blocked command.
    pub(crate) fn unblock(&mut self) -> Option<Box<BlockedCommand>> {
        let wait = self.blocked.take()?;
        self.waits_until_ms = 0;
        self.client.blocked.store(false, Ordering::Relaxed);
        Some(wait)
    }

    /// Ends the batch, because the running command changes the hooks of later commands.
    pub(crate) const fn look_again(&mut self) {
        self.waits_until_ms = LOOKS_AGAIN;
    }

    /// Whether a command has ended the batch in that way.
    pub(crate) const fn is_looking_again(&self) -> bool {
        self.waits_until_ms == LOOKS_AGAIN
    }

    /// Makes the rest of the batch wait until another worker has run alone.
    #[cold]
    pub(crate) const fn turn_away(&mut self) {
        if self.goes_on() {
            self.waits_until_ms = TURNED_AWAY;
        }
    }

    /// Whether the batch ended early since the last call, so that the rest must still run.
    pub(crate) const fn looks_again(&mut self) -> bool {
        let looks = self.is_looking_again() || self.waits_until_ms == TURNED_AWAY;
        if looks {
            self.waits_until_ms = 0;
        }
        looks
    }

    /// Delays a client that sent a wrong password.
    pub(crate) fn back_off(&mut self, backoff: &LoginBackoff, clock: &Clock, view: &View) {
        let (now_ms, most) = (clock.micros().0 / 1_000, view.settings.auth_delay_max);
        let delay_ms = backoff.delay_ms(&self.client.address, now_ms, most);
        self.waits_until_ms = if delay_ms > 0 { now_ms + delay_ms } else { 0 };
    }

    /// Ends MULTI and WATCH.
    pub(crate) fn discard(&mut self) {
        self.transaction = None;
        self.watched = Watched::new();
        self.client.watched.store(0, Ordering::Relaxed);
        self.client.queued.store(-1, Ordering::Relaxed);
    }

    /// Whether the client may only subscribe and unsubscribe: RESP2 cannot distinguish a message
    /// from a reply.
    #[inline]
    pub(crate) fn only_listens(&self) -> bool {
        self.subscriptions.is_some() && self.protocol == Protocol::Resp2
    }

    /// Whether the client may get messages that are no replies.
    pub(crate) fn listens(&self) -> bool {
        self.subscriptions.is_some() || self.watching
    }

    /// Ends all subscriptions.
    pub(crate) fn unsubscribe_all(&mut self, pubsub: &PubSub) {
        let Some(mut subscriptions) = self.subscriptions.take() else {
            return;
        };
        for kind in [Kind::Channel, Kind::Pattern, Kind::Sharded] {
            for name in std::mem::take(subscriptions.of(kind)) {
                pubsub.unsubscribe(kind, &name, self.client.id);
            }
        }
        self.client.channels.store(0, Ordering::Relaxed);
        self.client.patterns.store(0, Ordering::Relaxed);
        self.client.sharded.store(0, Ordering::Relaxed);
    }
}
