//! `larder capture` and `larder advise --from`, against the servers that people run: redis-server
//! and memcached of Debian, under a known load. A test skips a server that is not installed: it
//! says so and passes.
//!
//! Times are compared with the server's own log or with the waits of the clients themselves: on a
//! busy machine backends take longer than they were set to.

use crate::client::Client;
use crate::process::{free_port, larder, serve};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Another project's server, killed at the end of its test.
pub(crate) struct Stranger {
    pub(crate) child: Child,
    pub(crate) port: u16,
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Stranger {
    /// Starts the program, if it is installed, on a free port, and waits until it listens.
    pub(crate) fn start(program: &str, arguments: impl Fn(u16) -> String) -> Option<Self> {
        let port = free_port();
        Self::start_at(port, program, &arguments(port))
    }

    fn start_at(port: u16, program: &str, words: &str) -> Option<Self> {
        let mut command = Command::new(program);
        command.args(words.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(child) = command.current_dir("/tmp").spawn() else {
            skip::skip(program, "apt-get install redis-server memcached");
            return None;
        };
        let server = Self { child, port };
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "{program} does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    pub(crate) fn redis(more: &str) -> Option<Self> {
        Self::start("redis-server", |port| {
            format!("--port {port} --bind 127.0.0.1 --appendonly no --save 86400 1000000 {more}")
        })
    }

    /// Starts the memcached of the PATH, or the one that `MEMCACHED` names.
    pub(crate) fn memcached(more: &str) -> Option<Self> {
        Self::memcached_at(free_port(), more)
    }

    pub(crate) fn memcached_at(port: u16, more: &str) -> Option<Self> {
        let program = std::env::var("MEMCACHED").unwrap_or_else(|_| "memcached".to_owned());
        let words = format!("-l 127.0.0.1 -p {port} -U 0 -u nobody {more}");
        Self::start_at(port, &program, &words)
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(SocketAddr::from(([127, 0, 0, 1], self.port)))
    }
}

/// The JSON document that a command printed.
fn document(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// The three tenants, and the cost of a miss of each in microseconds.
const TENANTS: [(&str, f64); 3] = [("cheap", 400.0), ("mid", 2_000.0), ("dear", 25_000.0)];
const RULES: &str = "--tenant 'cheap match prefix cheap:' --tenant 'mid match prefix mid:' \
                     --tenant 'dear match prefix dear:'";

fn tenant<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let tenants = summary["tenants"].as_array().unwrap();
    tenants.iter().find(|tenant| tenant["name"] == name).unwrap_or_else(|| panic!("{summary}"))
}

/// Sends SIGINT to the process, as Ctrl-C does.
pub(crate) fn interrupt(child: &Child) {
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
}

/// The budgets of a plan, by tenant in the order of [`TENANTS`], as shares of the memory.
fn division(words: &str) -> Vec<f64> {
    let plan = document(&larder(&format!("plan {words} --memory 1mb --json")).output().unwrap());
    let memory = plan["memory"].as_f64().unwrap();
    let tenants = plan["tenants"].as_array().unwrap();
    let share = |(at, (name, _)): (usize, &(&str, f64))| {
        let named = tenants.iter().find(|tenant| tenant["name"] == *name);
        named.unwrap_or(&tenants[at])["budget"].as_f64().unwrap() / memory
    };
    TENANTS.iter().enumerate().map(share).collect()
}

/// Checks that all shares agree within a tenth of the memory, and the share of `dear` within a
/// tenth of itself.
fn are_alike(captured: &[f64], whole: &[f64]) {
    for (captured, whole) in captured.iter().zip(whole) {
        assert!((captured - whole).abs() <= 0.1, "{captured:.3} {whole:.3}");
    }
    let (captured, whole) = (captured[2], whole[2]);
    assert!((captured / whole - 1.0).abs() <= 0.1, "dear: {captured:.3}, of all {whole:.3}");
}

/// The oracle: a reader that only records MONITOR until the server ends. It returns the cost of
/// misses of each tenant, from the last GET of a key by a connection to its SET.
fn whole_log(port: u16) -> std::thread::JoinHandle<[f64; 3]> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"MONITOR\r\n").unwrap();
    std::thread::spawn(move || {
        let (mut reads, mut gaps) = (HashMap::new(), [vec![], vec![], vec![]]);
        let mut looks = 0;
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let words: Vec<_> = line.split('"').collect();
            // The capture sends INFO four times before its window begins. Earlier requests are not
            // in the capture, and on a busy machine they had other costs.
            if words.get(1) == Some(&"INFO") {
                looks += 1;
                if looks <= 4 {
                    gaps = [vec![], vec![], vec![]];
                }
            }
            let [head, command, _, key, ..] = words.as_slice() else { continue };
            let Some((time, client)) = head.trim_start_matches('+').split_once(" [") else {
                continue;
            };
            let time: f64 = time.parse().unwrap();
            let asked = (client.to_owned(), (*key).to_owned());
            match command.to_ascii_lowercase().as_str() {
                "get" => drop(reads.insert(asked, time)),
                "set" => {
                    let of = |(name, _): &(&str, f64)| key.starts_with(&format!("{name}:"));
                    let tenant = TENANTS.iter().position(of).unwrap();
                    gaps[tenant].extend(reads.remove(&asked).map(|read| 1e6 * (time - read)));
                }
                _ => {}
            }
        }
        gaps.map(|mut gaps| {
            gaps.sort_unstable_by(f64::total_cmp);
            let cut = gaps[(gaps.len() - 1) * 99 / 100];
            gaps.iter().map(|gap| gap.min(cut)).sum::<f64>() / gaps.len() as f64
        })
    })
}

/// `larder replay` is the load: three generators, three backends, and one Redis that holds a third
/// of the objects.
#[test]
fn a_redis_is_captured() {
    let Some(redis) = Stranger::redis("--maxmemory 2200kb --maxmemory-policy allkeys-lru") else {
        return;
    };
    let port = redis.port;
    let traces = [0.9, 0.7, 0.8]
        .map(|skew| format!("synth:zipf:keys=1000:skew={skew}:size=const/1000:requests=7000"));
    let traces = traces.join(" ");
    let load = format!(
        "replay {traces} --to redis://127.0.0.1:{port} --names cheap,mid,dear --open-loop 1500 \
         --backend delay:0.4ms --backend delay:2ms --backend delay:25ms --json"
    );
    let log = whole_log(port);
    let load = larder(&load).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("captured.csv.zst");
    let file = file.to_str().unwrap();
    let words = format!(
        "capture --from redis://127.0.0.1:{port} --for 10m --window all -o {file} --json {RULES}"
    );
    let capture = larder(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // However long the load takes on a busy machine, the capture sees the rest of it.
    let load = document(&load.wait_with_output().unwrap());
    interrupt(&capture);
    let summary = document(&capture.wait_with_output().unwrap());
    println!("{summary:#}");
    drop(redis);
    let whole_log = log.join().unwrap();

    assert_eq!((&summary["how"], &summary["malformed"]), (&"MONITOR".into(), &0.into()));
    assert!(summary["cost"]["with"]["commands"].as_u64().unwrap() > 5_000);
    let (found, counted) = (
        TENANTS.map(|(name, _)| tenant(&summary, name)["misses"].as_f64().unwrap()),
        summary["cost"]["with"]["misses"].as_f64().unwrap(),
    );
    let ratio = found.iter().sum::<f64>() / counted;
    assert!((0.85..1.1).contains(&ratio), "the rule finds {ratio:.2} of the misses");
    for (at, (name, least)) in TENANTS.into_iter().enumerate() {
        let penalty = tenant(&summary, name)["penalty_us"].as_f64().unwrap();
        let took = whole_log[at];
        let ratio = penalty / took;
        let client = load["tenants"][at]["penalty_us"].as_f64().unwrap();
        println!("{name}: {penalty:.0} µs, {took:.0} in the log, {client:.0} by the client");
        assert!(penalty > 0.95 * least, "{name}: {penalty} µs");
        assert!((0.9..1.1).contains(&ratio), "{name}: {penalty} µs, and {took} in the log");
    }
    let captured = division(file);
    // Both plans use the costs that the capture found, because the test is not about the delays of
    // a busy machine.
    let costs = ["zipf", "zipf#2", "zipf#3"].into_iter().zip(TENANTS).map(|(trace, (name, _))| {
        format!("--penalty {trace}={}us", tenant(&summary, name)["penalty_us"])
    });
    let whole = division(&format!("{traces} {}", costs.collect::<Vec<_>>().join(" ")));
    println!("divisions: captured {captured:.3?}, whole {whole:.3?}");
    are_alike(&captured, &whole);

    let page = folder.path().join("advice.html");
    let words = format!("advise --from {file} --memory 1mb --html {} --json", page.display());
    let advice = document(&larder(&words).output().unwrap());
    assert!(advice["larder"]["low"].as_f64().unwrap() > 0.0, "{advice}");
    let page = std::fs::read_to_string(page).unwrap();
    for part in ["Larder would make the clients wait", "dear", "Assumptions", "<svg"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let text = larder(&format!("advise --from {file} --memory 1mb")).output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    println!("{text}");
    assert!(text.starts_with("Larder would make the clients wait"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// A cache-aside client of memcached.
struct Aside {
    stream: BufReader<TcpStream>,
    line: String,
}

impl Aside {
    fn new(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), line: String::new() }
    }

    fn answer(&mut self) -> &str {
        self.line.clear();
        self.stream.read_line(&mut self.line).unwrap();
        self.line.trim_end()
    }

    /// Reads a key; on a miss waits for `backend`, writes, and returns the time that this took.
    fn ask(&mut self, key: &str, value: &str, backend: Duration) -> Option<Duration> {
        self.stream.get_mut().write_all(format!("get {key}\r\n").as_bytes()).unwrap();
        if self.answer() != "END" {
            let mut rest = vec![0; value.len() + "\r\nEND\r\n".len()];
            self.stream.read_exact(&mut rest).unwrap();
            return None;
        }
        let began = Instant::now();
        std::thread::sleep(backend);
        let length = value.len();
        let set = format!("set {key} 0 600 {length}\r\n{value}\r\n");
        self.stream.get_mut().write_all(set.as_bytes()).unwrap();
        let took = began.elapsed();
        assert_eq!(self.answer(), "STORED");
        Some(took)
    }
}

/// memcached has no small memory, so the load causes misses by asking for new keys.
#[test]
fn a_memcached_is_captured() {
    let Some(memcached) = Stranger::memcached("-m 64") else { return };
    let port = memcached.port;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("captured.csv");
    let file = file.to_str().unwrap();
    let ends = Instant::now() + Duration::from_secs(9);
    let loads = TENANTS.map(|(name, us)| {
        std::thread::spawn(move || {
            let mut client = Aside::new(port);
            let (value, backend) = ("v".repeat(500), Duration::from_micros(us as u64));
            let (mut keys, mut took, mut random) = (vec![], vec![], 1u64);
            while Instant::now() < ends {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // A fifth as many keys as requests: new keys keep coming, and the other requests
                // repeat old keys.
                let most = 1 + keys.len() as u64 / 5;
                let key = format!("{name}:{}", (random >> 33) % most);
                took.extend(client.ask(&key, &value, backend));
                keys.push(key);
                std::thread::sleep(Duration::from_millis(1));
            }
            took.sort_unstable();
            let cut = took[(took.len() - 1) * 99 / 100];
            let mean = took.iter().map(|one| (*one).min(cut).as_secs_f64()).sum::<f64>();
            mean * 1e6 / took.len() as f64
        })
    });
    std::thread::sleep(Duration::from_millis(500));
    let words = format!(
        "capture --from memcached://127.0.0.1:{port} --for 5s --window all -o {file} --json {RULES}"
    );
    let summary = document(&larder(&words).output().unwrap());
    let waited = loads.map(|load| load.join().unwrap());
    assert_eq!((&summary["how"], &summary["malformed"]), (&"watch".into(), &0.into()));
    assert_eq!(summary["tells_hits"], true);
    for ((name, least), waited) in TENANTS.into_iter().zip(waited) {
        let penalty = tenant(&summary, name)["penalty_us"].as_f64().unwrap();
        println!("{name}: {penalty:.0} µs, the client waited {waited:.0}");
        assert!(penalty > 0.95 * least, "{name}: {penalty}");
        if name == "dear" {
            assert!((0.9..1.1).contains(&(penalty / waited)), "{penalty} {waited}");
        }
    }
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.starts_with("time_us,key,key_size,value_size,tenant,op,ttl,penalty_us\n"));
    let reads = text.lines().filter(|line| line.contains(",get,600,")).count();
    assert!(reads > text.lines().count() / 4, "of many keys the life is known: {reads}");
    // One write of each client may answer a miss from before the capture.
    assert!(text.matches(",set,").count() <= 3, "writes answer misses");
}

/// Larder reports tenants, times to live and penalties itself.
#[test]
fn a_larder_is_captured_by_its_own_trace() {
    let server = serve("--tenant web match prefix web: --recipe auto");
    let addr = server.addr();
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    let load = std::thread::spawn(move || {
        let mut client = Client::new(addr);
        for at in (0..50).cycle() {
            if client.ask(&format!("GET web:{at}")) == "$-1\r\n" {
                std::thread::sleep(Duration::from_millis(4));
                client.ask(&format!("SET web:{at} 12345 EX 90"));
            }
            client.ask(&format!("DEL web:{}", at / 2));
            if ends.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("larder.csv");
    let words = format!("capture --from redis://{addr} --for 2s -o {} --json", file.display());
    let output = larder(&words).output().unwrap();
    is_over.store(true, Ordering::Relaxed);
    load.join().unwrap();
    let summary = document(&output);
    assert_eq!((&summary["how"], &summary["tells_hits"]), (&"MONITOR TRACE".into(), &true.into()));
    let penalty = tenant(&summary, "web")["penalty_us"].as_f64().unwrap();
    assert!((3_900.0..400_000.0).contains(&penalty), "{penalty}");
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.lines().any(|line| line.contains(",5,web,get,90,")), "{text}");
    assert!(text.lines().any(|line| line.contains(",web,delete,0,")), "{text}");
}

/// A capture ends with Ctrl-C, a server that closes, a user without the right, or a full disk.
#[test]
fn a_capture_ends_well() {
    let Some(mut redis) = Stranger::redis("--maxmemory 10mb") else { return };
    let port = redis.port;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    redis.client().ask("ACL SETUSER reader on >secret ~* +@read +info");
    let words = format!("capture --from redis://reader:secret@127.0.0.1:{port} -o {}", file("no"));
    let refused = larder(&format!("{words} --for 1s")).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("+monitor"), "{said}");
    assert!(!said.contains("secret"), "{said}");
    assert!(!folder.path().join("no").exists());

    let ask = |client: &mut Client| {
        for at in 0..20 {
            client.ask(&format!("GET k:{at}"));
            client.ask(&format!("SET k:{at} 12345"));
        }
    };
    let watch = |name: &str| {
        let to = if name.starts_with('/') { name.to_owned() } else { file(name) };
        let words = format!(
            "capture --from redis://127.0.0.1:{port} --for 60s --window all --json -o {to}"
        );
        larder(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let wait_for_monitor = || {
        let mut client = redis.client();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !client.ask("CLIENT LIST").contains("cmd=monitor") {
            assert!(Instant::now() < deadline, "nobody watches");
            std::thread::sleep(Duration::from_millis(20));
        }
        ask(&mut client);
        std::thread::sleep(Duration::from_millis(500));
    };
    let child = watch("interrupted.csv");
    wait_for_monitor();
    interrupt(&child);
    let summary = document(&child.wait_with_output().unwrap());
    assert_eq!(summary["requests"], 20, "{summary}");
    assert!(summary["ended"].as_str().unwrap().contains("interrupted"));
    let written = std::fs::read_to_string(file("interrupted.csv")).unwrap();
    assert_eq!(written.lines().count(), 21, "a head and twenty requests");

    let child = watch("/dev/full");
    wait_for_monitor();
    interrupt(&child);
    let full = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&full.stderr);
    assert!(!full.status.success() && said.contains("No space left"), "{said}");

    let child = watch("lost.csv");
    wait_for_monitor();
    redis.child.kill().unwrap();
    let summary = document(&child.wait_with_output().unwrap());
    assert_eq!(summary["requests"], 20, "{summary}");
    assert!(summary["ended"].as_str().unwrap().contains("closed the connection"), "{summary}");
    assert_eq!(std::fs::read_to_string(file("lost.csv")).unwrap().lines().count(), 21);
}
