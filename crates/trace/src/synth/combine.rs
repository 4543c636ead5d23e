//! Opens a generator, or a combination of generators.
//!
//! `mix:A+B+C` gives each part a tenant and joins the parts by time, each at its own rate.
//! `sequence:A+B+C` runs the parts one after another, each for its own number of requests.
//! Parameters before the first part (`mix:requests=1m:seed=3:zipf:keys=10k+loop`) apply to the
//! whole.

use super::single::one;
use crate::join::{Chain, Merge};
use crate::{Error, ReadOptions, Source};

/// Opens the generator that `text` names, with or without `synth:` before it.
pub fn open(text: &str, options: &ReadOptions) -> Result<Box<dyn Source>, Error> {
    let text = text.strip_prefix("synth:").unwrap_or(text);
    let opened = match combination(text, options) {
        Some(joined) => joined,
        None => one(text, &[], options).map(|source| Box::new(source) as Box<dyn Source>),
    };
    opened.map_err(|problem| Error::Unusable(format!("generator '{text}': {problem}")))
}

/// Opens `text` if it names a combination.
fn combination(text: &str, options: &ReadOptions) -> Option<Result<Box<dyn Source>, String>> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let is_mix = match name {
        "mix" => true,
        "sequence" => false,
        _ => return None,
    };
    Some(combine(rest, is_mix, options))
}

fn combine(text: &str, is_mix: bool, options: &ReadOptions) -> Result<Box<dyn Source>, String> {
    let (mut requests, mut seed) = (None, 1);
    let mut rest = text;
    while let Some((name, value, behind)) = leading_parameter(rest) {
        let number = || value.parse::<u64>().map_err(|_| format!("{name}={value}: not a number"));
        match name {
            "requests" if is_mix => requests = Some(number()?),
            "seed" => seed = number()?,
            _ => return Err(format!("no parameter '{name}': write requests=N or seed=N")),
        }
        rest = behind;
    }
    if rest.is_empty() {
        return Err("name its parts, joined by +, such as zipf:keys=10k+loop:keys=1k".into());
    }
    let mut parts: Vec<Box<dyn Source>> = vec![];
    for (at, part) in rest.split('+').enumerate() {
        let number = at + 1;
        let mut defaults = vec![("seed", (seed + at as u64).to_string())];
        if is_mix {
            defaults.push(("tenant", number.to_string()));
            defaults.push(("prefix", format!("t{number}_")));
            if requests.is_some() {
                defaults.push(("requests", u64::MAX.to_string()));
            }
        } else {
            defaults.push(("prefix", format!("p{number}_")));
        }
        parts.push(Box::new(one(part, &defaults, options)?));
    }
    Ok(if is_mix { Box::new(Merge::new(parts, requests)) } else { Box::new(Chain::new(parts)) })
}

/// Splits the text into its first `name=value` and the rest after the colon.
fn leading_parameter(text: &str) -> Option<(&str, &str, &str)> {
    let (first, behind) = text.split_once(':').unwrap_or((text, ""));
    let (name, value) = first.split_once('=')?;
    Some((name, value, behind))
}
