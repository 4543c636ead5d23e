//! Arguments of the command line about the memory and the tenants.

use super::args::Args;
use crate::plant::Bounds;
use crate::survey::Survey;
use anyhow::{Context, anyhow, ensure};
use base::Bytes;
use std::collections::BTreeMap;

/// `--memory`: a size, or a share of all bytes that the traces touch.
#[derive(Clone, Copy, Debug, PartialEq)]
enum MemoryGoal {
    Size(Bytes),
    Share(f64),
}

impl MemoryGoal {
    fn parse(text: &str) -> anyhow::Result<Self> {
        let Some(percent) = text.trim().strip_suffix('%') else {
            return Ok(Self::Size(
                Bytes::parse(text).map_err(|error| anyhow!("--memory: {error}"))?,
            ));
        };
        let share = percent.trim().parse::<f64>().ok().filter(|share| *share > 0.0);
        let share = share.filter(|share| share.is_finite());
        Ok(Self::Share(
            share.with_context(|| {
                format!("--memory: '{text}' is not a share: write for example 10%")
            })? / 100.0,
        ))
    }

    fn bytes(self, footprint: Bytes) -> Bytes {
        match self {
            Self::Size(size) => size,
            Self::Share(share) => Bytes((footprint.as_f64() * share) as u64),
        }
    }
}

/// Memory to divide, and bounds and weights of tenants, from the command line.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    /// Memory to divide.
    pub(super) memory: Bytes,
    weights: BTreeMap<String, f64>,
    mins: BTreeMap<String, Bytes>,
    maxs: BTreeMap<String, Bytes>,
}

impl Wishes {
    /// Reads the arguments, and refuses those that do not suit the tenants of the traces.
    ///
    /// # Errors
    /// A message that states the cause and the fix.
    pub(super) fn parse(args: &Args, survey: &Survey) -> anyhow::Result<Self> {
        let memory = MemoryGoal::parse(&args.memory)?.bytes(survey.footprint());
        let mut wishes = Self { memory, ..Self::default() };
        for text in &args.weight {
            let (name, value) = named("--weight", text)?;
            let weight = value.parse::<f64>().ok().filter(|w| *w > 0.0 && w.is_finite());
            let weight =
                weight.with_context(|| format!("--weight: '{value}' is not a number above 0"))?;
            wishes.weights.insert(name, weight);
        }
        for (option, texts, into) in
            [("--min", &args.min, &mut wishes.mins), ("--max", &args.max, &mut wishes.maxs)]
        {
            for text in texts {
                let (name, value) = named(option, text)?;
                let size = Bytes::parse(value).map_err(|error| anyhow!("{option}: {error}"))?;
                into.insert(name, size);
            }
        }
        wishes.check(survey)?;
        Ok(wishes)
    }

    /// Refuses arguments for tenants that do not exist, and a memory that is too small for the
    /// arguments or for one object of each tenant.
    fn check(&self, survey: &Survey) -> anyhow::Result<()> {
        let memory = self.memory;
        for name in self.weights.keys().chain(self.mins.keys()).chain(self.maxs.keys()) {
            ensure!(
                survey.names.contains(name),
                "there is no tenant '{name}': the tenants of the traces are {}",
                survey.names.join(", ")
            );
        }
        let footprint = survey.footprint();
        let least: Bytes = survey.footprints.iter().map(crate::requests::Footprint::object).sum();
        ensure!(
            memory >= least.max(Bytes(1)),
            "--memory {memory} does not hold one object of each tenant: write at least {least}, or \
             a share such as 10% of the traces' footprint of {footprint}"
        );
        let mins: Bytes = self.mins.values().copied().sum();
        ensure!(
            mins <= memory,
            "the sum of all --min is {mins}, more than the memory of {memory}: lower some of them"
        );
        for (name, min) in &self.mins {
            let max = self.maxs.get(name).copied().unwrap_or(memory);
            ensure!(*min <= max, "--min {name}={min} is above its --max of {max}: swap them");
        }
        Ok(())
    }

    /// Bounds and weight of a tenant.
    pub(super) fn of(&self, name: &str) -> Bounds {
        Bounds {
            min: self.mins.get(name).copied().unwrap_or_default(),
            max: self.maxs.get(name).copied(),
            weight: self.weights.get(name).copied().unwrap_or(1.0),
            ..Bounds::none(name)
        }
    }
}

fn named<'a>(option: &str, text: &'a str) -> anyhow::Result<(String, &'a str)> {
    let (name, value) = text
        .rsplit_once('=')
        .with_context(|| format!("{option}: write TENANT=VALUE instead of '{text}'"))?;
    Ok((name.to_owned(), value))
}
