//! `larder ping`: whether a server answers, for probes in containers without a shell.

use crate::settings::config::{DEFAULT_USER, Error};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wire::address::Address;
use wire::resp::{Reply, encode_command};

/// The longest answer, in bytes.
const ANSWER_MAX: usize = 64 << 10;

const EXAMPLES: &str = "\
Examples:
  larder ping
  larder ping -p 7000
  larder ping redis://user:password@cache:6379";

/// Check that a server answers: sends PING, and fails unless PONG comes back.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, after_help = EXAMPLES)]
pub struct PingArgs {
    /// The server's URL: redis://[user:password@]host[:port], instead of the flags
    #[arg(conflicts_with_all = ["host", "port", "socket"])]
    url: Option<String>,
    /// Host of the server
    #[arg(short = 'h', long, default_value = "127.0.0.1")]
    host: String,
    /// Port of the server
    #[arg(short, long, default_value_t = 6379)]
    port: u16,
    /// Unix socket of the server, instead of host and port
    #[arg(short, long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The user's name, if a password is given
    #[arg(long)]
    user: Option<String>,
    /// The user's password; by default the URL's, or LARDER_PASSWORD from the environment
    #[arg(short = 'a', long)]
    password: Option<String>,
    /// Seconds to wait for each step
    #[arg(long, default_value_t = 5)]
    timeout: u64,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// Sends PING to a server, and AUTH before it if needed.
///
/// # Errors
/// The reason why there was no answer, or the answer other than PONG.
pub fn ping(args: &PingArgs) -> Result<(), Error> {
    let wait = Duration::from_secs(args.timeout.max(1));
    let to = match &args.url {
        // All names of the scheme mean the same protocol.
        Some(url) => {
            let rest =
                ["valkey://", "larder://"].iter().find_map(|scheme| url.strip_prefix(scheme));
            let url = rest.map_or_else(|| url.clone(), |rest| format!("redis://{rest}"));
            Address::parse(&url).map_err(|error| Error(error.to_string()))?
        }
        None => Address { host: args.host.clone(), ..Address::loopback(args.port) },
    };
    let failed = |error| Error(format!("no answer: {error}"));
    let mut stream = connect(args.socket.as_deref(), &to, wait).map_err(failed)?;
    let (user, word) = to.login.unwrap_or_default();
    let of_url = Some(word).filter(|word| !word.is_empty());
    let password =
        args.password.clone().or(of_url).or_else(|| std::env::var("LARDER_PASSWORD").ok());
    if let Some(password) = &password {
        let user = args.user.clone().unwrap_or(user);
        let user = if user.is_empty() { DEFAULT_USER } else { &user };
        let reply = ask(&mut *stream, &["AUTH", user, password])?;
        if reply != "OK" {
            return Err(Error(reply));
        }
    }
    let reply = ask(&mut *stream, &["PING"])?;
    if reply != "PONG" {
        return Err(Error(format!("the server answered: {reply}")));
    }
    println!("PONG");
    Ok(())
}

fn connect(
    socket: Option<&Path>,
    to: &Address,
    wait: Duration,
) -> std::io::Result<Box<dyn Stream>> {
    if let Some(path) = socket {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(wait))?;
        return Ok(Box::new(stream));
    }
    let mut last = std::io::Error::other("the host has no address");
    for address in (to.host.as_str(), to.port).to_socket_addrs()? {
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

/// Sends a command, and returns the text of the reply.
fn ask(stream: &mut dyn Stream, words: &[&str]) -> Result<String, Error> {
    let failed = |error: std::io::Error| Error(format!("no answer: {error}"));
    let mut bytes = vec![];
    encode_command(&mut bytes, words);
    stream.write_all(&bytes).map_err(failed)?;
    let (mut answer, mut chunk) = (vec![], [0; 512]);
    // The server may be anything: an endless answer counts as none.
    while answer.len() < ANSWER_MAX {
        match Reply::decode(&answer) {
            Ok(Some((reply, _))) => {
                let text = reply.as_bytes().unwrap_or(match reply {
                    Reply::Error(text) => text,
                    _ => b"something else",
                });
                return Ok(String::from_utf8_lossy(text).into_owned());
            }
            Ok(None) => {}
            Err(_) => return Err(Error("the server does not speak Redis' protocol".into())),
        }
        match stream.read(&mut chunk).map_err(failed)? {
            0 => return Err(Error("the server closed the connection".into())),
            n => answer.extend_from_slice(&chunk[..n]),
        }
    }
    Err(Error("the server's answer is too long".into()))
}
