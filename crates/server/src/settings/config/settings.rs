//! The settings: the values of the directives, and the checks of their values together.

use super::error::Error;
use super::output_limit::OutputLimit;
use super::policy::Policy;
use super::value::{IoUring, Level, LogFormat};
use super::{DEFAULT_USER, Match, TenantConfig, User};
use crate::settings::memory_limit;
use base::{Bytes, Micros};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tune::{Recipe, recipe};

/// The lowest memory limit with which a server starts.
const MEMORY_MIN: Bytes = Bytes(64 << 10);

/// All settings. [`directive::all`] documents the directives; a field that is none documents
/// itself.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the list of directives documents each")]
#[allow(clippy::struct_excessive_bools, reason = "each is a directive of its own")]
pub struct Settings {
    pub port: u16,
    pub bind: Vec<String>,
    pub listeners: Vec<u16>,
    pub memcached_port: u16,
    pub memcached_item_max: Bytes,
    pub memcached_auth_file: String,
    pub memcached_bind: Vec<String>,
    pub memcached_shutdown: bool,
    pub memcached_flush_all: bool,
    pub memcached_dump: bool,
    pub memcached_watch: bool,
    pub memcached_cas: bool,
    /// `None` means a colon, and counting that is off at the start.
    pub memcached_delimiter: Option<u8>,
    /// `None` means the default port, if it is free.
    pub http_port: Option<u16>,
    pub http_bind: IpAddr,
    pub http_maxclients: usize,
    pub http_hosts: Vec<String>,
    pub tls_port: u16,
    pub tls_cert_file: String,
    pub tls_key_file: String,
    pub tls_ca_cert_file: String,
    pub tls_auth_clients: String,
    pub tls_protocols: String,
    pub memcached_tls: bool,
    pub cluster_config: String,
    pub cluster_node: String,
    /// Counts the directives set that name files to read. A directive set again rereads its files.
    pub files_generation: u64,
    pub memcached_unixsocket: PathBuf,
    pub unixsocket: PathBuf,
    pub unixsocketgroup: String,
    pub unixsocketperm: u32,
    pub tcp_backlog: i32,
    pub tcp_keepalive: u64,
    pub timeout: u64,
    pub maxclients: usize,
    pub protected_mode: bool,
    pub users: Vec<Arc<User>>,
    /// The password of the user `default`, as `requirepass` set it.
    pub requirepass: String,
    pub auth_delay_max: u64,
    /// In milliseconds.
    pub busy_reply_threshold: u64,
    pub aclfile: String,
    pub acllog_max_len: usize,
    pub acl_pubsub_default: String,
    pub availability_zone: String,
    pub databases: u32,
    pub maxmemory: Bytes,
    /// The share of the machine's or the container's memory that `maxmemory` was set to.
    pub maxmemory_share: Option<f64>,
    pub maxmemory_policy: Policy,
    pub maxmemory_samples: u8,
    /// The division of pages into chunks.
    pub slab: store::Slab,
    pub recipe: Recipe,
    /// Whether a large new value competes with the items that it would evict.
    pub admission: bool,
    pub compression: store::CompressionSettings,
    pub tenants: Vec<TenantConfig>,
    pub io_threads: usize,
    pub io_uring: IoUring,
    pub proto_max_bulk_len: Bytes,
    pub client_query_buffer_limit: Bytes,
    pub output_normal: OutputLimit,
    pub output_pubsub: OutputLimit,
    pub tracking_max_keys: usize,
    pub latency_threshold_ms: u64,
    pub latency_percentiles: Vec<f64>,
    pub latency_tracking: bool,
    /// The classes of events that are notified, as bits.
    pub notify: u32,
    pub slowlog_slower_than: i64,
    pub slowlog_max_len: usize,
    pub large_request: i64,
    pub large_request_max_len: usize,
    pub large_reply: i64,
    pub large_reply_max_len: usize,
    pub loglevel: Level,
    pub log_format: LogFormat,
    pub logfile: String,
    pub pidfile: String,
    pub daemonize: bool,
    pub warm_restart_file: String,
    pub dir: String,
    pub dump_max: Bytes,
    pub dump_rate: Bytes,
    pub dump_bucket: Micros,
    /// The directives of Redis that were set and that Larder ignores.
    pub ignored: BTreeMap<String, String>,
}

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            port: 6379,
            bind: vec!["127.0.0.1".into(), "-::1".into()],
            listeners: vec![],
            memcached_port: 0,
            memcached_item_max: Bytes(1 << 20),
            memcached_auth_file: String::new(),
            memcached_bind: vec![],
            memcached_shutdown: false,
            memcached_flush_all: true,
            memcached_dump: true,
            memcached_watch: true,
            memcached_cas: true,
            memcached_delimiter: None,
            http_port: None,
            http_bind: IpAddr::from([127, 0, 0, 1]),
            http_maxclients: 64,
            http_hosts: vec![],
            tls_port: 0,
            tls_cert_file: String::new(),
            tls_key_file: String::new(),
            tls_ca_cert_file: String::new(),
            tls_auth_clients: "yes".into(),
            tls_protocols: String::new(),
            memcached_tls: false,
            cluster_config: String::new(),
            cluster_node: String::new(),
            files_generation: 0,
            memcached_unixsocket: PathBuf::new(),
            unixsocket: PathBuf::new(),
            unixsocketgroup: String::new(),
            unixsocketperm: 0,
            tcp_backlog: 511,
            tcp_keepalive: 300,
            timeout: 0,
            maxclients: 10_000,
            protected_mode: true,
            users: vec![Arc::new(User::everybody())],
            requirepass: String::new(),
            auth_delay_max: 2_000,
            busy_reply_threshold: 5_000,
            aclfile: String::new(),
            acllog_max_len: 128,
            acl_pubsub_default: "resetchannels".into(),
            availability_zone: String::new(),
            databases: 16,
            maxmemory: Bytes(0),
            maxmemory_share: None,
            maxmemory_policy: Policy::Auto,
            maxmemory_samples: 5,
            admission: true,
            compression: store::CompressionSettings::AUTO,
            slab: store::Slab::default(),
            recipe: recipe::parse("auto").unwrap_or(*recipe::ALL[0]),
            tenants: vec![],
            io_threads: cores.clamp(1, 8),
            io_uring: IoUring::Auto,
            proto_max_bulk_len: Bytes(512 << 20),
            client_query_buffer_limit: Bytes::GIB,
            // A client may send a whole pipeline before it reads replies, so this is generous.
            output_normal: OutputLimit { hard: Bytes::GIB, soft: Bytes(0), seconds: 0 },
            output_pubsub: OutputLimit { hard: Bytes(32 << 20), soft: Bytes(8 << 20), seconds: 60 },
            tracking_max_keys: 1_000_000,
            latency_threshold_ms: 0,
            latency_percentiles: vec![50.0, 99.0, 99.9],
            latency_tracking: true,
            notify: 0,
            slowlog_slower_than: 10_000,
            slowlog_max_len: 128,
            large_request: 1 << 20,
            large_request_max_len: 128,
            large_reply: 1 << 20,
            large_reply_max_len: 128,
            loglevel: Level::Notice,
            log_format: LogFormat::Text,
            logfile: String::new(),
            pidfile: String::new(),
            daemonize: false,
            warm_restart_file: String::new(),
            dir: ".".into(),
            dump_max: Bytes(0),
            dump_rate: Bytes(100 << 20),
            dump_bucket: Micros::from_secs(600),
            ignored: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Settings of a server inside another program or a test: a free port of loopback, without a
    /// memory limit or metrics.
    pub fn loopback() -> Self {
        Self { port: 0, bind: vec!["127.0.0.1".into()], http_port: Some(0), ..Self::default() }
    }

    /// The user with this name.
    pub fn user(&self, name: &str) -> Option<&Arc<User>> {
        self.users.iter().find(|user| user.name == name)
    }

    /// Adds a user, or replaces the one with the same name. Users are kept in the order of their
    /// names.
    pub(crate) fn set_user(&mut self, user: User) {
        match self.users.binary_search_by(|known| known.name.cmp(&user.name)) {
            Ok(at) => self.users[at] = Arc::new(user),
            Err(at) => self.users.insert(at, Arc::new(user)),
        }
    }

    /// The user with this name, or a new one.
    pub(crate) fn user_or_new(&self, name: &str) -> User {
        self.user(name).map_or_else(|| self.new_user(name), |user| User::clone(user))
    }

    /// A new user.
    pub(crate) fn new_user(&self, name: &str) -> User {
        let mut user = User::new(name);
        // This is a word of the rules, so it cannot fail.
        let _ =
            user.apply(std::slice::from_ref(&self.acl_pubsub_default), &self.acl_pubsub_default);
        user
    }

    /// Reads the users of the aclfile, if the settings name one.
    ///
    /// # Errors
    /// An error in the file, or users that are also defined elsewhere.
    pub(crate) fn read_users(&mut self) -> Result<(), Error> {
        if self.aclfile.is_empty() {
            return Ok(());
        }
        if self.users != Self::default().users {
            return Err(Error(
                "the configuration defines users and also names an aclfile: define all users in \
                 one of the two"
                    .into(),
            ));
        }
        let users = crate::settings::acl::read(self)?;
        self.users = users.into_iter().map(Arc::new).collect();
        Ok(())
    }

    /// Whether clients need no password.
    pub fn is_open(&self) -> bool {
        self.user(DEFAULT_USER).is_some_and(|user| user.enabled && user.nopass)
    }

    /// The addresses for memcached's protocol, as the settings write them.
    pub(crate) const fn memcached_addresses(&self) -> &Vec<String> {
        if self.memcached_bind.is_empty() { &self.bind } else { &self.memcached_bind }
    }

    /// Every TCP port except the first.
    pub fn extra_ports(&self) -> Vec<u16> {
        let matched = self.tenants.iter().flat_map(|tenant| &tenant.matches);
        let matched = matched.filter_map(|rule| match rule {
            Match::Listener(port) => Some(*port),
            _ => None,
        });
        let mut ports: Vec<u16> = self.listeners.iter().copied().chain(matched).collect();
        ports.sort_unstable();
        ports.dedup();
        ports.retain(|port| ![self.port, self.memcached_port, self.tls_port].contains(port));
        ports
    }

    /// Whether a command that took this many microseconds belongs in the slow log.
    #[inline]
    pub(crate) const fn is_slow(&self, micros: u64) -> bool {
        self.slowlog_slower_than >= 0
            && micros >= self.slowlog_slower_than as u64
            && self.slowlog_max_len > 0
    }

    /// The smallest size in bytes at which a command or its reply is logged as large.
    pub(crate) fn large_from(&self) -> u64 {
        let sizes = [self.large_request, self.large_reply].into_iter();
        sizes.filter_map(|size| u64::try_from(size).ok()).min().unwrap_or(u64::MAX)
    }

    /// Checks values that a server must not start with. A running server may get a limit below the
    /// size of its items, as a way to refuse writes.
    ///
    /// # Errors
    /// The setting to change.
    pub(crate) fn check_start(&self) -> Result<(), Error> {
        if (1..MEMORY_MIN.0).contains(&self.maxmemory.0) {
            return Err(Error(format!(
                "maxmemory {} is too small for any item: set it to at least {}, such as maxmemory \
                 100mb, or auto",
                self.maxmemory.written(),
                MEMORY_MIN.written()
            )));
        }
        Ok(())
    }

    /// Checks that no two tenants have the same rule.
    fn check_rules(&self) -> Result<(), Error> {
        for (at, tenant) in self.tenants.iter().enumerate() {
            let others = || self.tenants[..at].iter();
            let server = tenant.matches.iter().find_map(|rule| {
                Some((rule, others().find(|other| other.matches.contains(rule))?))
            });
            if let Some((rule, other)) = server {
                let rule = rule.to_string();
                return Err(Error(format!(
                    "tenants {} and {} both match {rule}: remove the rule from one of them",
                    other.name, tenant.name
                )));
            }
        }
        Ok(())
    }

    /// Checks rules that involve several directives.
    ///
    /// # Errors
    /// Settings that conflict, and the directive to change.
    pub fn check(&self) -> Result<(), Error> {
        let floors: Bytes = self.tenants.iter().map(|tenant| tenant.min).sum();
        let machine = memory_limit::bytes_of(1.0);
        if self.maxmemory.0 == 0 && machine.0 > 0 && floors > machine {
            return Err(Error(format!(
                "the tenants' min add up to {floors}, but this machine has {machine}: lower a min"
            )));
        }
        if self.maxmemory.0 > 0 && floors > self.maxmemory {
            return Err(Error(format!(
                "the tenants' min add up to {floors}, but maxmemory is {}: lower a min or raise \
                 maxmemory",
                self.maxmemory
            )));
        }
        let recipe = self.recipe;
        let promised = self.tenants.iter().find(|tenant| tenant.target.is_some());
        if let Some(tenant) = promised.filter(|_| !recipe.keeps_promises()) {
            return Err(Error(format!(
                "tenant {} has a target, but recipe {recipe} ignores targets: set recipe auto, \
                 lama or kredis:planner=qos",
                tenant.name
            )));
        }
        let tls = self.tls_port > 0 || self.memcached_tls;
        if tls && (self.tls_cert_file.is_empty() || self.tls_key_file.is_empty()) {
            return Err(Error(
                "TLS needs a certificate: set tls-cert-file and tls-key-file".into(),
            ));
        }
        if tls && self.tls_auth_clients != "no" && self.tls_ca_cert_file.is_empty() {
            return Err(Error(
                "the server cannot check clients' certificates: set tls-ca-cert-file, or \
                 tls-auth-clients no"
                    .into(),
            ));
        }
        if self.dump_max.0 > 0 && !Path::new(&self.dir).is_dir() {
            return Err(Error(format!(
                "dump-max needs a folder, but dir {} is not a folder: create it, or name another",
                self.dir
            )));
        }
        self.check_rules()?;
        for tenant in &self.tenants {
            for rule in &tenant.matches {
                if let Match::Db(db) = rule
                    && *db >= self.databases
                {
                    return Err(Error(format!(
                        "tenant {} matches db {db}, but databases is {}: raise databases",
                        tenant.name, self.databases
                    )));
                }
            }
        }
        Ok(())
    }
}
