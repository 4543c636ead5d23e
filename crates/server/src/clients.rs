//! Who is connected: what CLIENT LIST shows and CLIENT KILL reaches.
//!
//! The registry is locked when a client comes, goes or is listed. What changes with every command
//! are atomics of the client's own, which only its worker writes.

use crate::listen::Speaks;
use crate::pubsub::Place;
use crate::stats::Counter;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wire::resp::Protocol;

/// A connected client, as others see it.
#[derive(Debug)]
pub(crate) struct Client {
    /// Never given twice.
    pub(crate) id: u64,
    pub(crate) address: String,
    pub(crate) local: String,
    pub(crate) fd: i32,
    pub(crate) place: Place,
    /// The port it came in by; 0 by a Unix socket.
    pub(crate) listener: u16,
    pub(crate) speaks: Speaks,
    /// When it connected, in milliseconds since the server started.
    pub(crate) since_ms: u64,
    /// When it last sent something.
    pub(crate) last_ms: AtomicU64,
    /// Its last command, by number in the table.
    pub(crate) command: AtomicU16,
    pub(crate) db: AtomicU8,
    pub(crate) protocol: AtomicU8,
    /// Commands queued by MULTI, or -1.
    pub(crate) queued: AtomicI64,
    pub(crate) channels: AtomicU64,
    pub(crate) patterns: AtomicU64,
    /// Bytes of an unfinished command, and of replies not yet written.
    pub(crate) input: AtomicU64,
    pub(crate) output: AtomicU64,
    pub(crate) no_evict: AtomicBool,
    pub(crate) no_touch: AtomicBool,
    /// Bytes and commands so far.
    pub(crate) net_in: Counter,
    pub(crate) net_out: Counter,
    labels: Mutex<Labels>,
}

/// What a client says of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) lib_name: String,
    pub(crate) lib_ver: String,
}

/// Where a client comes from.
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

    /// The version of the protocol it is answered in.
    pub(crate) fn protocol(&self) -> Protocol {
        match self.protocol.load(Ordering::Relaxed) {
            3 => Protocol::Resp3,
            _ => Protocol::Resp2,
        }
    }

    /// The line of CLIENT LIST.
    pub(crate) fn line(&self, now_ms: u64) -> String {
        let labels = self.labels().clone();
        let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let (channels, patterns) = (load(&self.channels), load(&self.patterns));
        let queued = self.queued.load(Ordering::Relaxed);
        let mut flags = String::new();
        for (flag, on) in [
            ('P', channels + patterns > 0),
            ('x', queued >= 0),
            ('U', self.listener == 0),
            ('e', self.no_evict.load(Ordering::Relaxed)),
            ('T', self.no_touch.load(Ordering::Relaxed)),
        ] {
            if on {
                flags.push(flag);
            }
        }
        if flags.is_empty() {
            flags.push('N');
        }
        let output = load(&self.output);
        format!(
            "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={flags} db={} \
             sub={channels} \
             psub={patterns} ssub=0 multi={queued} watch=0 qbuf={} qbuf-free=0 argv-mem=0 \
             multi-mem=0 rbs=0 rbp=0 obl={output} oll=0 omem={output} tot-mem={} events=r cmd={} \
             user={} redir=-1 resp={} lib-name={} lib-ver={}",
            self.id,
            self.address,
            self.local,
            self.fd,
            labels.name,
            now_ms.saturating_sub(self.since_ms) / 1_000,
            now_ms.saturating_sub(load(&self.last_ms)) / 1_000,
            self.db.load(Ordering::Relaxed),
            load(&self.input),
            load(&self.input) + output,
            crate::commands::name_of(self.command.load(Ordering::Relaxed)),
            labels.user,
            self.protocol.load(Ordering::Relaxed),
            labels.lib_name,
            labels.lib_ver,
        )
    }
}

/// All that are connected.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    next: AtomicU64,
    all: Mutex<BTreeMap<u64, Arc<Client>>>,
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Client>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a client, unless `max` are connected.
    pub(crate) fn connect(
        &self,
        peer: Peer,
        place: Place,
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
            input: AtomicU64::new(0),
            output: AtomicU64::new(0),
            no_evict: AtomicBool::new(false),
            no_touch: AtomicBool::new(false),
            net_in: Counter::default(),
            net_out: Counter::default(),
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

    /// Whether the client with this id is there.
    pub(crate) fn has(&self, id: u64) -> bool {
        self.lock().contains_key(&id)
    }

    /// Everyone, the longest connected first.
    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        self.lock().values().cloned().collect()
    }
}
