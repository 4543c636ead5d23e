//! The connected clients: CLIENT LIST shows them, and CLIENT KILL closes them.
//!
//! The registry is locked when a client connects, disconnects or is listed. Fields that change with
//! every command are atomics of the client, and only its worker writes them.

use super::pubsub::Subscriber;
use super::stats::Counter;
use crate::facts::Speaks;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wire::resp::Protocol;

/// A connected client, as other clients see it.
#[derive(Debug)]
pub(crate) struct Client {
    /// The number of the client, never used twice.
    pub(crate) id: u64,
    pub(crate) address: String,
    pub(crate) local: String,
    pub(crate) fd: i32,
    pub(crate) place: Subscriber,
    /// The port that it connected to; 0 for a Unix socket.
    pub(crate) listener: u16,
    pub(crate) speaks: Speaks,
    /// The time it connected, in milliseconds since the server started.
    pub(crate) since_ms: u64,
    /// The time it last sent something, in the same unit.
    pub(crate) last_ms: AtomicU64,
    /// Its last command, by number in the command table.
    pub(crate) command: AtomicU16,
    pub(crate) db: AtomicU8,
    pub(crate) protocol: AtomicU8,
    /// The number of commands queued after MULTI, or -1 without MULTI.
    pub(crate) queued: AtomicI64,
    pub(crate) channels: AtomicU64,
    pub(crate) patterns: AtomicU64,
    pub(crate) sharded: AtomicU64,
    /// The number of keys that it watches (WATCH).
    pub(crate) watched: AtomicU64,
    /// The client that gets its invalidations: -1 if it tracks nothing, 0 for the client itself.
    pub(crate) redirect: AtomicI64,
    /// It tracks prefixes of keys (BCAST).
    pub(crate) broadcast: AtomicBool,
    /// It runs MONITOR.
    pub(crate) monitors: AtomicBool,
    /// Bytes of an unfinished command, and of replies not yet sent.
    pub(crate) input: AtomicU64,
    pub(crate) output: AtomicU64,
    /// Its next command waits for the end of a pause.
    pub(crate) paused: AtomicBool,
    /// Its command is blocked until another client writes.
    pub(crate) blocked: AtomicBool,
    pub(crate) no_evict: AtomicBool,
    pub(crate) no_touch: AtomicBool,
    /// It declared with CLIENT CAPA that it follows redirections to another server, as a replica of
    /// Valkey sends them.
    pub(crate) redirects: AtomicBool,
    /// Bytes and commands since it connected.
    pub(crate) net_in: Counter,
    pub(crate) net_out: Counter,
    pub(crate) commands: Counter,
    labels: Mutex<Labels>,
}

/// Labels that a client sets for itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) lib_name: String,
    pub(crate) lib_ver: String,
}

/// The addresses and the socket of a client.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: String,
    pub(crate) local: String,
    pub(crate) fd: i32,
    pub(crate) listener: u16,
    pub(crate) speaks: Speaks,
    pub(crate) tls: bool,
}

impl Client {
    pub(crate) fn labels(&self) -> MutexGuard<'_, Labels> {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version of RESP in which it is answered.
    pub(crate) fn protocol(&self) -> Protocol {
        match self.protocol.load(Ordering::Relaxed) {
            3 => Protocol::Resp3,
            _ => Protocol::Resp2,
        }
    }

    /// Whether it is subscribed to a channel or a pattern.
    pub(crate) fn listens(&self) -> bool {
        let counts = [&self.channels, &self.patterns, &self.sharded];
        counts.iter().any(|count| count.load(Ordering::Relaxed) > 0)
    }

    /// Whether its next command waits for a pause to end, or its last one is blocked.
    pub(crate) fn waits(&self) -> bool {
        self.paused.load(Ordering::Relaxed) || self.blocked.load(Ordering::Relaxed)
    }

    /// The client's states, one letter each as in Redis.
    pub(crate) fn flags(&self) -> String {
        let on = |value: &AtomicBool| value.load(Ordering::Relaxed);
        let flags: String = [
            ('O', on(&self.monitors)),
            ('P', self.listens()),
            ('x', self.queued.load(Ordering::Relaxed) >= 0),
            ('b', self.waits()),
            ('t', self.redirect.load(Ordering::Relaxed) >= 0),
            ('B', on(&self.broadcast)),
            ('U', self.listener == 0),
            ('e', on(&self.no_evict)),
            ('T', on(&self.no_touch)),
        ]
        .into_iter()
        .filter_map(|(flag, on)| on.then_some(flag))
        .collect();
        if flags.is_empty() { "N".into() } else { flags }
    }

    /// The client's line in CLIENT LIST.
    pub(crate) fn line(&self, now_ms: u64) -> String {
        let labels = self.labels().clone();
        let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let output = load(&self.output);
        format!(
            "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} capa={} db={} \
             sub={} psub={} ssub={} multi={} watch={} qbuf={} qbuf-free=0 \
             argv-mem=0 multi-mem=0 rbs=0 rbp=0 \
             obl={output} oll=0 omem={output} tot-mem={} events=r cmd={} user={} redir={} resp={} \
             lib-name={} lib-ver={} tot-net-in={} tot-net-out={} tot-cmds={}",
            self.id,
            self.address,
            self.local,
            self.fd,
            labels.name,
            now_ms.saturating_sub(self.since_ms) / 1_000,
            now_ms.saturating_sub(load(&self.last_ms)) / 1_000,
            self.flags(),
            if self.redirects.load(Ordering::Relaxed) { "r" } else { "" },
            self.db.load(Ordering::Relaxed),
            load(&self.channels),
            load(&self.patterns),
            load(&self.sharded),
            self.queued.load(Ordering::Relaxed),
            load(&self.watched),
            load(&self.input),
            load(&self.input) + output,
            crate::facts::table::name_of(self.command.load(Ordering::Relaxed)),
            labels.user,
            self.redirect.load(Ordering::Relaxed),
            self.protocol.load(Ordering::Relaxed),
            labels.lib_name,
            labels.lib_ver,
            self.net_in.get(),
            self.net_out.get(),
            self.commands.get(),
        )
    }
}

/// All connected clients.
#[derive(Debug, Default)]
pub(crate) struct ClientTable {
    next: AtomicU64,
    all: Mutex<BTreeMap<u64, Arc<Client>>>,
}

impl ClientTable {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Client>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a client, unless `max` are connected.
    pub(crate) fn connect(
        &self,
        peer: Peer,
        place: Subscriber,
        now_ms: u64,
        max: usize,
    ) -> Option<Arc<Client>> {
        let mut all = self.lock();
        if all.len() >= max {
            return None;
        }
        let client = Arc::new(Client {
            id: self.next.fetch_add(1, Ordering::Relaxed) + 1,
            address: peer.address,
            local: peer.local,
            fd: peer.fd,
            place,
            listener: peer.listener,
            speaks: peer.speaks,
            since_ms: now_ms,
            last_ms: AtomicU64::new(now_ms),
            command: AtomicU16::new(u16::MAX),
            db: AtomicU8::new(0),
            protocol: AtomicU8::new(2),
            queued: AtomicI64::new(-1),
            channels: AtomicU64::new(0),
            patterns: AtomicU64::new(0),
            sharded: AtomicU64::new(0),
            watched: AtomicU64::new(0),
            redirect: AtomicI64::new(-1),
            broadcast: AtomicBool::new(false),
            monitors: AtomicBool::new(false),
            input: AtomicU64::new(0),
            output: AtomicU64::new(0),
            paused: AtomicBool::new(false),
            blocked: AtomicBool::new(false),
            no_evict: AtomicBool::new(false),
            no_touch: AtomicBool::new(false),
            redirects: AtomicBool::new(false),
            net_in: Counter::default(),
            net_out: Counter::default(),
            commands: Counter::default(),
            labels: Mutex::default(),
        });
        all.insert(client.id, client.clone());
        Some(client)
    }

    pub(crate) fn disconnect(&self, id: u64) {
        self.lock().remove(&id);
    }

    /// The client with this id.
    pub(crate) fn get(&self, id: u64) -> Option<Arc<Client>> {
        self.lock().get(&id).cloned()
    }

    /// Whether the client with this id is connected.
    pub(crate) fn has(&self, id: u64) -> bool {
        self.lock().contains_key(&id)
    }

    /// All clients, the longest connected first.
    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        self.lock().values().cloned().collect()
    }
}
