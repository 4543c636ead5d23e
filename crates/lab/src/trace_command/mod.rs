//! `larder trace`: look into, convert and generate traces.

mod command;
mod convert;
mod copy;
mod generate;
mod head;
mod output;
mod progress;
mod sample;
mod sensitivity;
mod stat;
mod stat_text;
#[cfg(test)]
mod tests;

pub use command::{Args, run};
use output::print_line;

/// Writes a sample of a trace, for tests of commands that read samples.
#[cfg(test)]
pub(crate) fn sample_for_tests(trace: &str, output: &str, rate: f64) {
    sample::take(trace, &load::open::Options::default(), output, trace::Sample { rate, seed: 1 })
        .unwrap();
}
