//! The processor time of a request, beside redis-server, and the share of the loop in it.
//!
//! The compared figure is the time that the kernel charged to the server's threads, divided by
//! requests. Unlike requests a second, it does not depend on other programs on the machine's cores.
//! Servers run with one thread each on one core, redis-benchmark on another.
//!
//! Redis-server, or another server that takes its arguments, runs in turn with Larder, and the
//! figures are medians of some rounds, because the difference is large. Larder is measured with its
//! default recipe and both drivers of its event loop, and with the recipe `static`. One request in
//! eleven is a SET, from clients of their own, and the others are GETs.
//!
//! The loop's share is small, and a shared machine drifts by more from one second to the next. Two
//! processes of one program also differ, by the addresses of their memory. So two Larders are
//! loaded **at the same time**, one with the loop and one without, and both meet the same machine.
//! Then they swap roles, and the geometric mean of both ratios cancels the difference of the
//! processes. In between, both run without the loop: the deviation of that ratio from one is the
//! error of the method.
//!
//! All keys fit and nothing is evicted, so the figures say nothing about eviction. Requests use
//! loopback, whose cost in the kernel is most of a request at depth 1.

use crate::process::{Process, free_port};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Processor time of a request at depth 1 is from 0.8 to 1.1 of the median in one round.
const ROUNDS: usize = 11;
const CLIENTS: &str = "50";
/// Depth of the pipeline, and requests of a run.
const DEPTHS: [(u32, u32); 2] = [(1, 200_000), (16, 1_000_000)];
/// Depth of the pipeline, and requests of a run, beside redis-server.
const MIXED: [(u32, u32); 3] = [(1, 220_000), (16, 1_100_000), (64, 2_200_000)];
/// Connections that write and that read, and their shares of the requests.
const SIDES: [(&str, u32, u32); 2] = [("set", 5, 1), ("get", 45, 10)];
/// Keys of the requests.
const KEYS: &str = "1000000";
/// Bytes of a value.
const VALUE: &str = "200";
const COMMANDS: [&str; 2] = ["set", "get"];
/// Load after a change of the recipe and before a measurement, so that the loop has found its
/// sampling rate.
const SETTLE: Duration = Duration::from_secs(4);
/// Swaps of roles for one line of the loop's table; odd, so that there is a median.
const EXCHANGES: usize = 3;
/// Seconds of load for one figure of the loop's table.
const LOAD: Duration = Duration::from_secs(4);
/// Requests of each command before any measurement, so that tables have grown.
const WARM_UP: u32 = 2_000_000;

pub(crate) struct Server {
    name: String,
    pub(crate) process: Process,
}

impl Server {
    /// Starts `command --port PORT` on these cores.
    pub(crate) fn start(name: &str, cores: &str, command: &[&str]) -> Result<Self> {
        let port = free_port()?;
        let mut taskset = Command::new("taskset");
        let flag = if command[0].contains("memcached") { "-p" } else { "--port" };
        taskset.args(["-c", cores]).args(command).args([flag, &port.to_string()]);
        let process = Process::start(taskset.stderr(Stdio::null()), port)?;
        Ok(Self { name: name.into(), process })
    }

    /// The server's name in tables.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Seconds that the kernel has charged to the threads of the server.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        let mut nanos = 0u64;
        for thread in fs::read_dir(format!("/proc/{}/task", self.process.child.id()))? {
            let text = fs::read_to_string(thread?.path().join("schedstat"))?;
            nanos += text.split(' ').next().unwrap_or_default().parse::<u64>()?;
        }
        Ok(nanos as f64 / 1e9)
    }

    /// Switches to a recipe.
    fn follow(&self, recipe: &str) -> Result<()> {
        let status = Command::new("redis-cli")
            .args(["-p", &self.process.port.to_string(), "config", "set", "recipe", recipe])
            .stdout(Stdio::null())
            .status()
            .context("could not start redis-cli: is it installed?")?;
        ensure!(status.success(), "{} does not accept recipe {recipe}", self.name);
        Ok(())
    }

    /// Starts `clients` clients that send `requests` requests.
    fn load(&self, command: &str, clients: &str, depth: u32, requests: u32) -> Result<Child> {
        Command::new("taskset")
            .args(["-c", "1", "redis-benchmark", "-q", "-c", clients, "-r", KEYS, "-d", VALUE])
            .args(["-p", &self.process.port.to_string(), "-t", command])
            .args(["-n", &requests.to_string(), "-P", &depth.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("could not start redis-benchmark: is it installed?")
    }

    /// Writes and reads until tables have grown.
    fn warm_up(&self) -> Result<()> {
        for command in COMMANDS {
            let status = self.load(command, CLIENTS, 16, WARM_UP)?.wait()?;
            ensure!(status.success(), "redis-benchmark failed against {}", self.name);
        }
        Ok(())
    }

    /// Microseconds of processor time for a request of the mix, with no other server under load.
    fn measure(&self, depth: u32, requests: u32) -> Result<f64> {
        let before = self.cpu_seconds()?;
        let whole: u32 = SIDES.iter().map(|(.., share)| share).sum();
        let load = |&(command, clients, share): &(_, u32, u32)| {
            self.load(command, &clients.to_string(), depth, requests / whole * share)
        };
        let clients = SIDES.iter().map(load).collect::<Result<Vec<_>>>()?;
        for mut client in clients {
            ensure!(client.wait()?.success(), "redis-benchmark failed against {}", self.name);
        }
        Ok((self.cpu_seconds()? - before) / f64::from(requests) * 1e6)
    }
}

/// Two servers under the same load at the same time.
struct Pair([Server; 2]);

impl Pair {
    /// Processor time a request of the first server, relative to the second, over a time of load.
    /// Both get the same number of requests, in runs of `requests` that start together.
    fn ratio(&self, command: &str, depth: u32, requests: u32, time: Duration) -> Result<f64> {
        let start = Instant::now();
        let mut used = [0.0; 2];
        while start.elapsed() < time {
            let before = [self.0[0].cpu_seconds()?, self.0[1].cpu_seconds()?];
            let clients = [
                self.0[0].load(command, CLIENTS, depth, requests)?,
                self.0[1].load(command, CLIENTS, depth, requests)?,
            ];
            for mut client in clients {
                ensure!(client.wait()?.success(), "redis-benchmark failed against larder");
            }
            for (at, used) in used.iter_mut().enumerate() {
                *used += self.0[at].cpu_seconds()? - before[at];
            }
        }
        Ok(used[0] / used[1])
    }

    /// The ratio after both servers have switched to their recipes and settled under load.
    fn settled(&self, recipes: [&str; 2], command: &str, depth: u32, n: u32) -> Result<f64> {
        for (server, recipe) in self.0.iter().zip(recipes) {
            server.follow(recipe)?;
        }
        self.ratio(command, depth, n, SETTLE)?;
        self.ratio(command, depth, n, LOAD)
    }

    /// Time with the loop relative to time without it; and, with the same method, two servers
    /// without it.
    fn exchange(&self, command: &str, depth: u32, requests: u32) -> Result<[f64; 2]> {
        let [off, on] = ["static", "kredis"];
        let plain = self.settled([off, off], command, depth, requests)?;
        let first = self.settled([on, off], command, depth, requests)?;
        let second = self.settled([off, on], command, depth, requests)?;
        let again = self.settled([off, off], command, depth, requests)?;
        Ok([(first / second).sqrt(), (plain / again).sqrt()])
    }
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Median, lowest and highest in words.
fn spread(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    format!("{:.3} ({low:.3} to {high:.3})", median(values))
}

/// The arguments for a server as a cache in the manner of Redis.
pub(crate) const AS_REDIS: [&str; 6] =
    ["--maxmemory", "2gb", "--maxmemory-policy", "allkeys-lru", "--save", ""];

/// The measured binary.
pub(crate) fn binary() -> Result<String> {
    Ok(super::built::path("larder")?.display().to_string())
}

/// A Larder with one thread and room for every key, with its tables grown.
fn larder(name: &str, more: &str) -> Result<Server> {
    let words = format!("{} serve --maxmemory 2gb --io-threads 1 --http-port 0 {more}", binary()?);
    let server = Server::start(name, "0", &words.split_whitespace().collect::<Vec<_>>())?;
    server.warm_up()?;
    Ok(server)
}

/// Prints the cost of a request under the default recipe with each driver, under `static` with
/// io_uring, and in another server.
fn beside(other: &str) -> Result<()> {
    let words: Vec<&str> = std::iter::once(other).chain(AS_REDIS).collect();
    let theirs = Server::start("other", "0", &words)?;
    theirs.warm_up()?;
    let ours = [
        larder("io_uring", "--io-uring yes")?,
        larder("epoll", "--io-uring no")?,
        larder("static", "--io-uring yes --recipe static")?,
    ];
    println!("µs of server CPU per request, 50 clients, {VALUE} bytes, medians of {ROUNDS}\n");
    println!("compared with {other}\n\ndepth   driver     theirs   larder   larder/theirs");
    for (depth, requests) in MIXED {
        let mut costs = [vec![], vec![], vec![]];
        let mut base = vec![];
        for _ in 0..ROUNDS {
            base.push(theirs.measure(depth, requests)?);
            for (server, costs) in ours.iter().zip(&mut costs) {
                costs.push(server.measure(depth, requests)?);
            }
        }
        for (server, costs) in ours.iter().zip(&costs) {
            let ratios: Vec<_> = costs.iter().zip(&base).map(|(cost, base)| cost / base).collect();
            println!(
                "{depth:>5}   {:<8} {:>8.2} {:>8.2}   {}",
                server.name,
                median(&base),
                median(costs),
                spread(&ratios)
            );
        }
    }
    Ok(())
}

/// Prints the cost of the loop for a request.
fn the_loop() -> Result<()> {
    println!(
        "\nserver CPU per request with the loop, relative to without, medians of {EXCHANGES}\n"
    );
    println!("depth command   on/off                     off/off");
    let plain = |name: &str| larder(name, "--recipe static");
    let pair = Pair([plain("one larder")?, plain("other larder")?]);
    for (depth, requests) in DEPTHS {
        for command in COMMANDS {
            let (mut on, mut off) = (vec![], vec![]);
            for _ in 0..EXCHANGES {
                let [loop_on, loop_off] = pair.exchange(command, depth, requests / 4)?;
                on.push(loop_on);
                off.push(loop_off);
            }
            println!("{depth:>5} {command:<7}   {:<26} {}", spread(&on), spread(&off));
        }
    }
    Ok(())
}

/// Builds the measured programs; two cores are needed.
pub(crate) fn prepare() -> Result<()> {
    super::built::build(&["larder"])?;
    if thread::available_parallelism()?.get() < 2 {
        bail!("this benchmark needs two cores: one for the server, one for its clients");
    }
    Ok(())
}

/// Prints the cost of a request beside `other`, or both tables beside redis-server.
pub(crate) fn run(other: Option<&str>) -> Result<()> {
    prepare()?;
    beside(other.unwrap_or("redis-server"))?;
    if other.is_some() { Ok(()) } else { the_loop() }
}
