//! Misbehaving clients beside the writers of a soak. The memory that each of them makes the server
//! use has a bound, and none of it comes from items.

use super::{ANSWERS_WITHIN, Client, LIMIT, next};
use anyhow::{Context, Result, anyhow, ensure};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

/// A client that misbehaves until it is stopped.
pub(super) type Other = fn(SocketAddr, &AtomicBool) -> Result<()>;

/// All misbehaving clients.
pub(super) const OTHERS: &[Other] =
    &[slow_reader, slow_reader, slow_reader, slow_reader, refused, endless, greedy];

/// The time for which a slow reader sends requests without reading.
const SLOW: Duration = Duration::from_secs(2);
/// The time for which a script runs before it is killed, beyond the threshold of the server.
const RUNS: Duration = Duration::from_millis(300);
/// The time between two endless scripts, in which the writers have the server to themselves.
const PAUSE: Duration = Duration::from_secs(2);

/// Requests keys of every size, reads nothing for a while, and then reads either all replies or
/// none.
fn slow_reader(address: SocketAddr, stop: &AtomicBool) -> Result<()> {
    let mut state = Instant::now().elapsed().as_nanos() as u64;
    while !stop.load(Relaxed) {
        let mut stream = TcpStream::connect(address)?;
        stream.set_write_timeout(Some(Duration::from_millis(100)))?;
        stream.set_read_timeout(Some(Duration::from_millis(100)))?;
        let begun = Instant::now();
        while begun.elapsed() < SLOW && !stop.load(Relaxed) {
            let mut batch = vec![];
            for _ in 0..100 {
                let key = next(&mut state) % 40_000;
                write!(batch, "GET key:12:{key}\r\nPING\r\nMGET key:12:{key} key:12:7\r\n")?;
            }
            if stream.write_all(&batch).is_err() {
                // The server accepts no more bytes.
                thread::sleep(Duration::from_millis(50));
            }
        }
        if next(&mut state).is_multiple_of(2) {
            let mut chunk = vec![0; 64 << 10];
            while matches!(stream.read(&mut chunk), Ok(len) if len > 0) {}
        }
    }
    Ok(())
}

/// Sends writes that never fit, to a string and to a collection.
fn refused(address: SocketAddr, stop: &AtomicBool) -> Result<()> {
    let mut client = Client::connect(address)?;
    let beyond = (LIMIT + 1).to_string();
    while !stop.load(Relaxed) {
        client.ask(&["RPUSH", "refused:list", "a", "b"])?;
        for words in [
            &["SETRANGE", "refused:string", &beyond, "x"][..],
            &["SETBIT", "refused:bits", "4294967295", "1"],
            &["COPY", "refused:list", "refused:list"],
        ] {
            let reply = client.ask(words)?;
            ensure!(reply.starts_with('-'), "{} was answered with {reply}", words[0]);
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Runs scripts that never end, and kills them.
fn endless(address: SocketAddr, stop: &AtomicBool) -> Result<()> {
    while !stop.load(Relaxed) {
        let mut runs = Client::connect(address)?;
        let words = ["EVAL", "while true do redis.call('get', 'a') end", "0"];
        let command = words.map(|word| format!("${}\r\n{word}\r\n", word.len())).concat();
        runs.stream.write_all(format!("*3\r\n{command}").as_bytes())?;
        // A kill may hit the script of another client, behind which this script begins.
        runs.stream.set_read_timeout(Some(RUNS))?;
        let (begun, mut reply) = (Instant::now(), Err(anyhow!("the script was not killed")));
        while reply.is_err() && begun.elapsed() < ANSWERS_WITHIN {
            thread::sleep(RUNS);
            let asked = Instant::now();
            let killed = Client::connect(address)?.ask(&["SCRIPT", "KILL"]);
            let killed = killed.with_context(|| format!("KILL after {:?}", asked.elapsed()))?;
            ensure!(killed == "+OK" || killed.starts_with("-NOTBUSY"), "SCRIPT KILL said {killed}");
            reply = runs.line();
        }
        let reply = reply.context("the killed script's client")?;
        ensure!(reply.starts_with('-'), "a script without end was answered with {reply}");
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Runs scripts that use all the memory that a script may have.
fn greedy(address: SocketAddr, stop: &AtomicBool) -> Result<()> {
    let mut client = Client::connect(address)?;
    // Lua hashes only every 32nd byte of a long text.
    let script = "local t = {} while true do t[#t + 1] = string.rep(#t .. ' ', 200) end";
    while !stop.load(Relaxed) {
        let reply = client.ask(&["EVAL", script, "0"])?;
        ensure!(reply.starts_with('-'), "a greedy script was answered with {reply}");
        thread::sleep(PAUSE);
    }
    Ok(())
}
