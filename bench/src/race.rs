//! Runs caches in turn, each in a process of its own with an allocator of its own.
//!
//! While one process plays, the others wait, although their background threads still take CPU time.
//! Each cache has two processes, and the mean of both counts: the place of its memory makes one
//! process faster than another for as long as it runs.
//!
//! Two threads of a cache also share the machine, so two may do less than twice the work of one. To
//! show the cost of that, both processes of a cache play at once, with one thread and one cache
//! each (*apart*). *Apart* is no upper bound: the two processes share no locks, but they need the
//! last-level cache twice.
//!
//! A lap counts if the machine is whole before and after it (`machine.rs`). Otherwise it is
//! repeated with other draws. The laps of *apart* only wait for a whole machine, and always count.

use crate::machine::Watch;
use crate::peers::{CACHES, Held};
use crate::zipf::Zipf;
use crate::{KEYS, OPS, ROUNDS, Text, VALUE, median, room};
use cpu_time::ThreadTime;
use std::io::{BufRead, BufReader, Lines, Write, stdin};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Processes of each cache.
const TEAMS: usize = 2;
/// Time for all laps of a mix. After it, laps count even if the machine is not whole.
const PATIENCE: Duration = Duration::from_secs(8 * 60);
/// The word after the number of a round in which the processes of a cache play at once.
const APART: &str = "apart";
/// Passes of [`OPS`] operations that each process plays before the first round.
const BEFORE: u64 = 8;
/// The cache whose speed the caches of [`OURS`] must reach.
const BESIDE: &str = "quick_cache";
const OURS: [&str; 1] = ["larder, lhd"];

/// The requests of a race.
pub(crate) struct Mix {
    pub(crate) skew: f64,
    /// Operations of each hundred that insert without a read.
    pub(crate) inserts: usize,
}

impl Mix {
    /// Parses the words of the command line.
    pub(crate) fn of(skew: &str, inserts: &str) -> Self {
        let (skew, inserts) = (skew.parse(), inserts.parse());
        Self { skew: skew.expect("a skew"), inserts: inserts.expect("inserts in a hundred") }
    }
}

/// A process with one cache.
struct Racer {
    process: Child,
    /// Sends the number of a round, with [`APART`] if the processes of a cache play at once; then
    /// the start signal of such a round.
    told: ChildStdin,
    says: Lines<BufReader<ChildStdout>>,
}

impl Racer {
    /// Starts a process, and waits until its cache is warm.
    fn start(name: &str, mix: &Mix, overheads: &[f64], overhead: f64) -> Self {
        let (capacity, fitting) = room(overheads, overhead);
        let numbers = [mix.skew.to_string(), mix.inserts.to_string(), capacity.to_string()];
        let own = std::env::current_exe().expect("this program has a path");
        let mut process = Command::new(own)
            .args(["racer", name])
            .args(numbers)
            .args([(overhead.max(0.0) as u64).to_string(), fitting.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let told = process.stdin.take().expect("as asked for");
        let says = BufReader::new(process.stdout.take().expect("as asked for")).lines();
        let mut racer = Self { process, told, says };
        racer.line();
        racer
    }

    fn line(&mut self) -> String {
        self.says.next().expect("it goes on").expect("it can be read")
    }

    fn tell(&mut self, words: &str) {
        writeln!(self.told, "{words}").expect("it listens");
    }

    fn lap(&mut self, round: usize) -> Lap {
        self.tell(&round.to_string());
        let line = self.line();
        let mut figures = line.split(' ').map(|figure| figure.parse().expect("a number"));
        let mut next = || figures.next().expect("three numbers");
        Lap { hits: next(), one: next(), two: next(), apart: 0.0 }
    }

    fn stop(mut self) {
        drop(self.told);
        self.process.wait().expect("it ends");
    }
}

/// Plays one mix on all caches in turn, and prints the table.
pub(crate) fn run(mix: &Mix, overheads: &[f64]) {
    let start =
        |((name, _), overhead): (&(&str, _), &f64)| Racer::start(name, mix, overheads, *overhead);
    let team = |_| CACHES.iter().zip(overheads).map(start).collect();
    let mut teams: Vec<Vec<Racer>> = (0..TEAMS).map(team).collect();
    let mut watch = Watch::new(PATIENCE);
    let mut all = |round| {
        let mut lap = |racer: &mut Racer| watch.lap(|before| racer.lap(round + ROUNDS * before));
        let laps = |team: &mut Vec<Racer>| team.iter_mut().map(&mut lap).collect();
        let laps: Vec<Vec<Lap>> = teams.iter_mut().map(laps).collect();
        let mean = |at: usize| Lap::mean(laps.iter().map(|laps| laps[at]));
        let mut apart = |at| {
            watch.wait();
            apart(&mut teams, at, round)
        };
        (0..CACHES.len()).map(|at| Lap { apart: apart(at), ..mean(at) }).collect()
    };
    let rounds: Vec<Vec<Lap>> = (1..=ROUNDS).map(&mut all).collect();
    teams.into_iter().flatten().for_each(Racer::stop);
    println!("\nzipf {}, {} % inserts", mix.skew, mix.inserts);
    let Watch { kept, poor, again, .. } = watch;
    println!("{kept} laps, {poor} of them by a machine that was not whole; {again} done again");
    println!(
        "{:12}{:>10}{:>12}{:>8}{:>12}{:>8}{:>8}{:>8}",
        "", "hits", "1: Mops/s", "ratio", "2: Mops/s", "ratio", "2/1", "apart"
    );
    let of = |figure: &dyn Fn(&[Lap]) -> f64| median(rounds.iter().map(|r| figure(r)));
    for (at, (name, _)) in CACHES.iter().enumerate() {
        println!(
            "{name:12}{:>10.4}{:>12.2}{:>8.2}{:>12.2}{:>8.2}{:>8.2}{:>8.2}",
            of(&|r| r[at].hits),
            of(&|r| r[at].one * 1e3),
            of(&|r| r[at].one / r[0].one),
            of(&|r| r[at].two * 1e3),
            of(&|r| r[at].two / r[0].two),
            of(&|r| r[at].two / r[at].one),
            of(&|r| r[at].apart / r[at].one),
        );
    }
    let place = |name| CACHES.iter().position(|(known, _)| *known == name).expect("in the list");
    let beside = place(BESIDE);
    for name in OURS {
        let at = place(name);
        println!(
            "{name} by {BESIDE}: {:.2} with one thread, {:.2} with two",
            of(&|r| r[at].one / r[beside].one),
            of(&|r| r[at].two / r[beside].two),
        );
    }
}

/// Operations a nanosecond of all processes of a cache together, if they play at once with one
/// thread each.
fn apart(teams: &mut [Vec<Racer>], at: usize, round: usize) -> f64 {
    for team in &mut *teams {
        team[at].tell(&format!("{round} {APART}"));
        team[at].line();
    }
    teams.iter_mut().for_each(|team| team[at].tell("go"));
    let lines = teams.iter_mut().map(|team| team[at].line());
    lines.map(|line| line.parse::<f64>().expect("a number")).sum()
}

/// Runs in the process of one cache: plays eight million operations, and then the rounds that it
/// reads from standard input.
pub(crate) fn racer(cache: &dyn Held, mix: &Mix) {
    let zipf = Zipf::new(KEYS, mix.skew);
    (1..=BEFORE).for_each(|seed| _ = play(cache, &zipf.order(OPS, seed), mix.inserts));
    println!("ready");
    let mut told = stdin().lines();
    while let Some(words) = told.next() {
        let words = words.expect("it can be read");
        let (round, is_apart) = match words.split_once(' ') {
            Some((round, word)) => (round, word == APART),
            None => (&*words, false),
        };
        let round: u64 = round.parse().expect("a number");
        let order = |at| zipf.order(OPS, 10 * round + at);
        if is_apart {
            let order = order(4);
            println!("ready");
            told.next().expect("it is told to go").expect("it can be read");
            println!("{}", by_time(play(cache, &order, mix.inserts).ns));
            continue;
        }
        let orders = [1, 2, 3].map(order);
        let Lap { hits, one, two, .. } = lap(cache, &orders, mix.inserts);
        println!("{hits} {one} {two}");
    }
}

/// Results of one cache in one round: `hits` is a ratio, the others are operations a nanosecond.
#[derive(Clone, Copy, Debug)]
struct Lap {
    hits: f64,
    one: f64,
    two: f64,
    /// Two processes at once, with one thread and one cache each.
    apart: f64,
}

/// Operations a nanosecond of a thread that played a round in `ns` nanoseconds.
fn by_time(ns: f64) -> f64 {
    OPS as f64 / ns
}

impl Lap {
    fn mean(laps: impl Iterator<Item = Self>) -> Self {
        let mut sum = Self { hits: 0.0, one: 0.0, two: 0.0, apart: 0.0 };
        for lap in laps {
            sum.hits += lap.hits / TEAMS as f64;
            sum.one += lap.one / TEAMS as f64;
            sum.two += lap.two / TEAMS as f64;
        }
        sum
    }
}

fn lap(cache: &dyn Held, orders: &[Vec<Text>; 3], inserts: usize) -> Lap {
    let alone = play(cache, &orders[0], inserts);
    let both = std::thread::scope(|scope| {
        let threads = [1, 2].map(|at| scope.spawn(move || play(cache, &orders[at], inserts)));
        threads.map(|thread| thread.join().expect("it plays to the end").ns)
    });
    let two = 4.0 * OPS as f64 / (both[0] + both[1]);
    Lap { hits: alone.hits, one: by_time(alone.ns), two, apart: 0.0 }
}

pub(crate) struct Played {
    pub(crate) ns: f64,
    pub(crate) hits: f64,
}

/// Reads the keys of `order` through, except that the first `inserts` of each hundred operations
/// insert.
pub(crate) fn play(cache: &dyn Held, order: &[Text], inserts: usize) -> Played {
    let (mut hits, mut reads) = (0u64, 0u64);
    let begun = ThreadTime::now();
    for (at, key) in order.iter().enumerate() {
        if at % 100 < inserts {
            cache.insert(key, &[2; VALUE]);
            continue;
        }
        reads += 1;
        match cache.get(key) {
            Some(value) => hits += u64::from(std::hint::black_box(value).len() == VALUE),
            None => cache.insert(key, &[1; VALUE]),
        }
    }
    Played { ns: begun.elapsed().as_nanos() as f64, hits: hits as f64 / reads as f64 }
}
