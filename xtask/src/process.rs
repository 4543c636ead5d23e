//! A server that a measurement starts, and that ends with the measurement.

use anyhow::{Context, Result, ensure};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The longest time that a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that is killed when it is dropped.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) port: u16,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    /// Starts a command whose server listens on `port`, and waits until the server answers.
    pub(crate) fn start(command: &mut Command, port: u16) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.stdout(Stdio::null()).spawn();
        let child =
            child.with_context(|| format!("could not start {program}: is it installed?"))?;
        let mut process = Self { child, port };
        let begun = Instant::now();
        while TcpStream::connect(process.address()).is_err() {
            ensure!(begun.elapsed() < PATIENCE, "{program} does not answer on port {port}");
            let ended = process.child.try_wait()?;
            ensure!(ended.is_none(), "{program} ended at once: see its output");
            thread::sleep(Duration::from_millis(50));
        }
        Ok(process)
    }

    /// The address on which the server listens.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }
}

/// A port that no server listens on.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
