//! Parts of an attachment to memcached that outlive a lost connection or a restart of the server.

use super::args::Args;
use super::board::Board;
use super::rhythm::Rhythm;
use super::say::{Moves, Say};
use super::told::MemcachedStats;
use crate::capture_command::cost::Cost;
use crate::capture_command::memcached::Control;
use crate::interrupt::Interrupt;
use anyhow::ensure;
use load::Address;
use std::time::{Duration, Instant};
use tune::Recipe;

/// First version of memcached whose pages move without `--act-before-1-6-43`.
const ACTS_FROM: (u32, u32, u32) = (1, 6, 43);
/// Time after which a server that has not come back counts as gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two attempts to reach the server.
const RETRY: Duration = Duration::from_millis(500);

/// Arguments, output and counts of an attachment, which outlive its sessions.
pub(super) struct MemcachedRun<'a> {
    pub(super) to: &'a Address,
    pub(super) recipe: Recipe,
    pub(super) rhythm: Rhythm,
    pub(super) say: Say,
    pub(super) board: Option<Board>,
    pub(super) ends: Option<Instant>,
    pub(super) interrupt: Interrupt,
    pub(super) cost: Cost,
    pub(super) moves: Moves,
}

impl MemcachedRun<'_> {
    /// Prints an event, and shows it on the dashboard.
    pub(super) fn happened(&self, event: &str, says: &str) {
        self.say.event(event, says);
        self.board.iter().for_each(|board| board.note(says));
    }

    pub(super) fn is_over(&self) -> bool {
        self.interrupt.is_wanted() || self.ends.is_some_and(|ends| Instant::now() >= ends)
    }

    /// Whether bursts are watched, or only counts are read.
    pub(super) const fn watches(&self) -> bool {
        self.recipe.model.is_some()
    }

    /// Waits until the server is back and answers. Returns `None` if the run is over before.
    pub(super) fn reach(&self) -> anyhow::Result<Option<(Control, MemcachedStats)>> {
        let ask = |mut control: Control| Ok((MemcachedStats::ask(&mut control)?, control));
        let began = Instant::now();
        loop {
            match Control::connect(self.to).and_then(ask) {
                Ok((told, control)) => return Ok(Some((control, told))),
                Err(_) if self.is_over() => return Ok(None),
                Err(error) => ensure!(
                    began.elapsed() < PATIENCE,
                    "{error:#}. The server has been gone for {} s: there is nothing to restore, \
                     because memcached reads its settings from the command line when it starts \
                     again",
                    PATIENCE.as_secs()
                ),
            }
            std::thread::sleep(RETRY);
        }
    }

    pub(super) fn summary(&self) -> String {
        let Moves { pages_moved, refused, bursts_rejected } = self.moves;
        let mut text = format!(
            "The server moved {pages_moved} pages; {refused} orders were refused, and \
             {bursts_rejected} bursts were ignored because too many lines were missing."
        );
        if self.watches() {
            text = format!("{text} {}", self.cost.sentence("watch"));
        }
        text
    }

    /// Whether pages are moved on this server. Prints how the server is watched, and the reason
    /// where no pages are moved.
    pub(super) fn may_act(&self, told: &MemcachedStats, args: &Args) -> bool {
        let place = format!("memcached {} at {}:{}", told.version, self.to.host, self.to.port);
        let (recipe, window, every) = (&self.recipe.name, self.rhythm.window, self.rhythm.every);
        let how = if self.watches() {
            format!("recipe {recipe}, watched for {window} of every {every}")
        } else {
            format!("recipe {recipe}, reads the server's counts every {every}")
        };
        let begin = |what: &str| self.say.event("begin", &format!("{place}: {how}. {what}"));
        if !args.act {
            begin("The command changes nothing; --act moves pages.");
            return false;
        }
        if told.version() < ACTS_FROM && !args.act_before_1_6_43 {
            begin(
                "The command only watches, with or without --act: before 1.6.43 a page move could \
                 crash the server, and before 1.6.34 it lost the items on the page. Run a newer \
                 memcached, or add --act-before-1-6-43.",
            );
            return false;
        }
        begin("The command moves pages, one at a time; Ctrl-C ends it and restores the settings.");
        true
    }
}
