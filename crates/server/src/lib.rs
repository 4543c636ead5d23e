//! The server: sockets, commands, configuration.
//!
//! [`start`] opens the listeners and starts the threads; the returned [`Handle`] ends them. Worker
//! threads share one store (`worker.rs`), and one of them may run alone (`gate.rs`). An acceptor
//! hands them connections (`listen.rs`), and a thread does the housekeeping (`housekeeping.rs`).
//! All commands are in one table (`commands/mod.rs`), and all directives in another
//! (`config/list/`).
#![forbid(unsafe_code)]

mod acl;
mod ages;
mod attempts;
mod background;
mod blocked;
mod clients;
mod clock;
mod cluster;
mod collection;
mod commands;
pub mod config;
mod connection;
mod decimal;
mod files;
mod gate;
mod glob;
mod hash;
mod hotkeys;
mod hottest;
mod housekeeping;
mod http;
mod length;
mod listen;
mod log;
mod memcached;
mod memory_limit;
mod monitors;
mod notify;
mod pause;
mod pilot;
mod ping;
mod pools;
mod pubsub;
mod quiet;
mod recorder;
mod reload;
mod removals;
mod report;
mod resident;
mod room;
mod script;
mod serve;
mod session;
mod shared;
mod slowlog;
mod stats;
mod tls;
mod tracking;
mod transfer;
mod value;
mod warm;
mod worker;

pub use commands::{About, about};
pub use config::{Error, Settings};
pub use ping::{PingArgs, ping};
pub use serve::{Args, run};

use listen::{Acceptor, Bell};
use shared::Shared;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use store::Store;
use worker::{Mailbox, Worker};

/// A running server. Dropping the handle ends the server.
#[derive(Debug)]
pub struct Handle {
    shared: Arc<Shared>,
    bell: Arc<Bell>,
    address: SocketAddr,
    http: Option<SocketAddr>,
    threads: Vec<JoinHandle<()>>,
}

/// Ends a server from another thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    shared: Arc<Shared>,
    bell: Arc<Bell>,
}

/// Starts a server inside this process.
///
/// # Errors
/// Settings that conflict, or the reason why it cannot listen.
pub fn start(settings: Settings) -> Result<Handle, Error> {
    start_from(settings, None)
}

/// Starts a server with settings from `file`, which CONFIG REWRITE writes.
fn start_from(mut settings: Settings, file: Option<PathBuf>) -> Result<Handle, Error> {
    let failed = |error: std::io::Error| Error(format!("cannot start: {error}"));
    settings.check()?;
    settings.check_start()?;
    settings.read_users()?;
    files::fit(&mut settings)?;
    let listeners = listen::open(&settings)?;
    let address = listeners.iter().find_map(listen::Listener::address);
    let address = address.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
    let http = match settings.http_port {
        Some(0) => None,
        port => http::open(settings.http_bind, port)?,
    };
    let sockets = listeners.iter().map(listen::Listener::socket).collect();
    let mut listening: Vec<_> = listeners.iter().map(listen::Listener::describe).collect();
    listening.extend(http.as_ref().map(|http| format!("{} (http)", http.address)));
    let mut polls = vec![];
    let mut mailboxes = vec![];
    for _ in 0..settings.io_threads {
        let poll = mio::Poll::new().map_err(failed)?;
        mailboxes.push(Mailbox::new(poll.registry()).map_err(failed)?);
        polls.push(poll);
    }
    let shared = Arc::new(Shared::new(settings, mailboxes, listening, sockets, file)?);
    announce(&shared);
    let opened = warm::open(&shared);
    let (acceptor, bell) = Acceptor::new(listeners, shared.clone()).map_err(failed)?;
    let mut handle = Handle {
        shared,
        bell: Arc::new(bell),
        address,
        http: http.as_ref().map(|http| http.address),
        threads: vec![],
    };
    for (number, poll) in polls.into_iter().enumerate() {
        let shared = handle.shared.clone();
        let name = format!("worker-{number}");
        handle.spawn(&name, move || Worker::new(number, poll, shared).run())?;
    }
    if let Some(opened) = opened {
        let shared = handle.shared.clone();
        handle.spawn("restore", move || warm::run(&shared, opened))?;
    }
    let shared = handle.shared.clone();
    handle.spawn("housekeeping", move || housekeeping::run(&shared))?;
    let shared = handle.shared.clone();
    handle.spawn("resident", move || resident::run(&shared))?;
    let shared = handle.shared.clone();
    handle.spawn("pilot", move || pilot::run(&shared))?;
    let shared = handle.shared.clone();
    handle.spawn("transfer", move || transfer::run(&shared))?;
    if let Some(http) = http {
        let shared = handle.shared.clone();
        handle.spawn("http", move || dashboard::run(&shared, http))?;
    }
    handle.spawn("acceptor", move || acceptor.run())?;
    Ok(handle)
}

/// Writes the first line of the log: whether it evicts, how much memory it uses, and which tenants
/// share it.
fn announce(shared: &Shared) {
    let view = shared.view();
    let settings = &view.settings;
    let memory = match settings.maxmemory.0 {
        0 => "without a memory limit, so it never evicts (set maxmemory)".to_owned(),
        _ if !settings.maxmemory_policy.evicts() => {
            format!("up to {}, then refuses writes (noeviction)", settings.maxmemory)
        }
        _ => format!(
            "up to {}, then evicts ({}, recipe {})",
            settings.maxmemory,
            settings.maxmemory_policy.name(),
            settings.recipe
        ),
    };
    tracing::info!(
        "Larder {} is a cache: it holds data {memory}; tenants: {}; {} threads; listening on {}",
        env!("CARGO_PKG_VERSION"),
        view.names.join(", "),
        settings.io_threads,
        shared.listening.join(", ")
    );
    if !settings.ignored.is_empty() {
        let names: Vec<_> = settings.ignored.keys().map(String::as_str).collect();
        tracing::warn!("these directives mean nothing here and are ignored: {}", names.join(", "));
    }
    for warning in settings.first_doubts() {
        tracing::warn!("{warning}");
    }
}

/// The size of a thread's stack, in bytes. Scripts may nest a thousand tables.
const STACK: usize = 16 << 20;

impl Handle {
    fn spawn(&mut self, name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let builder = std::thread::Builder::new().name(name.into()).stack_size(STACK);
        let thread = builder.spawn(body);
        let thread = thread.map_err(|error| Error(format!("cannot start a thread: {error}")))?;
        self.threads.push(thread);
        Ok(())
    }

    /// The address of the first TCP port.
    pub const fn addr(&self) -> SocketAddr {
        self.address
    }

    /// The address that serves metrics; `None` if none does.
    pub const fn http_addr(&self) -> Option<SocketAddr> {
        self.http
    }

    /// All addresses and paths that it listens on.
    pub fn listening(&self) -> &[String] {
        &self.shared.listening
    }

    /// The names of the tenants, by number.
    pub fn tenants(&self) -> Vec<String> {
        self.shared.view().names.clone()
    }

    /// The store that holds the data.
    pub fn store(&self) -> &Arc<Store> {
        &self.shared.store
    }

    /// Declares that other parts of this process use much memory. Then its resident memory says
    /// nothing about the store, and none is reserved for the allocator.
    pub fn share_process(&self) {
        self.shared.owns_process.store(false, std::sync::atomic::Ordering::Relaxed);
    }

    /// A [`Stopper`] for this server.
    pub fn stopper(&self) -> Stopper {
        Stopper { shared: self.shared.clone(), bell: self.bell.clone() }
    }

    /// Waits until the server is asked to end. Returns false if a script then runs for longer than
    /// `most`: the process can end only without that thread, and without saving its data.
    #[must_use]
    pub fn may_end(&self, most: Duration) -> bool {
        self.shared.wait_for_stop();
        let asked = Instant::now();
        while self.shared.gate.script().since_ms().is_some() {
            if asked.elapsed() > most {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Waits until the server is asked to end.
    ///
    /// # Errors
    /// The data could not be saved, although the settings ask for it.
    pub fn wait(mut self) -> Result<(), Error> {
        self.join()
    }

    /// Ends the server and waits for its threads.
    pub fn stop(self) {
        drop(self);
    }

    fn join(&mut self) -> Result<(), Error> {
        let was_running = !self.threads.is_empty();
        for thread in self.threads.drain(..) {
            // Housekeeping sleeps between its rounds.
            if self.shared.is_stopping() {
                thread.thread().unpark();
                let _ = self.bell.wake();
            }
            let _ = thread.join();
            // The workers come first. After they have ended, the other threads are woken.
            let _ = self.bell.wake();
        }
        if was_running { warm::save(&self.shared) } else { Ok(()) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stopper().stop();
        // The log has the reason for a failure.
        let _ = self.join();
    }
}

impl Stopper {
    /// Ends the server.
    pub fn stop(&self) {
        self.shared.stop();
        let _ = self.bell.wake();
    }
}
