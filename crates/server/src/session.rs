//! The state of a connection besides its bytes.

use crate::acl::{Denied, User};
use crate::blocked::Wait;
use crate::clients::Client;
use crate::listen::Speaks;
use crate::pubsub::{Kind, Publication};
use crate::shared::{Shared, View};
use base::TenantId;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tune::tenant::{Origin, Owners};
use wire::resp::Protocol;

/// Which replies a client wants to have, as CLIENT REPLY sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mute {
    /// All.
    #[default]
    No,
    /// Not that of the command after CLIENT REPLY SKIP.
    Next,
    /// Not this one.
    This,
    /// None.
    Always,
}

impl Mute {
    /// Whether the reply to the command that was carried out is not wanted; the next is another
    /// question.
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

/// Commands between MULTI and EXEC.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    /// Written one after another as they came.
    pub(crate) bytes: Vec<u8>,
    pub(crate) commands: usize,
    /// One of them was refused, so EXEC will refuse all.
    pub(crate) broken: bool,
    /// The flags of all of them.
    pub(crate) flags: u32,
    /// The database that the next of them will be carried out in, where one before it chooses.
    pub(crate) db: Option<u8>,
}

/// The keys that EXEC depends on, each with its database, and a hash of what each held; `None`
/// where there was nothing.
pub(crate) type Watched = HashMap<(u8, Vec<u8>), Option<u64>>;

/// Where a client listens.
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

    /// Whether what is published is for one of these.
    pub(crate) fn has(&self, publication: &Publication) -> bool {
        let channel = &publication.channel[..];
        match &publication.pattern {
            Some(pattern) => self.patterns.contains(&pattern[..]),
            None if publication.sharded => self.sharded.contains(channel),
            None => self.channels.contains(channel),
        }
    }

    /// The count that SUBSCRIBE answers.
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

/// How a client tracks the keys it reads, as CLIENT TRACKING set it.
#[derive(Clone, Debug)]
pub(crate) struct Tracks {
    /// The client told instead; 0 for the client itself.
    pub(crate) redirect: u64,
    pub(crate) prefixes: Option<Vec<Vec<u8>>>,
    pub(crate) opt_in: bool,
    pub(crate) opt_out: bool,
    pub(crate) no_loop: bool,
    /// The word of CLIENT CACHING about the next command.
    pub(crate) caching: Option<bool>,
}

/// [`Session::waits_until_ms`] of a client whose next command waits for the end of a pause.
const PAUSED: u64 = u64::MAX;
/// The same where who looks at the commands of the batch is to be found out anew.
const LOOKS_AGAIN: u64 = u64::MAX - 1;
/// The next command waits until the replies so far are gone, or others had their turn.
const HELD_BACK: u64 = u64::MAX - 2;
/// The batch ends here, for another worker is to be alone; the rest is another batch.
const TURNED_AWAY: u64 = u64::MAX - 3;
/// The reply to a command is above what its client may make the server hold.
const OVERFLOWS: u64 = u64::MAX - 4;
/// A command waits for what others write.
const BLOCKED: u64 = u64::MAX - 5;

/// A connection as commands see it.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(crate) struct Session {
    pub(crate) client: Arc<Client>,
    pub(crate) protocol: Protocol,
    pub(crate) db: u8,
    /// The user, once it is known.
    pub(crate) user: Option<String>,
    /// Whether its commands must be looked at: it is not known yet, or may not do everything.
    pub(crate) limited: bool,
    /// Permissions of the user.
    rights: Option<Arc<User>>,
    /// The tenants that own the client's keys.
    pub(crate) owners: Owners,
    /// Of the settings that `owners` was made from.
    generation: u64,
    /// To be closed once the replies are written.
    pub(crate) closing: bool,
    /// Why it ends, in the words of memcached's `watch connevents`.
    pub(crate) ending: &'static str,
    /// Lines that a watcher by memcached's protocol has missed since it was last shown one.
    pub(crate) skipped: u64,
    pub(crate) mute: Mute,
    /// The command that is carried out wrote what is sent though replies are not.
    pub(crate) pushed: bool,
    /// Reads leave no trace, as CLIENT NO-TOUCH asks.
    pub(crate) no_touch: bool,
    pub(crate) transaction: Option<Transaction>,
    /// Commands of a transaction are being carried out, of which none waits.
    pub(crate) executing: bool,
    /// A script carries out commands.
    pub(crate) scripted: bool,
    pub(crate) watched: Watched,
    /// The command that waits.
    pub(crate) blocked: Option<Box<Wait>>,
    pub(crate) subscriptions: Option<Box<Subscriptions>>,
    pub(crate) tracks: Option<Box<Tracks>>,
    /// Watches what others do: MONITOR, or memcached's `watch`.
    pub(crate) watching: bool,
    /// Commands that were timed alone since the last look, and their microseconds.
    pub(crate) timed_alone: usize,
    pub(crate) timed_alone_us: u64,
    needs_token: bool,
    /// It tried a wrong password: until then, in milliseconds of the server's clock, it is neither
    /// answered nor read.
    pub(crate) waits_until_ms: u64,
}

impl Session {
    /// A session of a client that has just connected. One that `needs_token` must authenticate even
    /// if the default user needs no password.
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

    /// Forgets who the client is: the default user if that needs no password, else nobody.
    pub(crate) fn leave(&mut self, view: &View) {
        let open = view.settings.is_open() && !self.needs_token;
        let user = open.then(|| crate::config::DEFAULT_USER.to_owned());
        self.set_user(user, view);
    }

    /// The client is `user` from here on.
    pub(crate) fn set_user(&mut self, user: Option<String>, view: &View) {
        self.client.labels().user = user.clone().unwrap_or_default();
        self.user = user;
        self.resolve(view);
    }

    /// The client works in `db` from here on.
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

    /// Follows changed settings.
    #[inline]
    pub(crate) fn follow(&mut self, view: &View) {
        if self.generation != view.generation {
            self.resolve(view);
        }
    }

    /// Works out what the client may do, and whose its keys are.
    fn resolve(&mut self, view: &View) {
        self.generation = view.generation;
        let rights = self.user.as_deref().and_then(|name| view.settings.user(name));
        self.limited = match (&self.user, rights) {
            (Some(_), Some(user)) => !user.is_unlimited(),
            // A name from memcached's own file.
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

    /// Whether the user may call the command with this number, of a client that is `limited`; a
    /// command that is queued, in the database it will be carried out in.
    #[cold]
    pub(crate) fn permits(&self, number: u16, args: &[&[u8]]) -> Result<(), Denied> {
        let queued = self.transaction.as_ref().and_then(|transaction| transaction.db);
        match &self.rights {
            Some(user) => user.check(number, args, queued.unwrap_or(self.db)),
            None => Err(Denied::Command),
        }
    }

    /// Whether the user may call this command, and read any key.
    pub(crate) fn reads_all(&self, args: &[&[u8]]) -> bool {
        let number = args.first().and_then(|name| crate::commands::find(name));
        let may = |user: &Arc<User>| number.is_some_and(|it| user.reads_all(it, args, self.db));
        !self.limited || self.rights.as_ref().is_some_and(may)
    }

    /// Whether its user is still there, and may listen wherever it does.
    pub(crate) fn may_stay(&self, view: &View) -> bool {
        let Some(name) = &self.user else { return true };
        let Some(user) = view.settings.user(name) else { return view.tokens.knows(name) };
        self.subscriptions.as_ref().is_none_or(|heard| {
            let mut channels = heard.channels.iter().chain(&heard.sharded);
            channels.all(|name| user.allows_channel(name, false))
                && heard.patterns.iter().all(|name| user.allows_channel(name, true))
        })
    }

    /// The tenants of every key the client could come by in any database: whoever works in the key
    /// space of a user or a port has that alone, everybody else all that is seen by everyone.
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

    /// Whether the next command may be carried out.
    #[inline]
    pub(crate) const fn goes_on(&self) -> bool {
        !self.closing && self.waits_until_ms == 0
    }

    /// Whether it is neither answered nor read for a while.
    pub(crate) const fn backs_off(&self) -> bool {
        self.waits_until_ms > 0 && self.waits_until_ms < BLOCKED
    }

    /// The next command waits until the replies so far are gone, or others had their turn.
    pub(crate) const fn hold_back(&mut self) {
        if self.goes_on() {
            self.waits_until_ms = HELD_BACK;
        }
    }

    pub(crate) const fn is_held_back(&self) -> bool {
        self.waits_until_ms == HELD_BACK
    }

    /// The reply to a command is above what may wait for the client, which ends for that.
    #[cold]
    pub(crate) const fn overflow(&mut self) {
        self.waits_until_ms = OVERFLOWS;
    }

    /// Whether a command said so.
    pub(crate) const fn overflows(&self) -> bool {
        self.waits_until_ms == OVERFLOWS
    }

    /// The next command waits for the end of a pause.
    pub(crate) fn pause(&mut self) {
        self.waits_until_ms = PAUSED;
        self.client.paused.store(true, Ordering::Relaxed);
    }

    /// The pause is over.
    pub(crate) fn go_on(&mut self) {
        self.waits_until_ms = 0;
        self.client.paused.store(false, Ordering::Relaxed);
    }

    pub(crate) const fn is_paused(&self) -> bool {
        self.waits_until_ms == PAUSED
    }

    /// A command waits for what others write.
    pub(crate) fn block(&mut self, wait: Wait) {
        self.blocked = Some(Box::new(wait));
        self.waits_until_ms = BLOCKED;
        self.client.blocked.store(true, Ordering::Relaxed);
    }

    /// It waits no longer.
    pub(crate) fn unblock(&mut self) -> Option<Box<Wait>> {
        let wait = self.blocked.take()?;
        self.waits_until_ms = 0;
        self.client.blocked.store(false, Ordering::Relaxed);
        Some(wait)
    }

    /// The command that is carried out changes who looks at those that follow it.
    pub(crate) const fn look_again(&mut self) {
        self.waits_until_ms = LOOKS_AGAIN;
    }

    /// Whether a command said so.
    pub(crate) const fn is_looking_again(&self) -> bool {
        self.waits_until_ms == LOOKS_AGAIN
    }

    /// The rest of the batch waits until another worker was alone.
    #[cold]
    pub(crate) const fn turn_away(&mut self) {
        if self.goes_on() {
            self.waits_until_ms = TURNED_AWAY;
        }
    }

    /// Whether the batch ended early since the last time, and the rest is to be carried out.
    pub(crate) const fn looks_again(&mut self) -> bool {
        let looks = self.is_looking_again() || self.waits_until_ms == TURNED_AWAY;
        if looks {
            self.waits_until_ms = 0;
        }
        looks
    }

    /// Slows a client down that tried a wrong password.
    pub(crate) fn back_off(&mut self, shared: &Shared, view: &View) {
        let (now_ms, most) = (shared.clock.micros().0 / 1_000, view.settings.auth_delay_max);
        let delay_ms = shared.attempts.delay_ms(&self.client.address, now_ms, most);
        self.waits_until_ms = if delay_ms > 0 { now_ms + delay_ms } else { 0 };
    }

    /// Ends MULTI and WATCH.
    pub(crate) fn discard(&mut self) {
        self.transaction = None;
        self.watched = Watched::new();
        self.client.watched.store(0, Ordering::Relaxed);
        self.client.queued.store(-1, Ordering::Relaxed);
    }

    /// Whether the client may only subscribe and unsubscribe: version 2 has no way to tell a
    /// message from a reply.
    #[inline]
    pub(crate) fn only_listens(&self) -> bool {
        self.subscriptions.is_some() && self.protocol == Protocol::Resp2
    }

    /// Whether messages reach the client that answer no command.
    pub(crate) fn listens(&self) -> bool {
        self.subscriptions.is_some() || self.watching
    }

    /// Listens nowhere any more.
    pub(crate) fn unsubscribe_all(&mut self, shared: &Shared) {
        let Some(mut subscriptions) = self.subscriptions.take() else { return };
        for kind in [Kind::Channel, Kind::Pattern, Kind::Sharded] {
            for name in std::mem::take(subscriptions.of(kind)) {
                shared.pubsub.unsubscribe(kind, &name, self.client.id);
            }
        }
        self.client.channels.store(0, Ordering::Relaxed);
        self.client.patterns.store(0, Ordering::Relaxed);
        self.client.sharded.store(0, Ordering::Relaxed);
    }
}
