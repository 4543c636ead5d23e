//! A memcached with the pilot attached: bursts, epochs, pages on their way, and the end.
//!
//! While it acts, memcached's own mover is switched off, for it would move pages back. What was
//! found is written down when it is switched off and restored at every end that can still speak to
//! the server.

use super::burst::{Burst, has_holes};
use super::mover::Mover;
use super::plant::ClassPlant;
use super::say::{Moves, Say};
use super::told::Told;
use super::{Args, Rhythm, classes};
use crate::capture_command::cost::Cost;
use crate::capture_command::memcached::Control;
use crate::interrupt::Interrupt;
use crate::replay::Address;
use anyhow::{Context, ensure};
use std::time::{Duration, Instant};
use tune::{Pilot, Recipe};

/// From this version on pages are moved without being asked twice.
const ACTS_FROM: (u32, u32, u32) = (1, 6, 43);
/// Time between two looks at the clock, the keyboard and the page in flight.
const LOOK: Duration = Duration::from_millis(20);
/// A server that does not come back within this time is gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two attempts to reach it.
const RETRY: Duration = Duration::from_millis(500);
/// Bursts with holes in a row after which the fix is named.
const REJECTED_MANY: u32 = 3;
/// Seeds the models: the sample is the same in every run.
const SEED: u64 = 1;

/// Runs until it is interrupted or its time is over.
pub(super) fn run(to: &Address, args: &Args) -> anyhow::Result<()> {
    let text = args.recipe.as_deref().unwrap_or("lama");
    let (recipe, rhythm) = classes(text, args.window, args.every)?;
    let interrupt = Interrupt::listen_to_the_end()?;
    let mut run = Run {
        to,
        recipe,
        rhythm,
        say: Say { json: args.json },
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
            // The server is there: it was not the connection.
            session.restore(run.say)?;
            return Err(error);
        }
        run.say.event("lost", &format!("the connection is lost ({error:#}); waiting for it"));
        let Some(back) = run.reach()? else { break };
        session = session.again(back, &mut run, args)?;
    }
    run.say.event("end", &run.summary());
    Ok(())
}

/// What stays, whatever becomes of the server.
struct Run<'a> {
    to: &'a Address,
    recipe: Recipe,
    rhythm: Rhythm,
    say: Say,
    ends: Option<Instant>,
    interrupt: Interrupt,
    cost: Cost,
    moves: Moves,
}

impl Run<'_> {
    fn is_over(&self) -> bool {
        self.interrupt.is_wanted() || self.ends.is_some_and(|ends| Instant::now() >= ends)
    }

    /// Whether bursts are watched, or only counts are read.
    const fn watches(&self) -> bool {
        self.recipe.model.is_some()
    }

    /// Waits for the server to come back and to answer; nothing where the user does not want to any
    /// more.
    fn reach(&self) -> anyhow::Result<Option<(Control, Told)>> {
        let ask = |mut control: Control| Ok((Told::ask(&mut control)?, control));
        let began = Instant::now();
        loop {
            match Control::connect(self.to).and_then(ask) {
                Ok((told, control)) => return Ok(Some((control, told))),
                Err(_) if self.is_over() => return Ok(None),
                Err(error) => ensure!(
                    began.elapsed() < PATIENCE,
                    "{error:#}. It has been gone for {} s: nothing is left to restore, for a \
                     memcached that starts anew moves pages as its command line says",
                    PATIENCE.as_secs()
                ),
            }
            std::thread::sleep(RETRY);
        }
    }

    fn summary(&self) -> String {
        let Moves { pages_moved, refused, bursts_rejected } = self.moves;
        let mut text = format!(
            "{pages_moved} pages were moved, {refused} orders were refused, {bursts_rejected} \
             bursts had too many holes."
        );
        if self.watches() {
            text = format!("{text} {}", self.cost.sentence("watch"));
        }
        text
    }
}

/// The time with one process of the server.
struct Session {
    control: Control,
    plant: ClassPlant,
    pilot: Pilot,
    mover: Option<Mover>,
    /// `slabs automove` as it was found, where it was switched off.
    found: Option<String>,
    rejected: u32,
    /// What moved before this session.
    earlier: Moves,
}

impl Session {
    fn begin(run: &mut Run<'_>, args: &Args) -> anyhow::Result<Self> {
        Self::on(Control::connect(run.to)?, run, args)
    }

    fn on(mut control: Control, run: &mut Run<'_>, args: &Args) -> anyhow::Result<Self> {
        let told = Told::ask(&mut control)?;
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
            found: None,
            rejected: 0,
            earlier: run.moves,
        };
        if acts {
            session.take_over(run.say)?;
        }
        // The clock begins, and with the first step the keys to sample are known.
        session.pilot.tick(&mut session.plant);
        Ok(session)
    }

    /// Goes on after the connection was lost.
    fn again(
        self,
        (control, told): (Control, Told),
        run: &mut Run<'_>,
        args: &Args,
    ) -> anyhow::Result<Self> {
        let before = self.plant.told().clone();
        if told.is_of_same_process(&before) {
            run.say.event("back", "the connection is back, and the server is the same.");
            let mut session = Self { control, ..self };
            session.plant.note(told);
            return Ok(session);
        }
        run.say.event(
            "restarted",
            &format!(
                "the server was restarted (process {}, up for {} s): what was learnt of its \
                 classes is of another cache, and learning begins anew.",
                told.pid, told.uptime_s
            ),
        );
        Self::on(control, run, args)
    }

    /// Switches memcached's own mover off, and writes down what it was.
    fn take_over(&mut self, say: Say) -> anyhow::Result<()> {
        let settings = self.control.table("stats settings")?;
        let found = settings.get("slab_automove").cloned().unwrap_or_else(|| "1".to_owned());
        let answer = self.control.say("slabs automove 0")?;
        ensure!(
            answer == "OK",
            "the server does not let its own page mover be switched off ({answer}), and would \
             move pages back: leave --act out"
        );
        say.event(
            "acting",
            &format!("slabs automove is off while pages are moved; it was {found}."),
        );
        self.found = Some(found);
        Ok(())
    }

    /// Puts back what was found.
    fn restore(&mut self, say: Say) -> anyhow::Result<()> {
        let Some(found) = self.found.take() else { return Ok(()) };
        let line = format!("slabs automove {found}");
        let answer = self.control.say(&line);
        let answer = answer.with_context(|| format!("`{line}` is still to be said"))?;
        ensure!(answer == "OK", "the server refuses `{line}` ({answer}): say it yourself");
        say.event("restored", &format!("slabs automove is {found} again, as it was found."));
        Ok(())
    }

    /// Burst after burst. Ends when the run is over.
    fn steer(&mut self, run: &mut Run<'_>) -> anyhow::Result<()> {
        let every = Duration::from_micros(run.rhythm.every.0);
        let length = Duration::from_micros(run.rhythm.window.0);
        while !run.is_over() {
            let began = Instant::now();
            let from = Told::ask(&mut self.control)?;
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
            let to = Told::ask(&mut self.control)?;
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

    /// Listens and moves pages until it is time; not where the run is over before.
    fn wait(
        &mut self,
        run: &mut Run<'_>,
        until: Instant,
        mut burst: Option<&mut Burst>,
    ) -> anyhow::Result<bool> {
        loop {
            if run.is_over() {
                run.moves = self.moves(run.moves);
                return Ok(false);
            }
            if let Some(mover) = &mut self.mover {
                let told = mover.step(&mut self.control, self.plant.wanted(), self.plant.told())?;
                if let Some(told) = told {
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

    /// What moved so far, with this session's share.
    fn moves(&self, now: Moves) -> Moves {
        let Some(mover) = &self.mover else { return now };
        Moves {
            pages_moved: self.earlier.pages_moved + mover.moved,
            refused: self.earlier.refused + mover.refused,
            ..now
        }
    }

    fn reject(&mut self, run: &mut Run<'_>, lines: u64, dropped: u64) {
        run.moves.bursts_rejected += 1;
        self.rejected += 1;
        let mut text = format!(
            "the server left out {dropped} of {} lines of this burst: it is not used.",
            lines + dropped
        );
        if self.rejected == REJECTED_MANY {
            text += " Give it larger buffers with -o worker_logbuf_size=4096,\
                     watcher_logbuf_size=16384 (in KiB) at its next start, or watch when it has \
                     less to do.";
        }
        run.say.event("rejected", &text);
    }
}

impl Run<'_> {
    /// Whether this server's pages are moved; where they are not, says why.
    fn may_act(&self, told: &Told, args: &Args) -> bool {
        let place = format!("memcached {} at {}:{}", told.version, self.to.host, self.to.port);
        let (recipe, window, every) = (&self.recipe.name, self.rhythm.window, self.rhythm.every);
        let how = if self.watches() {
            format!("recipe {recipe}, watched for {window} of every {every}")
        } else {
            format!("recipe {recipe}, its counts are read every {every}")
        };
        let begin = |what: &str| self.say.event("begin", &format!("{place}: {how}. {what}"));
        if !args.act {
            begin("Nothing is changed; --act moves pages.");
            return false;
        }
        if told.version() < ACTS_FROM && !args.act_before_1_6_43 {
            begin(
                "It is only watched, --act or not: before 1.6.43 a move of a page could crash the \
                 server, and before 1.6.34 the items on the page were lost. Run a newer one, or \
                 add --act-before-1-6-43.",
            );
            return false;
        }
        begin("Pages are moved, one at a time; Ctrl-C ends it and restores what was found.");
        true
    }
}
