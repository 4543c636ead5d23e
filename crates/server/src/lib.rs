//! The server: sockets, commands, configuration.
//!
//! [`start`] opens the listeners and starts the threads; the returned [`Handle`] ends them. Worker
//! threads share one store (`net/worker.rs`), and one of them may run alone
//! (`services/exclusive.rs`). An acceptor hands them connections (`net/acceptor.rs`), and a thread
//! does the housekeeping (`background/housekeeping.rs`). All commands are in one table
//! (`families.rs`), and all directives in another (`settings/config/list/`).
//!
//! The folders are floors. A file imports from lower floors, or from a file of its own floor that
//! imports nothing of that floor.
//!
//! ```text
//!   process                         start, signals, reload, ping
//!   net                             sockets, workers, pages over HTTP
//!   background  families            pilot, history, housekeeping, dumps; the table of all commands
//!   commands  memcached  scripting  one file for each family of commands
//!   execute                         code around a command
//!   call      observe               a command while it runs; reports
//!   server    session               the state of the server, and of a connection
//!   services                        clients, exclusive access, counts, logs
//!   settings  facts                 directives, users, cluster; facts about commands
//!   values    text                  layouts of values; patterns, numbers
//! ```
#![forbid(unsafe_code)]

mod background;
mod call;
mod commands;
mod execute;
mod facts;
mod families;
mod memcached;
mod net;
mod observe;
mod process;
mod scripting;
mod server;
mod services;
mod session;
mod settings;
mod text;
mod values;

pub use facts::CommandDoc;
pub use families::about;
pub use process::check::{ConfigArgs, check_config};
pub use process::ping::{PingArgs, ping};
pub use process::serve::{Args, run};
pub use settings::config::{self, Error, Settings};

use background::{compression, dump, housekeeping, pilot, process_memory, warm};
use net::acceptor::{Acceptor, Bell};
use net::http;
use net::listener;
use net::worker::Worker;
use server::{Opened, Server};
use services::mail::Mailbox;
use settings::fd_limit;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use store::Store;

/// A running server. Dropping the handle ends the server.
#[derive(Debug)]
pub struct Handle {
    server: Arc<Server>,
    bell: Arc<Bell>,
    address: SocketAddr,
    http: Option<SocketAddr>,
    threads: Vec<JoinHandle<()>>,
}

/// Ends a server from another thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    server: Arc<Server>,
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
    families::install();
    memcached::install();
    settings.check()?;
    settings.check_start()?;
    settings.read_users()?;
    fd_limit::fit(&mut settings)?;
    let listeners = listener::open(&settings)?;
    let address = listeners.iter().find_map(listener::Listener::address);
    let address = address.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
    let http = match settings.http_port {
        Some(0) => None,
        port => http::open(settings.http_bind, port)?,
    };
    let sockets = listeners.iter().map(listener::Listener::socket).collect();
    let mut listening: Vec<_> = listeners.iter().map(listener::Listener::describe).collect();
    listening.extend(http.as_ref().map(|http| format!("{} (http)", http.address)));
    let mut polls = vec![];
    let mut mailboxes = vec![];
    for _ in 0..settings.io_threads {
        let poll = mio::Poll::new().map_err(failed)?;
        mailboxes.push(Mailbox::new(poll.registry()).map_err(failed)?);
        polls.push(poll);
    }
    let server = Arc::new(Server::new(settings, mailboxes, Opened { listening, sockets, file })?);
    announce(&server);
    let opened = warm::open(&server);
    let (mut acceptor, bell) = Acceptor::new(listeners, server.clone()).map_err(failed)?;
    let is_alone = polls.len() == 1;
    if is_alone {
        acceptor.join(polls[0].registry()).map_err(failed)?;
    }
    let mut handle = Handle {
        server,
        bell: Arc::new(bell),
        address,
        http: http.as_ref().map(|http| http.address),
        threads: vec![],
    };
    let mut acceptor = Some(acceptor);
    for (number, poll) in polls.into_iter().enumerate() {
        let server = handle.server.clone();
        let own = if is_alone { acceptor.take() } else { None };
        handle.spawn(&format!("worker-{number}"), move || {
            Worker::new(number, poll, server).run(own);
        })?;
    }
    if let Some(opened) = opened {
        let server = handle.server.clone();
        handle.spawn("restore", move || warm::run(&server, opened))?;
    }
    let server = handle.server.clone();
    handle.spawn("housekeeping", move || housekeeping::run(&server))?;
    let server = handle.server.clone();
    handle.spawn("compression", move || {
        let (clock, process) = (&server.clock, &server.process);
        compression::run(
            &server.store,
            &server.compressor,
            || clock.now(),
            || process.is_stopping(),
        );
    })?;
    let server = handle.server.clone();
    handle.spawn("resident", move || {
        process_memory::run(&server.process, &server.stats, &server.store);
    })?;
    let server = handle.server.clone();
    handle.spawn("pilot", move || pilot::run(&server))?;
    let server = handle.server.clone();
    handle.spawn("transfer", move || dump::run(&server))?;
    if let Some(http) = http {
        let server = handle.server.clone();
        handle.spawn("http", move || dashboard::run(&server, http))?;
    }
    if let Some(acceptor) = acceptor {
        handle.spawn("acceptor", move || acceptor.run())?;
    }
    Ok(handle)
}

/// Writes the first line of the log: whether it evicts, how much memory it uses, and which tenants
/// share it.
fn announce(server: &Server) {
    let view = server.view.now();
    let settings = &view.settings;
    tracing::info!(
        "Larder {} is a cache: it holds data {}; tenants: {}; {} threads; listening on {}",
        env!("CARGO_PKG_VERSION"),
        settings.memory_use(),
        view.names.join(", "),
        settings.io_threads,
        server.process.listening().join(", ")
    );
    if !settings.ignored.is_empty() {
        let names: Vec<_> = settings.ignored.keys().map(String::as_str).collect();
        tracing::warn!("Larder ignores these directives: {}", names.join(", "));
    }
    for warning in settings.first_warnings() {
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
        self.server.process.listening()
    }

    /// The names of the tenants, by number.
    pub fn tenants(&self) -> Vec<String> {
        self.server.view.now().names.clone()
    }

    /// The store that holds the data.
    pub fn store(&self) -> &Arc<Store> {
        &self.server.store
    }

    /// Declares that other parts of this process use much memory. Then its resident memory says
    /// nothing about the store, and none is reserved for the allocator.
    pub fn share_process(&self) {
        self.server.process.share();
    }

    /// A [`Stopper`] for this server.
    pub fn stopper(&self) -> Stopper {
        Stopper { server: self.server.clone(), bell: self.bell.clone() }
    }

    /// Waits until the server is asked to end. Returns false if a script then runs for longer than
    /// `most`: the process can end only without that thread, and without saving its data.
    #[must_use]
    pub fn may_end(&self, most: Duration) -> bool {
        self.server.process.wait_for_stop();
        let asked = Instant::now();
        while self.server.turns.gate.script().since_ms().is_some() {
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
            if self.server.process.is_stopping() {
                thread.thread().unpark();
                let _ = self.bell.wake();
            }
            let _ = thread.join();
            // The workers come first. After they have ended, the other threads are woken.
            let _ = self.bell.wake();
        }
        if was_running { warm::save(&self.server) } else { Ok(()) }
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
        self.server.stop();
        let _ = self.bell.wake();
    }
}
