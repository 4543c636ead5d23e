//! How much processor time a request costs, beside redis-server.
//!
//! Both servers run with one thread on one core, redis-benchmark on another. Larder is measured
//! with the loop off and on in one process, switched by `CONFIG SET recipe`: two processes of the
//! same program differ by up to a tenth, by where their memory happens to lie. What is compared is
//! the time the kernel charged to the server's threads, divided by requests: unlike requests a
//! second, it does not depend on who else uses the machine's cores. Runs alternate between the two
//! servers and medians are shown, because caches, frequency and neighbours drift.
//!
//! All keys fit and nothing is evicted: this says nothing about eviction. Requests come over
//! loopback, whose cost in the kernel is most of a request at depth 1.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
const CLIENTS: &str = "50";
/// Depth of the pipeline, and requests of a run.
const DEPTHS: [(u32, u32); 2] = [(1, 200_000), (16, 1_000_000)];
const COMMANDS: [&str; 2] = ["set", "get"];
/// Load after a change of the recipe before it is measured: two epochs of the loop, and some.
const SETTLE: Duration = Duration::from_secs(5);
const RECIPES: [&str; 2] = ["static", "kredis"];
/// Requests before anything is measured: tables have grown, and the loop has found its rate.
const WARM_UP: u32 = 6_000_000;

struct Server {
    name: String,
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts `command --port PORT` on the first core.
    fn start(name: &str, command: &[&str]) -> Result<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let child = Command::new("taskset")
            .args(["-c", "0"])
            .args(command)
            .args(["--port", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{name} could not be started: are it and taskset here?"))?;
        let server = Self { name: name.into(), child, port };
        let start = Instant::now();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        while TcpStream::connect(address).is_err() {
            ensure!(start.elapsed() < Duration::from_secs(10), "{name} does not answer");
            thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Seconds the kernel has charged to the threads of the server.
    fn cpu_seconds(&self) -> Result<f64> {
        let mut nanos = 0u64;
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let text = fs::read_to_string(thread?.path().join("schedstat"))?;
            nanos += text.split(' ').next().unwrap_or_default().parse::<u64>()?;
        }
        Ok(nanos as f64 / 1e9)
    }

    /// Switches to a recipe, and lets it find its rate.
    fn follow(&self, recipe: &str, command: &str, depth: u32, requests: u32) -> Result<()> {
        let status = Command::new("redis-cli")
            .args(["-p", &self.port.to_string(), "config", "set", "recipe", recipe])
            .stdout(Stdio::null())
            .status()
            .context("redis-cli could not be started: is it installed?")?;
        ensure!(status.success(), "{} does not take recipe {recipe}", self.name);
        let start = Instant::now();
        while start.elapsed() < SETTLE {
            self.measure(command, depth, requests)?;
        }
        Ok(())
    }

    /// Microseconds of processor time a request.
    fn measure(&self, command: &str, depth: u32, requests: u32) -> Result<f64> {
        let before = self.cpu_seconds()?;
        let status = Command::new("taskset")
            .args(["-c", "1", "redis-benchmark", "-q", "-c", CLIENTS, "-r", "100000", "-d", "100"])
            .args(["-p", &self.port.to_string(), "-t", command])
            .args(["-n", &requests.to_string(), "-P", &depth.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .context("redis-benchmark could not be started: is it installed?")?;
        ensure!(status.success(), "redis-benchmark failed against {}", self.name);
        Ok((self.cpu_seconds()? - before) / f64::from(requests) * 1e6)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The median over the rounds of what one server took by what another took in the same round.
fn ratio(of: &[f64], by: &[f64]) -> f64 {
    median(of.iter().zip(by).map(|(of, by)| of / by).collect())
}

/// Runs all and prints the table: redis-server, a plain Larder, and one that tunes itself.
pub(crate) fn run() -> Result<()> {
    super::run("cargo build --release --quiet", &[])?;
    if thread::available_parallelism()?.get() < 2 {
        bail!("two cores are needed: one for the server, one for its clients");
    }
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".into());
    let larder = format!("{target}/release/larder");
    let memory = "--maxmemory 1gb --io-threads 1";
    let redis = "redis-server --maxmemory 1gb --maxmemory-policy allkeys-lru --save";
    let mut words: Vec<&str> = redis.split(' ').collect();
    words.push("");
    let redis = Server::start("redis-server", &words)?;
    let larder = format!("{larder} serve {memory} --http-port 0");
    let larder = Server::start("larder", &larder.split(' ').collect::<Vec<_>>())?;
    for server in [&redis, &larder] {
        for command in COMMANDS {
            server.measure(command, 16, WARM_UP / 2)?;
        }
    }
    println!("µs of server CPU a request, {CLIENTS} clients, 100 bytes, medians of {ROUNDS}\n");
    println!("depth command      redis     static     kredis   static/redis   kredis/static");
    for (depth, requests) in DEPTHS {
        for command in COMMANDS {
            let mut measured = [vec![], vec![], vec![]];
            for round in 0..ROUNDS {
                measured[0].push(redis.measure(command, depth, requests)?);
                // Each recipe comes first as often as last.
                for turn in 0..RECIPES.len() {
                    let at = (turn + round) % RECIPES.len();
                    larder.follow(RECIPES[at], command, depth, requests)?;
                    measured[1 + at].push(larder.measure(command, depth, requests)?);
                }
            }
            let [by_redis, plain, tuned] = [0, 1, 2].map(|at: usize| median(measured[at].clone()));
            println!(
                "{depth:>5} {command:<7} {by_redis:>10.3} {plain:>10.3} {tuned:>10.3} \
                 {:>14.3} {:>15.3}",
                ratio(&measured[1], &measured[0]),
                ratio(&measured[2], &measured[1])
            );
        }
    }
    Ok(())
}
