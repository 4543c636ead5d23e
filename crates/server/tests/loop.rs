//! The loop on a live server, over its sockets: the replies of LARDER, and the steering.

use base::Bytes;
use server::{Handle, Settings, start};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A client that speaks RESP2.
struct Client {
    reader: BufReader<TcpStream>,
}

#[derive(Debug, PartialEq)]
enum Reply {
    Text(String),
    Error(String),
    Nil,
    Array(Vec<Self>),
}

impl Client {
    fn new(handle: &Handle) -> Self {
        let stream = TcpStream::connect(handle.addr()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { reader: BufReader::new(stream) }
    }

    fn send(&mut self, commands: &[Vec<&str>]) {
        let mut text = String::new();
        for words in commands {
            let _ = write!(text, "*{}\r\n", words.len());
            for word in words {
                let _ = write!(text, "${}\r\n{word}\r\n", word.len());
            }
        }
        self.reader.get_mut().write_all(text.as_bytes()).unwrap();
    }

    fn reply(&mut self) -> Reply {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        let rest = line[1..].trim_end().to_owned();
        match &line[..1] {
            "-" => Reply::Error(rest),
            "$" if rest == "-1" => Reply::Nil,
            "$" => {
                let mut bytes = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.reader.read_exact(&mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                Reply::Text(String::from_utf8(bytes).unwrap())
            }
            "*" => Reply::Array((0..rest.parse().unwrap()).map(|_| self.reply()).collect()),
            _ => Reply::Text(rest),
        }
    }

    fn ask(&mut self, words: &[&str]) -> Reply {
        self.send(&[words.to_vec()]);
        self.reply()
    }

    fn json(&mut self, words: &[&str]) -> serde_json::Value {
        match self.ask(words) {
            Reply::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{words:?}: {other:?}"),
        }
    }

    fn lines(&mut self, words: &[&str]) -> String {
        let Reply::Array(lines) = self.ask(words) else { panic!("{words:?}: not lines") };
        let line = |line| match line {
            Reply::Text(line) => line + "\n",
            other => panic!("{words:?}: {other:?}"),
        };
        lines.into_iter().map(line).collect()
    }

    /// Reads each key and writes the missing ones, in pipelines.
    fn read_through(&mut self, keys: &[String], value: &str) {
        for part in keys.chunks(500) {
            let gets: Vec<_> = part.iter().map(|key| vec!["GET", key]).collect();
            self.send(&gets);
            let missed: Vec<_> = part.iter().filter(|_| self.reply() == Reply::Nil).collect();
            let sets: Vec<_> = missed.iter().map(|key| vec!["SET", key, value]).collect();
            self.send(&sets);
            for _ in &sets {
                assert_eq!(self.reply(), Reply::Text("OK".into()));
            }
        }
    }
}

fn settings(recipe: &str) -> Settings {
    let mut settings = Settings { io_threads: 1, ..Settings::loopback() };
    let text = format!(
        "--maxmemory 4mb --compression no --recipe {recipe} --tenant near match prefix n: \
         --tenant far match prefix f: min 64kb weight 2"
    );
    let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
    settings.read_arguments(&words).unwrap();
    settings
}

thread_local! {
    static TURN: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Runs one test at a time, until its thread ends: forecasts for a rate of requests hold only while
/// no other test uses the machine.
fn take_turn() {
    static TURNS: Mutex<()> = Mutex::new(());
    TURN.with_borrow_mut(|turn| {
        turn.get_or_insert_with(|| TURNS.lock().unwrap_or_else(PoisonError::into_inner));
    });
}

/// Starts a server beside others in the same process, whose resident memory is not its own.
fn begin(settings: Settings) -> Handle {
    take_turn();
    let handle = start(settings).unwrap();
    handle.share_process();
    // The reserve made for others until then is free again.
    std::thread::sleep(Duration::from_millis(300));
    while handle.store().reserve() > Bytes(0) {
        std::thread::sleep(Duration::from_millis(20));
    }
    handle
}

/// Skewed keys: a lower number comes more often.
fn keys(prefix: &str, count: usize, prng: &mut base::Prng) -> Vec<String> {
    let mut number = || (prng.unit().powi(3) * 30_000.0) as u64;
    (0..count).map(|_| format!("{prefix}:{}", number())).collect()
}

/// Sends requests until `done` returns true, or fails after two minutes.
fn drive(client: &mut Client, prng: &mut base::Prng, mut done: impl FnMut(&mut Client) -> bool) {
    let value = "x".repeat(200);
    let until = Instant::now() + Duration::from_secs(120);
    while !done(client) {
        assert!(Instant::now() < until, "{}", client.lines(&["LARDER", "PLAN"]));
        client.read_through(&keys("n", 1_000, prng), &value);
        client.read_through(&keys("f", 250, prng), &value);
        // The load must not depend on how busy the machine is, so that models keep their rate, and
        // must be low enough for a high rate.
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn each<'a>(
    list: &'a serde_json::Value,
    field: &'a str,
) -> impl Iterator<Item = &'a serde_json::Value> {
    list[field].as_array().into_iter().flatten()
}

/// The whole loop: a steered server learns, plans, moves memory, and shows it.
#[test]
fn a_server_that_tunes_itself() {
    let handle = begin(settings("kredis:epoch=0.2"));
    let mut client = Client::new(&handle);
    let mut prng = base::Prng::new(1);
    drive(&mut client, &mut prng, |client| {
        let status = client.json(&["LARDER", "PLAN", "JSON"]);
        // A pool that changes its policy keeps its budget in that epoch: memory may move later.
        let adopted = each(&status, "history").any(|epoch| epoch["decision"] == "adopted");
        let moved = each(&status, "history").any(|epoch| epoch["moved"].as_u64() > Some(0));
        let checked = each(&status, "history")
            .flat_map(|epoch| each(epoch, "pools"))
            .any(|pool| pool["forecast"].is_number() && pool["outcome"].is_number());
        let curve = client.json(&["LARDER", "CURVE", "near", "JSON"]);
        adopted && moved && checked && each(&curve, "curve").count() > 0
    });
    let status = client.json(&["LARDER", "PLAN", "JSON"]);
    assert_eq!(status["recipe"], "kredis:epoch=0.2");
    assert!(status["rate"].as_f64().unwrap() > 0.0 && status["samples"].as_u64().unwrap() > 0);
    let names: Vec<_> = each(&status["plan"], "pools").map(|pool| &pool["name"]).collect();
    assert_eq!(names, ["default", "near", "far"]);

    let tenants = client.json(&["LARDER", "TENANTS", "JSON"]);
    let all = tenants.as_array().unwrap();
    let budgets: u64 = all.iter().map(|tenant| tenant["budget"].as_u64().unwrap()).sum();
    assert!(budgets <= 4 << 20, "{tenants:#}");
    assert!(all[1]["penalty_us"].as_u64().unwrap() > 0, "{tenants:#}");
    assert!([1, 5, 8, 16].contains(&all[1]["k"].as_u64().unwrap()), "{tenants:#}");
    assert!(all[2]["weight"] == 2.0 && all[2]["min"] == 64 << 10, "{tenants:#}");

    let chart = client.lines(&["LARDER", "CURVE", "near"]);
    assert!(
        chart.contains("near: reads that miss")
            && chart.split_whitespace().collect::<Vec<_>>().join(" ").contains("There is no data"),
        "{chart}"
    );
    let curve = client.json(&["larder", "curve", "near", "json"]);
    let points = curve["curve"].as_array().unwrap();
    let ratios: Vec<_> = points.iter().map(|point| point[1].as_f64().unwrap()).collect();
    assert!(ratios[0] == 1.0 && ratios.windows(2).all(|pair| pair[1] <= pair[0]), "{ratios:?}");
    assert_eq!(curve["policies"].as_object().unwrap().len(), 4);

    let plan = client.lines(&["LARDER", "PLAN"]);
    assert!(plan.contains("recipe kredis") && plan.contains("near"), "{plan}");
    assert!(plan.contains("expected   actual"), "{plan}");
    assert!(client.lines(&["LARDER", "TENANTS"]).contains("far"));
    handle.stop();
}

/// Switched off, the server is a plain cache that keeps its items. Switched on again, it begins to
/// learn.
#[test]
fn the_loop_is_switched_live() {
    let handle = begin(settings("kredis:epoch=0.2"));
    let mut client = Client::new(&handle);
    let mut prng = base::Prng::new(2);
    let epoch = |client: &mut Client| client.json(&["LARDER", "PLAN", "JSON"])["epoch"].as_u64();
    drive(&mut client, &mut prng, |client| epoch(client) >= Some(3));
    let held = handle.store().used();
    assert_eq!(client.ask(&["CONFIG", "SET", "recipe", "static"]), Reply::Text("OK".into()));
    drive(&mut client, &mut prng, |client| {
        client.lines(&["LARDER", "PLAN"]).contains("there is no plan")
    });
    // Entries differ by a few bytes; nothing else may be evicted.
    assert!(handle.store().used().0 * 10 > held.0 * 9, "what is cached stays");
    client.read_through(&keys("n", 1_000, &mut prng), "value");
    let mut samples = vec![];
    handle.store().drain(&mut samples);
    assert!(samples.is_empty(), "nothing is sampled while the loop is off");
    match client.ask(&["LARDER", "CURVE", "near"]) {
        Reply::Error(error) => assert!(error.contains("CONFIG SET"), "{error}"),
        other => panic!("{other:?}"),
    }
    let words = ["CONFIG", "SET", "recipe", "kredis:objective=hits:epoch=0.2"];
    assert_eq!(client.ask(&words), Reply::Text("OK".into()));
    drive(&mut client, &mut prng, |client| epoch(client) >= Some(2));
    let status = client.json(&["LARDER", "PLAN", "JSON"]);
    assert_eq!(status["plan"]["objective"], "hits", "{status:#}");
    handle.stop();
}

/// Penalty classes are pools: classes with expensive misses get more memory, in whichever tenant.
#[test]
fn classes_are_told_and_steered() {
    let handle = begin(settings("predis:epoch=0.2"));
    let mut client = Client::new(&handle);
    let words = ["CONFIG", "SET", "tenant", "near match prefix n: penalty hint"];
    assert_eq!(client.ask(&words), Reply::Text("OK".into()));
    assert!(matches!(client.ask(&["SET", "n:x", "1", "COST", "dear"]), Reply::Error(_)));
    let (mut prng, value) = (base::Prng::new(4), "x".repeat(200));
    let until = Instant::now() + Duration::from_secs(60);
    let budgets = loop {
        // The same tenant reads both; only the stated costs differ.
        for (name, cost, took) in [("n:cheap", "100", 0), ("n:dear", "20000", 20)] {
            let keys = keys(name, 500, &mut prng);
            client.send(&keys.iter().map(|key| vec!["GET", key]).collect::<Vec<_>>());
            let missed: Vec<_> = keys.iter().filter(|_| client.reply() == Reply::Nil).collect();
            std::thread::sleep(Duration::from_millis(took));
            let set = |key| vec!["SET", key, &value, "COST", cost];
            client.send(&missed.iter().map(|key| set(key)).collect::<Vec<_>>());
            for _ in &missed {
                assert_eq!(client.reply(), Reply::Text("OK".into()));
            }
        }
        let status = client.json(&["LARDER", "PLAN", "JSON"]);
        let budget = |name: &str| {
            let mut pools = each(&status["plan"], "pools");
            pools.find(|pool| pool["name"] == name).and_then(|pool| pool["budget"].as_u64())
        };
        let (cheap, dear) = (budget("from 70 µs"), budget("from 10.23 ms"));
        if let (Some(cheap), Some(dear)) = (cheap, dear)
            && dear > 2 * cheap
        {
            break (cheap, dear);
        }
        assert!(Instant::now() < until, "{}", client.lines(&["LARDER", "PLAN"]));
        std::thread::sleep(Duration::from_millis(30));
    };
    assert!(budgets.0 > 0);
    let near = handle.store().penalty_class_stats(1);
    assert!(near[4].used.0 > 0 && near[11].misses > 0, "{near:?}");
    assert!(client.lines(&["LARDER", "PLAN"]).contains("from 10.23 ms"));
    assert!(client.lines(&["LARDER", "TENANTS"]).contains("near"));
    assert_eq!(client.ask(&["CONFIG", "SET", "recipe", "static"]), Reply::Text("OK".into()));
    while !handle.store().penalty_class_stats(1).is_empty() {
        assert!(Instant::now() < until, "classes are still counted");
        std::thread::sleep(Duration::from_millis(20));
    }
    handle.stop();
}

/// The pages of a tenant's pools in the last epoch, the smallest chunks first.
fn pages(status: &serde_json::Value, tenant: &str) -> Vec<u64> {
    let last = each(status, "history").last();
    let pools = last.into_iter().flat_map(|epoch| each(epoch, "pools"));
    let own = pools.filter(|pool| pool["name"].as_str().is_some_and(|n| n.starts_with(tenant)));
    own.map(|pool| pool["pages"].as_u64().unwrap()).collect()
}

/// Small items take all of some 120 pages, then large ones are requested. The pages follow, class
/// by class, from one tenant to the other, but not below the min of the giving tenant.
fn pages_follow(recipe: &str, enough: u64) -> serde_json::Value {
    let handle = begin(settings(recipe));
    let mut client = Client::new(&handle);
    let words = ["CONFIG", "SET", "tenant", "near match prefix n: min 1mb"];
    assert_eq!(client.ask(&words), Reply::Text("OK".into()));
    let mut prng = base::Prng::new(5);
    let (small, large) = ("x".repeat(600), "x".repeat(3_000));
    // No faster than a high sampling rate can follow.
    for _ in 0..16 {
        client.read_through(&keys("n", 1_000, &mut prng), &small);
        std::thread::sleep(Duration::from_millis(100));
    }
    // The statistics of LHD are charged too.
    let (had, all) = (handle.store().tenant_stats(1).used, handle.store().used());
    assert!(had > Bytes(2 << 20) && all > Bytes(15 << 18), "small items have most: {had} of {all}");
    let until = Instant::now() + Duration::from_secs(60);
    let status = loop {
        client.read_through(&keys("f", 1_000, &mut prng), &large);
        client.read_through(&keys("n", 50, &mut prng), &small);
        let status = client.json(&["LARDER", "PLAN", "JSON"]);
        if pages(&status, "far").iter().sum::<u64>() >= enough {
            break status;
        }
        assert!(Instant::now() < until, "{}", client.lines(&["LARDER", "PLAN"]));
        std::thread::sleep(Duration::from_millis(100));
    };
    let held = handle.store().tenant_stats(1).used;
    assert!(held >= Bytes(1 << 20), "its min is its own: {held}");
    assert!(handle.store().used() <= Bytes(4 << 20));
    let plan = client.lines(&["LARDER", "PLAN"]);
    assert!(plan.contains(" pages ") && plan.contains("far "), "{plan}");
    let tenants = client.json(&["LARDER", "TENANTS", "JSON"]);
    assert!(tenants[2]["budget"].as_u64() > Some(100 << 10), "{tenants:#}");
    match client.ask(&["LARDER", "CURVE", "near"]) {
        Reply::Error(error) => assert!(error.contains("each size class"), "{error}"),
        other => panic!("{other:?}"),
    }
    handle.stop();
    status
}

#[test]
fn pages_follow_curves() {
    let status = pages_follow("lama:interval=16000:keep=0.95", 40);
    let pools = || each(&status, "history").flat_map(|epoch| each(epoch, "pools"));
    assert!(pools().any(|pool| pool["forecast"].is_number() && pool["outcome"].is_number()));
    assert!(each(&status, "history").any(|epoch| epoch["moved"].as_u64() > Some(0)));
    assert!(status["samples"].as_u64() > Some(0));
}

/// Counts without a sample suffice: the ages of victims, or their worth.
#[test]
fn pages_follow_counts() {
    pages_follow("lama:planner=automove:interval=200", 10);
    let status = pages_follow("rankcache:interval=200", 10);
    assert_eq!(status["samples"], 0);
    let last = each(&status, "history").last().unwrap();
    assert!(each(last, "pools").all(|pool| pool["evictor"] == "lhd:k=64"), "{last:#}");
}

/// A promise is kept with pages that the other tenant would have. If memory cannot keep it, LARDER
/// says so, with the memory that it would take.
#[test]
fn promises_are_kept_or_refused_in_plain_words() {
    let handle = begin(settings("lama:interval=4000"));
    let mut client = Client::new(&handle);
    let mut prng = base::Prng::new(6);
    let promise = |client: &mut Client, line: &str| {
        assert_eq!(client.ask(&["CONFIG", "SET", "tenant", line]), Reply::Text("OK".into()));
    };
    promise(&mut client, "far match prefix f: target 0.0001 priority 2");
    let value = "x".repeat(600);
    let until = Instant::now() + Duration::from_secs(60);
    let wait = |client: &mut Client, prng: &mut base::Prng, text: &str, there: bool| loop {
        client.read_through(&keys("n", 2_000, prng), &value);
        client.read_through(&keys("f", 1_000, prng), &value);
        let plan = client.lines(&["LARDER", "PLAN"]);
        if plan.contains("far") && plan.contains(text) == there {
            break;
        }
        assert!(Instant::now() < until, "{plan}");
    };
    wait(&mut client, &mut prng, "far: 100.0 % hits ", true);
    promise(&mut client, "far match prefix f: target 0.5 priority 2");
    wait(&mut client, &mut prng, "far: 100.0 % hits ", false);
    let line = "far match prefix f: target 0.5 priority 2";
    match client.ask(&["CONFIG", "GET", "tenant"]) {
        Reply::Array(pair) => assert!(format!("{pair:?}").contains(line), "{pair:?}"),
        other => panic!("{other:?}"),
    }
    handle.stop();
}

/// A recipe is refused if it cannot keep a promise.
#[test]
fn what_does_not_fit_together_is_refused() {
    for (recipe, tenant, fix) in [
        ("predis", "", ""),
        ("kredis", "--tenant web match db 3 target 0.1", "set recipe auto, lama"),
        ("kredis:planner=qos", "--tenant web match db 3 target 0.1", ""),
    ] {
        let mut settings = settings(recipe);
        let words: Vec<_> = tenant.split_whitespace().map(str::to_owned).collect();
        settings.read_arguments(&words).unwrap();
        match start(settings) {
            Ok(handle) if fix.is_empty() => handle.stop(),
            Err(error) => assert!(error.to_string().contains(fix) && !fix.is_empty(), "{error}"),
            Ok(_) => panic!("{recipe}: accepted"),
        }
    }
}

/// Memory is divided anew for an added tenant and for a changed limit.
#[test]
fn tenants_and_limits_change_live() {
    let handle = begin(settings("kredis:epoch=0.1"));
    let mut client = Client::new(&handle);
    let mut prng = base::Prng::new(3);
    for words in [
        &["CONFIG", "SET", "tenant", "late match prefix l: min 256kb"][..],
        &["CONFIG", "SET", "maxmemory", "6mb"],
    ] {
        assert_eq!(client.ask(words), Reply::Text("OK".into()));
    }
    drive(&mut client, &mut prng, |client| {
        let status = client.json(&["LARDER", "PLAN", "JSON"]);
        let pools = each(&status["plan"], "pools").count();
        let memory = status["memory"].as_u64();
        pools == 4 && memory > Some(5 << 20)
    });
    let tenants = client.json(&["LARDER", "TENANTS", "JSON"]);
    assert_eq!(tenants[3]["name"], "late");
    assert!(tenants[3]["budget"].as_u64() >= Some(256 << 10), "{tenants:#}");
    handle.stop();
}

/// A fixed policy leaves nothing to a recipe, and errors name the remedy.
#[test]
fn what_it_says_when_there_is_nothing_to_say() {
    let handle = begin(settings("static"));
    let mut client = Client::new(&handle);
    assert!(client.lines(&["LARDER", "PLAN"]).contains("there is no plan"));
    assert_eq!(client.json(&["LARDER", "PLAN", "JSON"])["recipe"], "static");
    assert_eq!(client.json(&["LARDER", "TENANTS", "JSON"])[0]["k"], 5);
    assert!(client.lines(&["LARDER", "HELP"]).contains("CURVE <tenant>"));
    for (words, text) in [
        (&["LARDER", "CURVE", "nobody"][..], "the tenants are default, near, far"),
        (&["LARDER", "CURVE", "near"], "self-tuning is off"),
        (&["LARDER", "CURVE"], "wrong number of arguments"),
        (&["LARDER", "PLAN", "XML"], "syntax error"),
        (&["LARDER", "PLAN", "JSON", "JSON"], "syntax error"),
        (&["CONFIG", "SET", "recipe", "kredis:epoch=never"], "epoch must be a number"),
        (&["CONFIG", "SET", "recipe", "magic"], "static, "),
    ] {
        match client.ask(words) {
            Reply::Error(error) => assert!(error.contains(text), "{words:?}: {error}"),
            other => panic!("{words:?}: {other:?}"),
        }
    }
    let words = ["CONFIG", "SET", "recipe", "kredis", "maxmemory-policy", "allkeys-random"];
    assert_eq!(client.ask(&words), Reply::Text("OK".into()));
    std::thread::sleep(Duration::from_millis(300));
    assert!(client.lines(&["LARDER", "PLAN"]).contains("there is no plan"));
    let curve = client.json(&["LARDER", "CURVE", "near", "JSON"]);
    assert_eq!(curve["curve"], serde_json::json!([]));
    handle.stop();
}
