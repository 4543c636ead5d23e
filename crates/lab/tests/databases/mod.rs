//! Database servers for tests: a new PostgreSQL or MariaDB in a folder of its own, on a free port
//! of this machine. It ends when it is dropped, and its folder is removed.
//!
//! Where the programs are not installed there is no server. This file needs the standard library
//! and `anyhow` alone, so that a measurement can include it by its path.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for a server to take connections, or to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Words in the logs of the servers, once they take connections.
const READY: [&str; 2] = ["ready to accept connections", "ready for connections"];
/// Id of the user `nobody`: database servers do not run as root.
const NOBODY: u32 = 65_534;
/// User of the databases, and the password.
const USER: &str = "bench";
const PASSWORD: &str = "s3cret";

/// A PostgreSQL server.
pub(crate) struct Postgres(Server);

/// A MariaDB server.
pub(crate) struct MariaDb(Server);

impl Postgres {
    /// Starts a server, or returns `None` where it is not installed.
    pub(crate) fn start() -> Result<Option<Self>> {
        let Some(bin) = postgres_folder() else { return Ok(None) };
        let folder = Folder::new("postgres")?;
        let (data, password) = (folder.path.join("data"), folder.path.join("password"));
        fs::write(&password, PASSWORD)?;
        folder.give()?;
        let mut init = folder.command(&bin.join("initdb"));
        init.args([
            "--username",
            USER,
            "--auth",
            "scram-sha-256",
            "--no-sync",
            "--encoding",
            "UTF8",
            "--no-locale",
        ]);
        init.arg("--pwfile").arg(&password).arg("--pgdata").arg(&data);
        run(&mut init)?;
        let mut server = folder.command(&bin.join("postgres"));
        server.arg("-D").arg(&data).args(["-c", "listen_addresses=127.0.0.1"]);
        server.args(["-c", "unix_socket_directories=", "-c", "fsync=off"]);
        let port = free_port()?;
        server.args(["-p", &port.to_string()]);
        Ok(Some(Self(Server::start(server, folder, port, "-QUIT")?)))
    }

    /// URL of its database, with user and password.
    pub(crate) fn url(&self) -> String {
        format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{}/postgres", self.0.port)
    }
}

impl MariaDb {
    /// Starts a server, or returns `None` where it is not installed.
    pub(crate) fn start() -> Result<Option<Self>> {
        let found = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from).into_iter().chain(path());
        let Some(mariadbd) = found.map(|bin| bin.join("mariadbd")).find(|file| file.exists())
        else {
            return Ok(None);
        };
        let folder = Folder::new("mariadb")?;
        let (data, first) = (folder.path.join("data"), folder.path.join("first.sql"));
        fs::write(
            &first,
            format!(
                "CREATE DATABASE bench;
                 CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}';
                 GRANT ALL ON *.* TO {USER}@'%';
                 CREATE USER {USER}@localhost IDENTIFIED BY '{PASSWORD}';
                 GRANT ALL ON *.* TO {USER}@localhost;"
            ),
        )?;
        folder.give()?;
        let mut init = folder.command(Path::new("mariadb-install-db"));
        init.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        init.arg(format!("--datadir={}", data.display()));
        run(&mut init)?;
        let mut server = folder.command(&mariadbd);
        server.args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-log-bin"]);
        server.arg(format!("--datadir={}", data.display()));
        server.arg(format!("--socket={}", folder.path.join("socket").display()));
        server.arg(format!("--init-file={}", first.display()));
        let port = free_port()?;
        server.arg(format!("--port={port}"));
        Ok(Some(Self(Server::start(server, folder, port, "-KILL")?)))
    }

    /// URL of its database, with user and password.
    pub(crate) fn url(&self) -> String {
        format!("mysql://{USER}:{PASSWORD}@127.0.0.1:{}/bench", self.0.port)
    }
}

/// A server that ends when it is dropped, and its folder with it.
struct Server {
    child: Child,
    port: u16,
    /// Signal that ends it at once: PostgreSQL leaves shared memory behind if it is killed.
    signal: &'static str,
    _folder: Folder,
}

impl Server {
    /// Starts the server, and waits until it takes connections.
    fn start(
        mut command: Command,
        folder: Folder,
        port: u16,
        signal: &'static str,
    ) -> Result<Self> {
        let log = folder.path.join("log");
        let file = fs::File::create(&log)?;
        let child = command.stdout(file.try_clone()?).stderr(file).spawn()?;
        let mut server = Self { child, port, signal, _folder: folder };
        let begun = Instant::now();
        // A port may be open before the server is ready; the log says when it is.
        while !READY
            .iter()
            .any(|words| fs::read_to_string(&log).is_ok_and(|log| log.contains(words)))
        {
            let ended = server.child.try_wait()?.is_some() || begun.elapsed() > PATIENCE;
            ensure!(!ended, "{command:?}: {}", fs::read_to_string(&log)?);
            thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").args([self.signal, &self.child.id().to_string()]).status();
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begun.elapsed() > PATIENCE {
                let _ = self.child.kill();
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A folder that is removed when it is dropped.
struct Folder {
    path: PathBuf,
    /// Whether this process runs as root, so that the folder belongs to `nobody`.
    root: bool,
}

impl Folder {
    fn new(name: &str) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (id, number) = (std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(format!("larder-{name}-{id}-{number}"));
        fs::create_dir_all(&path)?;
        let root = fs::metadata(&path)?.uid() == 0;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        Ok(Self { path, root })
    }

    /// Gives the folder and its files to the user that the server runs as.
    fn give(&self) -> Result<()> {
        if self.root {
            for entry in fs::read_dir(&self.path)? {
                chown(entry?.path(), Some(NOBODY), Some(NOBODY))?;
            }
            chown(&self.path, Some(NOBODY), Some(NOBODY))?;
        }
        Ok(())
    }

    /// A command that runs in the folder, as its owner.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.path).stdin(Stdio::null());
        if self.root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {words}");
    Ok(())
}

/// The folders of the PATH.
fn path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// The folder of `initdb` and `postgres`: in the PATH, or where Debian has it.
fn postgres_folder() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<_> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort();
    let both = |bin: &PathBuf| ["initdb", "postgres"].iter().all(|name| bin.join(name).exists());
    path().into_iter().chain(folders.into_iter().rev()).find(both)
}

/// A port on which no server listens.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
