//! `larder ping`: whether a server answers, for probes in containers without a shell.

use crate::config::Error;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use wire::resp::{Reply, encode_command};

/// Ask a server whether it is there; fails unless it answers PONG.
#[derive(Debug, clap::Args)]
pub struct PingArgs {
    /// Its host.
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Its port.
    #[arg(long, default_value_t = 6379)]
    port: u16,
    /// Its Unix socket, instead of host and port.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The user's name, if a password is given.
    #[arg(long, default_value = "default")]
    user: String,
    /// The user's password; else what the environment has as LARDER_PASSWORD.
    #[arg(long)]
    password: Option<String>,
    /// Seconds to wait for each step.
    #[arg(long, default_value_t = 5)]
    timeout: u64,
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// Asks.
///
/// # Errors
/// Why there was no answer, or what was answered instead of PONG.
pub fn ping(args: &PingArgs) -> Result<(), Error> {
    let wait = Duration::from_secs(args.timeout.max(1));
    let mut stream = connect(args, wait).map_err(|error| Error(format!("no answer: {error}")))?;
    let password = args.password.clone().or_else(|| std::env::var("LARDER_PASSWORD").ok());
    if let Some(password) = &password {
        let reply = ask(&mut *stream, &["AUTH", &args.user, password])?;
        if reply != "OK" {
            return Err(Error(reply));
        }
    }
    let reply = ask(&mut *stream, &["PING"])?;
    if reply != "PONG" {
        return Err(Error(format!("answered: {reply}")));
    }
    println!("PONG");
    Ok(())
}

fn connect(args: &PingArgs, wait: Duration) -> std::io::Result<Box<dyn Stream>> {
    if let Some(path) = &args.socket {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(wait))?;
        return Ok(Box::new(stream));
    }
    let mut last = std::io::Error::other("the host has no address");
    for address in (args.host.as_str(), args.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, wait) {
            Ok(stream) => {
                stream.set_read_timeout(Some(wait))?;
                return Ok(Box::new(stream));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The text of a reply.
fn ask(stream: &mut dyn Stream, words: &[&str]) -> Result<String, Error> {
    let failed = |error: std::io::Error| Error(format!("no answer: {error}"));
    let mut bytes = vec![];
    encode_command(&mut bytes, words);
    stream.write_all(&bytes).map_err(failed)?;
    let (mut answer, mut chunk) = (vec![], [0; 512]);
    loop {
        match Reply::decode(&answer) {
            Ok(Some((reply, _))) => {
                let text = reply.as_bytes().unwrap_or(match reply {
                    Reply::Error(text) => text,
                    _ => b"something else",
                });
                return Ok(String::from_utf8_lossy(text).into_owned());
            }
            Ok(None) => {}
            Err(_) => return Err(Error("it does not speak the protocol of Redis".into())),
        }
        match stream.read(&mut chunk).map_err(failed)? {
            0 => return Err(Error("it closed the connection".into())),
            n => answer.extend_from_slice(&chunk[..n]),
        }
    }
}
