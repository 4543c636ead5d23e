//! The process: its identity, its listeners, and its end.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

/// The listeners and the settings file of the start.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    /// The ports and paths of the listeners.
    pub(crate) listening: Vec<String>,
    /// The listeners again, by socket number and with addresses in memcached's form.
    pub(crate) sockets: Vec<(i32, String)>,
    /// The settings file.
    pub(crate) file: Option<PathBuf>,
}

/// The process that serves.
#[derive(Debug)]
pub(crate) struct ProcessInfo {
    opened: Opened,
    /// The driver of the first worker: io_uring or epoll.
    driver: OnceLock<&'static str>,
    run_id: String,
    started_unix: u64,
    /// Whether the server is ending, and the thread that waits for that.
    is_stopping: AtomicBool,
    waiting: OnceLock<Thread>,
    is_shared: AtomicBool,
}

impl ProcessInfo {
    pub(super) fn new(opened: Opened, unix_us: u64) -> Self {
        let seed = base::hash::mix(unix_us ^ u64::from(std::process::id()) << 40);
        let parts: [u64; 3] = std::array::from_fn(|i| base::hash::mix(seed ^ i as u64));
        Self {
            opened,
            driver: OnceLock::new(),
            run_id: format!("{:016x}{:016x}{:08x}", parts[0], parts[1], parts[2] as u32),
            started_unix: unix_us / 1_000_000,
            is_stopping: AtomicBool::new(false),
            waiting: OnceLock::new(),
            is_shared: AtomicBool::new(false),
        }
    }

    /// The ports and paths of the listeners.
    pub(crate) fn listening(&self) -> &[String] {
        &self.opened.listening
    }

    /// The listeners by socket number, with addresses in memcached's form.
    pub(crate) fn sockets(&self) -> &[(i32, String)] {
        &self.opened.sockets
    }

    /// The settings file of the start.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        self.opened.file.as_ref()
    }

    /// Forty hexadecimal digits that identify this run.
    pub(crate) fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The time of the start, in Unix seconds.
    pub(crate) const fn started_unix(&self) -> u64 {
        self.started_unix
    }

    /// The name of the workers' driver.
    pub(crate) fn driver(&self) -> &'static str {
        self.driver.get().copied().unwrap_or("epoll")
    }

    /// Notes the driver of a worker: all choose the same one.
    pub(crate) fn note_driver(&self, name: &'static str) {
        self.driver.get_or_init(|| name);
    }

    /// Notes that other parts of the process use much memory, too.
    pub(crate) fn share(&self) {
        self.is_shared.store(true, Ordering::Relaxed);
    }

    /// Whether other parts of the process use much memory, too. Then its resident memory tells
    /// nothing about the store.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared.load(Ordering::Relaxed)
    }

    /// Whether the server is ending.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Waits until the server is ending.
    pub(crate) fn wait_for_stop(&self) {
        self.waiting.get_or_init(std::thread::current);
        while !self.is_stopping() {
            std::thread::park();
        }
    }

    /// Notes that the server is ending, and wakes the thread that waits for that.
    pub(super) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        if let Some(waiting) = self.waiting.get() {
            waiting.unpark();
        }
    }
}
