//! A memcached with the pilot attached: bursts, epochs, moving pages, and the end.
//!
//! While the pilot acts, memcached's own mover is switched off, because it would move pages back.
//! Its setting is remembered, and restored at every end that can still reach the server.

use super::args::Args;
use super::board::serve;
use super::burst::{Burst, has_holes};
use super::classes::{self, Tally};
use super::counts::Counts;
use super::mover::Mover;
use super::plant::ClassPlant;
use super::rhythm;
use super::run::MemcachedRun;
use super::say::{self, Moves, Say};
use super::told::MemcachedStats;
use crate::capture_command::cost::Cost;
use crate::capture_command::memcached::Control;
use crate::interrupt::Interrupt;
use anyhow::{Context, ensure};
use load::Address;
use std::time::{Duration, Instant};
use tune::Pilot;

/// Time between two looks at the clock, the keyboard and the page in flight.
const LOOK: Duration = Duration::from_millis(20);
/// Time between two looks at the server's counts.
const COUNT: Duration = Duration::from_secs(1);
/// Number of rejected bursts in a row after which the fix is named.
const REJECTED_MANY: u32 = 3;
/// Seed of the models, so that the sample is the same in every run.
const SEED: u64 = 1;

/// Runs until it is interrupted or its time is over.
pub(super) fn run(to: &Address, args: &Args) -> anyhow::Result<()> {
    let text = args.recipe.as_deref().unwrap_or("lama");
    let (recipe, rhythm) = rhythm::classes(text, args.window, args.every)?;
    let interrupt = Interrupt::listen_to_the_end()?;
    let say = Say { json: args.json };
    let mut run = MemcachedRun {
        to,
        recipe,
        rhythm,
        say,
        board: serve(args, say)?,
        ends: args.span.map(|span| Instant::now() + Duration::from_micros(span.0)),
        interrupt,
        cost: Cost::default(),
        moves: Moves::default(),
    };
    let mut session = Session::begin(&mut run, args)?;
    loop {
        let ended = session.steer(&mut run);
        let Err(error) = ended else {
            session.restore(run.say)?;
            break;
        };
        if session.control.stats().is_ok() {
            // The server answers, so the error is not about the connection.
            session.restore(run.say)?;
            return Err(error);
        }
        run.happened(
            "lost",
            &format!("the connection was lost ({error:#}); waiting for the server"),
        );
        let Some(back) = run.reach()? else { break };
        session = session.again(back, &mut run, args)?;
    }
    run.say.event("end", &run.summary());
    Ok(())
}

/// Attachment to one process of the server.
struct Session {
    control: Control,
    plant: ClassPlant,
    pilot: Pilot,
    mover: Option<Mover>,
    counts: Counts,
    tally: Tally,
    counted: Instant,
    /// Classes of the last transfer by counts, so that it is announced only once.
    said: Option<(u8, u8)>,
    /// Former value of `slabs automove`, where it was switched off.
    found: Option<String>,
    rejected: u32,
    /// Moves before this session.
    earlier: Moves,
}

impl Session {
    fn begin(run: &mut MemcachedRun<'_>, args: &Args) -> anyhow::Result<Self> {
        Self::on(Control::connect(run.to)?, run, args)
    }

    fn on(mut control: Control, run: &mut MemcachedRun<'_>, args: &Args) -> anyhow::Result<Self> {
        let told = MemcachedStats::ask(&mut control)?;
        let acts = run.may_act(&told, args);
        let mut pilot = Pilot::new(run.recipe, SEED);
        if !acts {
            pilot = pilot.only_watching();
        }
        let mut session = Self {
            control,
            plant: ClassPlant::new(told),
            pilot,
            mover: acts.then(|| Mover::new(Instant::now())),
            counts: Counts::default(),
            tally: Tally::default(),
            counted: Instant::now(),
            said: None,
            found: None,
            rejected: 0,
            earlier: run.moves,
        };
        if acts {
            session.take_over(run)?;
        }
        // The first step starts the clock and sets the keys to sample.
        session.pilot.tick(&mut session.plant);
        Ok(session)
    }

    /// Continues after the connection was lost. A new process of the server gets a new session.
    fn again(
        self,
        (control, told): (Control, MemcachedStats),
        run: &mut MemcachedRun<'_>,
        args: &Args,
    ) -> anyhow::Result<Self> {
        let before = self.plant.told().clone();
        if told.is_of_same_process(&before) {
            run.happened("back", "the connection is back, and the server did not restart.");
            let mut session = Self { control, ..self };
            session.plant.note(told);
            return Ok(session);
        }
        run.happened(
            "restarted",
            &format!(
                "the server restarted (process {}, up for {} s): all that was learned about its \
                 size classes is dropped, and learning starts again.",
                told.pid, told.uptime_s
            ),
        );
        Self::on(control, run, args)
    }

    /// Switches memcached's own mover off, and remembers its setting.
    fn take_over(&mut self, run: &MemcachedRun<'_>) -> anyhow::Result<()> {
        let settings = self.control.table("stats settings")?;
        let found = settings.get("slab_automove").cloned().unwrap_or_else(|| "1".to_owned());
        let answer = self.control.say("slabs automove 0")?;
        ensure!(
            answer == "OK",
            "the server refused to switch its own page mover off ({answer}), and would move pages \
             back: leave --act out"
        );
        run.happened(
            "acting",
            &format!("slabs automove is off while `larder attach` moves pages; it was {found}."),
        );
        self.found = Some(found);
        Ok(())
    }

    /// Restores the setting of memcached's own mover.
    fn restore(&mut self, say: Say) -> anyhow::Result<()> {
        let Some(found) = self.found.take() else { return Ok(()) };
        let line = format!("slabs automove {found}");
        let answer = self.control.say(&line);
        let answer = answer
            .with_context(|| format!("could not send `{line}`: send it to the server yourself"))?;
        ensure!(answer == "OK", "the server refused `{line}` ({answer}): send it yourself");
        say.event("restored", &format!("slabs automove is {found} again, as before."));
        Ok(())
    }

    /// Watches burst after burst until the run is over.
    fn steer(&mut self, run: &mut MemcachedRun<'_>) -> anyhow::Result<()> {
        let every = Duration::from_micros(run.rhythm.every.0);
        let length = Duration::from_micros(run.rhythm.window.0);
        while !run.is_over() {
            let began = Instant::now();
            let from = MemcachedStats::ask(&mut self.control)?;
            self.plant.note(from.clone());
            let cost_from = self.control.reading()?;
            let mut burst = None;
            if run.watches() {
                let (filter, shares) = (self.plant.filter(), self.plant.shares());
                let (now, window) = (self.plant.now(), run.rhythm.window);
                burst = Some(Burst::begin(run.to, filter, shares, now, window)?);
            }
            if !self.wait(run, began + length, burst.as_mut())? {
                return Ok(());
            }
            let heard = burst.map(Burst::end);
            let to = MemcachedStats::ask(&mut self.control)?;
            let cost_to = self.control.reading()?;
            run.cost.with.add(&cost_from, &cost_to);
            let dropped = to.dropped.saturating_sub(from.dropped);
            let dropped = dropped.max(heard.as_ref().map_or(0, |heard| heard.skipped));
            match heard {
                Some(heard) if has_holes(heard.lines, dropped) => {
                    self.plant.note(to);
                    self.reject(run, heard.lines, dropped);
                }
                heard => {
                    self.rejected = 0;
                    self.plant.take(run.rhythm.window, &from, to, heard);
                    if self.pilot.tick(&mut self.plant) {
                        run.moves = self.moves(run.moves);
                        run.say.epoch(&self.pilot.status(), &self.plant, run.moves);
                        run.board.iter().for_each(|board| board.epoch(&self.pilot));
                    }
                }
            }
            if !self.wait(run, began + every, None)? {
                return Ok(());
            }
            if every > length {
                run.cost.without.add(&cost_to, &self.control.reading()?);
            }
        }
        Ok(())
    }

    /// Moves pages, and listens to the burst if there is one, until the burst or the time ends.
    /// Returns false if the run is over before.
    fn wait(
        &mut self,
        run: &mut MemcachedRun<'_>,
        until: Instant,
        mut burst: Option<&mut Burst>,
    ) -> anyhow::Result<bool> {
        loop {
            if run.is_over() {
                run.moves = self.moves(run.moves);
                return Ok(false);
            }
            self.count(run)?;
            if let Some(mover) = &mut self.mover {
                let plant = &self.plant;
                let (wanted, hungry, known) = (plant.wanted(), &plant.hungry, plant.told());
                if let Some(told) = mover.step(&mut self.control, wanted, hungry, known)? {
                    self.plant.note(told);
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            if let Some(burst) = &mut burst {
                if burst.listen()? {
                    return Ok(true);
                }
            } else if left.is_zero() {
                return Ok(true);
            } else {
                std::thread::sleep(left.min(LOOK));
            }
        }
    }

    /// Looks at the server's counts, and moves pages where the counts alone are enough to decide.
    fn count(&mut self, run: &MemcachedRun<'_>) -> anyhow::Result<()> {
        if self.counted.elapsed() < COUNT {
            return Ok(());
        }
        self.counted = Instant::now();
        let told = MemcachedStats::ask(&mut self.control)?;
        self.counts.look(&told);
        if let Some(board) = &run.board {
            self.tally.look(&told);
            let tenants = self.tally.tenants(&told, self.plant.wanted());
            board.look(classes::server(&told, run.recipe.name), tenants);
        }
        self.plant.note(told);
        self.plant.hungry = self.counts.evicting();
        let found = self.counts.transfer().filter(|_| run.watches() && self.plant.told().is_full());
        let Some(transfer) = found else { return Ok(()) };
        let acts = self.mover.is_some();
        if acts {
            self.plant.shift(&transfer);
            self.pilot.follow();
        }
        if self.said.replace((transfer.from, transfer.to)) != Some((transfer.from, transfer.to)) {
            run.happened("counts", &say::transfer(&transfer, &self.plant, acts));
        }
        Ok(())
    }

    /// Moves so far, including this session's.
    fn moves(&self, now: Moves) -> Moves {
        let Some(mover) = &self.mover else { return now };
        Moves {
            pages_moved: self.earlier.pages_moved + mover.moved,
            refused: self.earlier.refused + mover.refused,
            ..now
        }
    }

    fn reject(&mut self, run: &mut MemcachedRun<'_>, lines: u64, dropped: u64) {
        run.moves.bursts_rejected += 1;
        self.rejected += 1;
        let mut text = format!(
            "the server dropped {dropped} of {} lines of this burst, so it is ignored.",
            lines + dropped
        );
        if self.rejected == REJECTED_MANY {
            text += " Give the server larger buffers with -o \
                     worker_logbuf_size=4096,watcher_logbuf_size=16384 (in KiB) at its next start, \
                     or watch it when it is less busy.";
        }
        run.say.event("rejected", &text);
    }
}
