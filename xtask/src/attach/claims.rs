//! The saving that an observing module claims for acting, beside the saving of a module that acts:
//! recorded traces of several tenants are replayed to both servers at the same time.

use super::mix::{Tenant, lines, play};
use super::{Client, FORM, start, words};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::thread;

/// Replays the traces, and prints the claim beside what came.
pub(super) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let program = words.next().context(FORM)?;
    let memory = words.next().context(FORM)?;
    let tenants = words.map(|word| Tenant::read(&word)).collect::<Result<Vec<_>>>()?;
    ensure!(!tenants.is_empty(), FORM);
    let settings = format!("maxmemory {memory}");
    let run = |act: &str| -> Result<(f64, Value)> {
        let module = format!("larder.act {act}\nlarder.tenants \"{}\"", lines(&tenants));
        let server = start(&[&program], &settings, Some(&module))?;
        let (_, wait) = play(&server, &tenants)?;
        let plan = Client::connect(&server)?.ask(&self::words("LARDER.PLAN JSON"))?.remove(0);
        Ok((wait, serde_json::from_str(plan.trim())?))
    };
    let (observes, acts) = thread::scope(|scope| {
        let (observes, acts) = (scope.spawn(|| run("no")), scope.spawn(|| run("yes")));
        (observes.join().expect("nothing panics"), acts.join().expect("nothing panics"))
    });
    let ((without, plan), (with, _)) = (observes?, acts?);
    let actual = with / without;
    println!("wait in \u{b5}s a request: {without:.0} while it observes, {with:.0} while it acts");
    let part = |name: &str| plan["claim"][name].as_f64();
    let Some((now, value)) = part("now").zip(part("value")) else {
        println!("actual ratio {actual:.3}; no claim was made");
        return Ok(());
    };
    let (low, high) = part("low").zip(part("high")).context("a claim has a band")?;
    let [value, low, high] = [value, low, high].map(|one| one / now);
    let is_held = (low..=high).contains(&actual);
    println!(
        "claimed ratio {value:.3}, {low:.3} to {high:.3}; actual ratio {actual:.3}: {is_held}"
    );
    Ok(())
}
