//! The module under valgrind: random commands for minutes, while its settings change.
//!
//! The server has a few megabytes, so that keys are evicted all the time. Three connections send
//! any command that a client may send, including the module's own, flush, and reload the module. At
//! the end the log of valgrind must name no function of the module, and resident memory must not
//! have grown since the second quarter. A server that was built with `MALLOC=libc` reports every
//! block to valgrind. Valgrind needs memory of its own for all code it has ever seen, so there the
//! module is reloaded in the first quarter only. `plain` runs without valgrind and reloads the
//! module to the end, six times as often: resident memory is the server's alone.

use super::{Client, FORM, built, start, words};
use crate::process::Process;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::time::{Duration, Instant};

/// Commands that are sent at once.
const DEPTH: usize = 20;

/// The most growth of resident memory from the second quarter to the last.
const GROWTH_MAX: f64 = 1.02;

/// The time between two readings of resident memory.
const LOOK: Duration = Duration::from_secs(2);

/// The time after which the module is reloaded, if the server lets it be unloaded.
const LIFE: Duration = Duration::from_secs(30);

/// The time between two changes of settings.
const CHANGE: Duration = Duration::from_secs(3);

/// Tenants, in turn.
const TENANTS: [&str; 4] = [
    "",
    "a match prefix a: max 400kb; jobs match db 1 max 400kb",
    "a match prefix a:; b match prefix b: min 200kb weight 2",
    "jobs match db 1 target 0.2",
];

/// Recipes, of which half the changes choose `auto`.
const RECIPES: [&str; 8] = [
    "auto:epoch=1",
    "auto:epoch=1",
    "auto:epoch=1",
    "auto:epoch=1",
    "kredis:epoch=1",
    "predis:epoch=1",
    "dlru:interval=2000:rate=0.5",
    "static",
];

/// A multiplicative generator, which is random enough for commands.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        let step = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d);
        self.0 = step.wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % bound
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }

    /// A change that an owner may make.
    fn change(&mut self) -> String {
        let policies = ["allkeys-lru", "allkeys-lru", "volatile-lru", "allkeys-lfu", "noeviction"];
        match self.below(12) {
            0 => self.one_of(&["FLUSHALL", "FLUSHDB"]).to_owned(),
            1..=2 => format!("CONFIG SET larder.recipe {}", self.one_of(&RECIPES)),
            3..=4 => format!("CONFIG SET maxmemory {}", self.one_of(&["6mb", "8mb", "12mb"])),
            5 => format!("CONFIG SET maxmemory-policy {}", self.one_of(&policies)),
            6 => "CONFIG SET larder.act no".to_owned(),
            _ => "CONFIG SET larder.act yes".to_owned(),
        }
    }

    /// A command that a client may send.
    fn command(&mut self) -> Vec<String> {
        let key = format!("{}{}", self.one_of(&["a:", "b:", ""]), self.below(20_000));
        let other = format!("{}{}", self.one_of(&["a:", "b:", ""]), self.below(20_000));
        let value = "x".repeat(self.below(1_500) as usize);
        let at = self.below(20_000).to_string();
        let words: Vec<&str> = match self.below(2_000) {
            0..40 => {
                let name = self.one_of(&["plan", "tenants", "advise", "history"]);
                let name = format!("LARDER.{name}");
                return vec![name, self.one_of(&["JSON", "a", "2h"]).to_owned()];
            }
            40..46 => vec!["LARDER.CURVE", self.one_of(&["a", "b", "default"]), "JSON"],
            46..50 => vec!["INFO", "larder"],
            50..70 => vec!["SELECT", self.one_of(&["0", "0", "1", "2"])],
            70..80 => vec!["CONFIG", "GET", "larder.*"],
            80..100 => vec!["EVAL", "return redis.call('GET', KEYS[1])", "1", &key],
            100..120 => vec!["EVAL", "redis.call('SET', KEYS[1], 'y'); return 1", "1", &key],
            120..140 => vec!["MULTI"],
            140..200 => vec!["EXEC"],
            200..240 => vec!["DEL", &key, &other],
            240..280 => vec!["EXPIRE", &key, "1"],
            280..320 => vec!["HSET", &key, &at, &value],
            320..340 => vec!["LPUSH", &key, &value],
            340..360 => vec!["MGET", &key, &other, "none"],
            360..380 => vec!["MSET", &key, &value, &other, "y"],
            380..400 => vec!["RENAME", &key, &other],
            400..420 => vec!["APPEND", &key, "more"],
            420..440 => vec!["SETEX", &key, "1", &value],
            440..450 => vec!["SCAN", &at],
            450..455 => vec!["GET"],
            455..458 => vec!["CLIENT", "NO-TOUCH", self.one_of(&["ON", "OFF"])],
            458..460 => vec!["CLIENT", "NO-EVICT", self.one_of(&["ON", "OFF"])],
            460..900 => vec!["SET", &key, &value],
            _ => vec!["GET", &key],
        };
        words.into_iter().map(str::to_owned).collect()
    }
}

/// Resident bytes of a process, from the kernel.
fn resident(server: &Process) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{}/statm", server.child.id()))?;
    let pages: f64 = text.split(' ').nth(1).context("statm has no second field")?.parse()?;
    Ok(pages * 4_096.0)
}

fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

/// The number of errors in valgrind's log, and the errors that name the module.
fn findings(log: &str) -> (usize, Vec<String>) {
    let text: Vec<_> =
        log.lines().map(|line| line.trim_start_matches(|c| c != ' ').trim()).collect();
    let blocks = text.split(|line| line.is_empty()).map(|lines| lines.join("\n"));
    let errors: Vec<_> = blocks.filter(|block| block.contains("\nat 0x")).collect();
    let count = errors.len();
    (count, errors.into_iter().filter(|block| block.contains("larder_module")).collect())
}

/// Runs for some seconds, prints its results, and fails if valgrind found anything.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let program = arguments.next().context(FORM)?;
    let seconds = arguments.next().map_or(Ok(1_800), |text| text.parse())?;
    let is_plain = arguments.next().is_some_and(|word| word == "plain");
    let life = if is_plain { LIFE / 6 } else { LIFE };
    let module = built("liblarder_module.so")?;
    let module = module.to_str().context("the folder's name is not text")?;
    let log = std::env::temp_dir().join(format!("larder-memcheck-{}", std::process::id()));
    let file = format!("--log-file={}", log.display());
    let leaks = "--leak-check=full";
    let (shown, kinds) = ("--show-leak-kinds=definite", "--errors-for-leak-kinds=definite");
    let valgrind = ["valgrind", "--num-callers=40", leaks, shown, kinds, &file, &program];
    let settings = "maxmemory 8mb\nenable-module-command yes";
    let own = format!("larder.act yes\nlarder.tenants \"{}\"", TENANTS[1]);
    let command = if is_plain { &valgrind[valgrind.len() - 1..] } else { &valgrind };
    let mut server = start(command, settings, Some(&own))?;
    let mut clients: Vec<_> =
        (0..3).map(|_| Client::connect(&server)).collect::<Result<Vec<_>>>()?;
    let mut owner = Client::connect(&server)?;
    let mut dice = Dice(1);
    let (mut sent, mut evicted, mut samples, mut loads) = (0_u64, 0_u64, 0_u64, 0_u64);
    let begun = Instant::now();
    let (mut looked, mut changed, mut loaded) = (begun, begun, begun);
    let mut residents = vec![];
    while begun.elapsed() < Duration::from_secs(seconds) {
        let commands: Vec<_> = (0..DEPTH).map(|_| dice.command()).collect();
        let at = dice.below(clients.len() as u64) as usize;
        clients[at].ask(&commands)?;
        sent += DEPTH as u64;
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            residents.push(resident(&server)?);
            let info = owner.ask(&words("INFO larder"))?.remove(0);
            let number = |field: &str| -> u64 {
                let line = info.lines().find_map(|line| line.strip_prefix(field));
                line.and_then(|line| line.trim().parse().ok()).unwrap_or_default()
            };
            evicted = evicted.max(number("larder_evicted_keys:"));
            samples = samples.max(number("larder_samples:"));
        }
        if changed.elapsed() >= CHANGE {
            changed = Instant::now();
            owner.ask(&words(&dice.change()))?;
            if dice.below(4) == 0 {
                let tenants = dice.one_of(&TENANTS).to_owned();
                let set = ["CONFIG", "SET", "larder.tenants", &tenants].map(str::to_owned);
                owner.ask(&[set.to_vec()])?;
            }
        }
        let is_last_load = !is_plain && begun.elapsed() > Duration::from_secs(seconds / 4);
        if loaded.elapsed() < life || is_last_load {
            continue;
        }
        loaded = Instant::now();
        // When a server unloads a module, it still executes the module's commands that were queued
        // before, though they are freed by then.
        for client in &mut clients {
            client.ask(&words("DISCARD"))?;
        }
        if owner.ask(&words("MODULE UNLOAD larder"))?[0] == "OK" {
            let replies = owner.ask(&words(&format!("MODULE LOAD {module}")))?;
            ensure!(replies[0] == "OK", "MODULE LOAD: {}", replies[0]);
            loads += 1;
        }
    }
    let quarter = residents.len() / 4;
    let early = mean(&residents[quarter..2 * quarter]);
    let late = mean(&residents[3 * quarter..]);
    owner.send(b"SHUTDOWN NOSAVE\r\n")?;
    server.child.wait()?;
    let text = if is_plain { None } else { Some(fs::read_to_string(&log)?) };
    let (count, of_module) = text.as_deref().map_or((0, vec![]), findings);
    println!("commands sent                         {sent:>10} in {seconds} s");
    println!("module loaded again                   {loads:>10} times");
    println!("keys evicted, samples, most per load  {evicted:>10} {samples:>10}");
    println!("resident in the second quarter        {:>10.1} MiB", early / 1_048_576.0);
    println!("resident in the last quarter          {:>10.1} MiB", late / 1_048_576.0);
    println!("errors found by valgrind              {count:>10}");
    println!("of these with the module in the stack {:>10}", of_module.len());
    for block in &of_module {
        println!("\n{block}");
    }
    let is_whole = text.is_none_or(|text| text.contains("ERROR SUMMARY"));
    ensure!(is_whole, "valgrind did not finish: see {}", log.display());
    ensure!(of_module.is_empty(), "valgrind found errors: see {}", log.display());
    ensure!(evicted > 0 && samples > 0, "the module did no work");
    ensure!(late <= GROWTH_MAX * early, "resident memory grew by {:.3}", late / early);
    Ok(())
}
