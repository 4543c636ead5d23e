//! The state of a connection, except its bytes.

use super::flow::{Flow, Why};
use super::mute::Mute;
use super::subscriptions::Subscriptions;
use super::tracks::Tracks;
use super::transaction::{Transaction, Watched};
use crate::facts::Speaks;
use crate::server::View;
use crate::services::blocked_clients::BlockedCommand;
use crate::services::clients::Client;
use crate::services::clock::Clock;
use crate::services::login_backoff::LoginBackoff;
use crate::services::pubsub::PubSub;
use crate::settings::acl::{Denied, User};
use base::TenantId;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tune::tenant::{Origin, Owners};
use wire::resp::Protocol;

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
    /// A reply exceeded the memory that the client may use, which closes the connection.
    pub(crate) overflows: bool,
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
    pub(crate) subscriptions: Option<Box<Subscriptions>>,
    pub(crate) tracks: Option<Box<Tracks>>,
    /// It watches other clients, by MONITOR or memcached's `watch`.
    pub(crate) watching: bool,
    /// The commands that were timed alone since the last group, and their microseconds.
    pub(crate) timed_alone: usize,
    pub(crate) timed_alone_us: u64,
    needs_token: bool,
    pub(crate) flow: Flow,
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
            subscriptions: None,
            tracks: None,
            watching: false,
            timed_alone: 0,
            timed_alone_us: 0,
            needs_token,
            flow: Flow::Running,
            overflows: false,
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
    pub(crate) const fn is_running(&self) -> bool {
        !self.closing && matches!(self.flow, Flow::Running)
    }

    /// Makes the next command wait until the replies so far are sent, or other clients have had
    /// their turn.
    pub(crate) fn throttle(&mut self) {
        if self.is_running() {
            self.flow = Flow::Throttled;
        }
    }

    /// Ends the batch; the next one begins at once.
    #[cold]
    pub(crate) fn end_batch(&mut self, why: Why) {
        if self.is_running() {
            self.flow = Flow::EndBatch(why);
        }
    }

    /// Closes the connection because a reply exceeds the limit for this client.
    #[cold]
    pub(crate) const fn overflow(&mut self) {
        self.overflows = true;
        self.closing = true;
    }

    /// Makes the next command wait for the end of a pause.
    pub(crate) fn pause(&mut self) {
        self.flow = Flow::Paused;
        self.client.paused.store(true, Ordering::Relaxed);
    }

    /// Blocks the client until another client writes.
    pub(crate) fn block(&mut self, wait: BlockedCommand) {
        self.flow = Flow::Blocked(Box::new(wait));
        self.client.blocked.store(true, Ordering::Relaxed);
    }

    /// Ends the blocking. Returns the blocked command.
    pub(crate) fn unblock(&mut self) -> Option<Box<BlockedCommand>> {
        let wait = self.flow.unblock()?;
        self.client.blocked.store(false, Ordering::Relaxed);
        Some(wait)
    }

    /// Delays a client that sent a wrong password.
    pub(crate) fn back_off(&mut self, backoff: &LoginBackoff, clock: &Clock, view: &View) {
        let (now_ms, most) = (clock.micros().0 / 1_000, view.settings.auth_delay_max);
        let delay_ms = backoff.delay_ms(&self.client.address, now_ms, most);
        if delay_ms > 0 {
            self.flow = Flow::BackingOff { until_ms: now_ms + delay_ms };
        }
    }

    /// Lets the next command run, after a pause, a delay or throttling.
    pub(crate) fn resume(&mut self) {
        self.flow = Flow::Running;
        self.client.paused.store(false, Ordering::Relaxed);
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
        subscriptions.end(pubsub, self.client.id);
        self.client.channels.store(0, Ordering::Relaxed);
        self.client.patterns.store(0, Ordering::Relaxed);
        self.client.sharded.store(0, Ordering::Relaxed);
    }
}
