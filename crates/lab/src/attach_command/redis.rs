//! Steers a Redis or Valkey without a module, from outside.
//!
//! Such a server has no pools and no budgets: it evicts among all keys. So there are two settings
//! to steer: the number of candidates of an eviction (DLRU's K) and the policy. Both are changed by
//! CONFIG SET and restored at the end.

use super::args::Args;
use super::better::Better;
use super::board::{Board, serve};
use super::keys::{self, KeyPlant, RedisStats};
use super::redis_pilot::pilot;
use super::rhythm::Rhythm;
use super::say::{self, Say};
use crate::capture_command::cost::Cost;
use crate::capture_command::redis::{self, Control};
use crate::interrupt::Interrupt;
use ::report::words::{count, percent, size};
use anyhow::{Context, bail, ensure};
use load::{Address, Bounds};
use serde_json::json;
use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};
use trace::capture::{Monitor, Parser};
use tune::{Pilot, Recipe, recipe};

/// Time between two looks at the clock and at the keyboard.
const LOOK: Duration = Duration::from_millis(20);
/// Time between two looks for the pages of `--http`.
const SHOWN: Duration = Duration::from_secs(1);
const CHUNK: usize = 1 << 18;
/// A server that does not come back within this time is gone.
const PATIENCE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(500);
const LACKS: &str = "Without the module, tenants cannot have budgets of their own: the server \
                     evicts from all of them alike. liblarder_module.so changes that.";

/// The server's own settings, to be restored; `None` for a setting that was not changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    samples: Option<String>,
    policy: Option<String>,
}

/// Runs until it is interrupted or its time is over.
pub(super) fn run(to: &Address, args: &Args) -> anyhow::Result<()> {
    let text = args.recipe.as_deref().unwrap_or("dlru");
    let every = args.every.unwrap_or(base::Micros::from_secs(60)).max(args.window);
    let rhythm = Rhythm { window: args.window, every };
    let chosen = recipe::parse(text).map_err(anyhow::Error::msg)?;
    ensure!(
        chosen.name == "dlru",
        "recipe {} does not work from outside the server: choose dlru. {LACKS}",
        chosen.name
    );
    let interrupt = Interrupt::listen_to_the_end()?;
    let ends = args.span.map(|span| Instant::now() + Duration::from_micros(span.0));
    let say = Say { json: args.json };
    let board = serve(args, say)?;
    let mut run =
        RedisRun { to, rhythm, chosen, say, board, interrupt, ends, cost: Cost::default() };
    let mut control = Control::connect(to)?;
    loop {
        let mut session = Session::begin(control, &run, args.act)?;
        let ended = session.steer(&mut run);
        let Err(error) = ended else {
            session.restore(say)?;
            break;
        };
        if session.control.info().is_ok() {
            session.restore(say)?;
            return Err(error);
        }
        run.happened(
            "lost",
            &format!("the connection was lost ({error:#}); waiting for the server"),
        );
        let Some(back) = run.reach()? else { break };
        control = back;
        run.happened("back", "the server is back.");
        session.hand_over(&mut control, say)?;
    }
    say.event("end", &run.cost.sentence("MONITOR"));
    Ok(())
}

struct RedisRun<'a> {
    to: &'a Address,
    rhythm: Rhythm,
    chosen: Recipe,
    say: Say,
    board: Option<Board>,
    interrupt: Interrupt,
    ends: Option<Instant>,
    cost: Cost,
}

impl RedisRun<'_> {
    /// Prints an event, and shows it on the pages.
    fn happened(&self, event: &str, says: &str) {
        self.say.event(event, says);
        self.board.iter().for_each(|board| board.note(says));
    }

    fn is_over(&self) -> bool {
        self.interrupt.is_wanted() || self.ends.is_some_and(|ends| Instant::now() >= ends)
    }

    /// Waits until the server answers again and has loaded its data. Returns `None` if the run is
    /// over before.
    fn reach(&self) -> anyhow::Result<Option<Control>> {
        let ask = |mut control: Control| {
            let info = control.info()?;
            ensure!(
                info.get("loading").is_none_or(|flag| flag == "0"),
                "the server is loading its data"
            );
            Ok(control)
        };
        let began = Instant::now();
        loop {
            match Control::connect(self.to).and_then(ask) {
                Ok(control) => return Ok(Some(control)),
                Err(_) if self.is_over() => return Ok(None),
                Err(error) => ensure!(
                    began.elapsed() < PATIENCE,
                    "{error:#}. The server has been gone for {} s: when it starts again, it reads \
                     the settings from its configuration file",
                    PATIENCE.as_secs()
                ),
            }
            std::thread::sleep(RETRY);
        }
    }
}

/// The value of one setting by CONFIG GET; `None` if the server does not allow the command.
fn setting(control: &mut Control, name: &str) -> anyhow::Result<Option<String>> {
    control.link.put(&["CONFIG", "GET", name]);
    control.link.flush()?;
    control.link.reply(|reply| match reply {
        wire::resp::Reply::Array(pair) => {
            let value = pair.get(1).and_then(wire::resp::Reply::as_bytes);
            value.map(|value| base::printable(&String::from_utf8_lossy(value)).into_owned())
        }
        _ => None,
    })
}

/// The steering of one process of the server.
struct Session {
    control: Control,
    plant: KeyPlant,
    pilot: Pilot,
    acts: bool,
    policy: String,
    k: u8,
    found: Found,
    better: Better,
    /// Time of the last look for the pages.
    shown: Instant,
}

impl Session {
    fn begin(mut control: Control, run: &RedisRun<'_>, wants_to_act: bool) -> anyhow::Result<Self> {
        let info = control.info()?;
        let place = format!("{}:{}", run.to.host, run.to.port);
        ensure!(
            !info.contains_key("larder_version"),
            "{place} is a Larder, which tunes itself: ask it with `larder advise redis://{place}`"
        );
        let version = info.get("valkey_version").or_else(|| info.get("redis_version"));
        let version = version.cloned().unwrap_or_default();
        let told = RedisStats::ask(&mut control)?;
        let policy = info.get("maxmemory_policy").cloned().unwrap_or_default();
        ensure!(
            told.limit > 0 && policy != "noeviction",
            "{place} evicts nothing (maxmemory {}, {policy}): there is nothing to tune. `CONFIG \
             SET maxmemory 1gb` and `CONFIG SET maxmemory-policy allkeys-lru` turn it into a \
             cache; `larder advise --from redis://{place}` recommends a size",
            told.limit
        );
        let samples = setting(&mut control, "maxmemory-samples")?;
        let k = samples.as_ref().and_then(|text| text.parse().ok()).unwrap_or(5);
        let acts = wants_to_act && samples.is_some();
        let what = match (acts, wants_to_act) {
            (true, _) => {
                "The command sets maxmemory-samples and maxmemory-policy, and restores both at its \
                 end."
            }
            (_, true) => {
                "The server does not allow CONFIG: the command changes nothing and only advises."
            }
            _ => "The command changes nothing; --act sets maxmemory-samples and maxmemory-policy.",
        };
        let (window, every) = (run.rhythm.window, run.rhythm.every);
        run.say.event(
            "begin",
            &format!(
                "server {version} at {place}, {policy}, {k} candidates: MONITOR for {window} of \
                 every {every}, which about doubles the work of a command while it runs; the \
                 summary states the measured cost. {what} {LACKS}"
            ),
        );
        let pilot = pilot(run.chosen, run.rhythm.window, (&policy, k), acts);
        let plant = KeyPlant::new(told);
        let (found, better, shown) = (Found::default(), Better::default(), Instant::now());
        let mut session = Self { control, plant, pilot, acts, policy, k, found, better, shown };
        session.pilot.tick(&mut session.plant);
        Ok(session)
    }

    /// Restores the server's own settings on a new connection. A restarted server already has the
    /// settings of its file, which are the same.
    fn hand_over(mut self, control: &mut Control, say: Say) -> anyhow::Result<()> {
        std::mem::swap(&mut self.control, control);
        let done = self.restore(say);
        std::mem::swap(&mut self.control, control);
        done
    }

    fn restore(&mut self, say: Say) -> anyhow::Result<()> {
        let Found { samples, policy } = std::mem::take(&mut self.found);
        for (name, value) in [("maxmemory-samples", samples), ("maxmemory-policy", policy)] {
            let Some(value) = value else { continue };
            let set = self.control.text(&["CONFIG", "SET", name, &value]);
            set.with_context(|| {
                format!("could not restore {name}: send `CONFIG SET {name} {value}` yourself")
            })?;
            say.event("restored", &format!("{name} is {value} again, as before."));
        }
        Ok(())
    }

    fn steer(&mut self, run: &mut RedisRun<'_>) -> anyhow::Result<()> {
        let every = Duration::from_micros(run.rhythm.every.0);
        while !run.is_over() {
            let began = Instant::now();
            let from = RedisStats::ask(&mut self.control)?;
            let cost_from = self.control.reading()?;
            if !self.burst(run)? {
                return Ok(());
            }
            let to = RedisStats::ask(&mut self.control)?;
            let cost_to = self.control.reading()?;
            run.cost.with.add(&cost_from, &cost_to);
            self.plant.end(&from, to.clone());
            if self.pilot.tick(&mut self.plant) {
                self.epoch(run, &from, &to)?;
            }
            let pauses = Instant::now() < began + every;
            while Instant::now() < began + every {
                if run.is_over() {
                    return Ok(());
                }
                self.show(run)?;
                std::thread::sleep(LOOK);
            }
            if pauses {
                run.cost.without.add(&cost_to, &self.control.reading()?);
            }
        }
        Ok(())
    }

    /// Listens for one window. Returns false if the run is over before the window ends.
    fn burst(&mut self, run: &RedisRun<'_>) -> anyhow::Result<bool> {
        let (mut stream, arrived) = redis::open(run.to, false, Bounds::STRANGER)?;
        stream.set_read_timeout(Some(LOOK)).context("could not set the read timeout")?;
        let (mut parser, mut buffer) = (Monitor::default(), vec![0; CHUNK]);
        let ends = Instant::now() + Duration::from_micros(run.rhythm.window.0);
        self.plant.begin(run.rhythm.window);
        parser.feed(&arrived, &mut |event| self.plant.see(event));
        while Instant::now() < ends {
            if run.is_over() {
                return Ok(false);
            }
            self.show(run)?;
            match stream.read(&mut buffer) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(got) => parser.feed(&buffer[..got], &mut |event| self.plant.see(event)),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                    _ => bail!("the connection was lost ({error})"),
                },
            }
        }
        parser.end(&mut |event| self.plant.see(event));
        Ok(true)
    }

    /// Records a look at the server once a second, for `--http`.
    fn show(&mut self, run: &RedisRun<'_>) -> anyhow::Result<()> {
        let Some(board) = run.board.as_ref().filter(|_| self.shown.elapsed() >= SHOWN) else {
            return Ok(());
        };
        self.shown = Instant::now();
        let info = self.control.info()?;
        board.look(keys::server(&info), vec![RedisStats::of(&info).tenant(&self.policy)]);
        Ok(())
    }

    /// Prints the result of an epoch, and changes settings if the pilot acts.
    fn epoch(
        &mut self,
        run: &RedisRun<'_>,
        from: &RedisStats,
        to: &RedisStats,
    ) -> anyhow::Result<()> {
        run.board.iter().for_each(|board| board.epoch(&self.pilot));
        let status = self.pilot.status();
        let Some(epoch) = status.history.last() else { return Ok(()) };
        let planned = status.plan.as_ref().and_then(|plan| plan.pools.first());
        let wanted = planned.map(|share| share.evictor).filter(|one| one.policy == "klru");
        let (reads, misses) =
            (to.hits + to.misses - from.hits - from.misses, to.misses - from.misses);
        let ratio = misses as f64 / reads.max(1) as f64;
        // A set of plays takes a few dozen calls.
        (0..64).any(|_| self.pilot.play(base::Micros(0)));
        let trials = self.pilot.replayed().map_or(vec![], |replayed| replayed.trials());
        let advice = self.better.see(&self.policy, &trials);
        if run.say.json {
            say::object(&json!({
                "event": "epoch",
                "epoch": epoch.epoch,
                "decision": epoch.decision,
                "gain": epoch.gain,
                "reads": reads,
                "misses": misses,
                "candidates": self.k,
                "wanted": wanted.map(|one| one.k),
                "policy": self.policy,
                "better_policy": advice,
                "sampled": status.rate,
            }));
        } else {
            let wants = match wanted {
                Some(one) if one.k != self.k => format!(
                    "{} candidates instead of {}: {} fewer misses",
                    one.k,
                    self.k,
                    percent(epoch.gain.max(0.0))
                ),
                _ => format!("{} candidates are best", self.k),
            };
            let also =
                advice.as_ref().map_or_else(String::new, |name| format!("; {name} is better"));
            say::text(&format!(
                "{:>4}  {} reads, {} missed, {} of {}: {wants}{also}",
                epoch.epoch,
                count(reads),
                percent(ratio),
                size(to.used),
                size(to.limit)
            ));
        }
        if !self.acts {
            return Ok(());
        }
        if let Some(k) = wanted.map(|one| one.k).filter(|&k| k != self.k && k > 0) {
            self.set(run, "maxmemory-samples", &k.to_string())?;
            self.k = k;
        }
        if let Some(policy) = advice {
            self.set(run, "maxmemory-policy", &policy)?;
            self.policy = policy;
            // The curves of the old policy do not describe the new one.
            let place = (&*self.policy, self.k);
            self.pilot = pilot(run.chosen, run.rhythm.window, place, true);
            self.better = Better::default();
            self.pilot.tick(&mut self.plant);
        }
        Ok(())
    }

    fn set(&mut self, run: &RedisRun<'_>, name: &str, value: &str) -> anyhow::Result<()> {
        let before = setting(&mut self.control, name)?;
        let kept = match name {
            "maxmemory-policy" => &mut self.found.policy,
            _ => &mut self.found.samples,
        };
        if kept.is_none() {
            kept.clone_from(&before);
        }
        if let Err(error) = self.control.text(&["CONFIG", "SET", name, value]) {
            self.acts = false;
            run.happened("refused", &format!("{error:#}. From now on the command only advises."));
            return Ok(());
        }
        let before = before.unwrap_or_default();
        run.happened("set", &format!("{name} is now {value}; it was {before}."));
        Ok(())
    }
}
