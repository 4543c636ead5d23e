//! What a trace touches: requests, keys, bytes.

use crate::open::{Options, open};
use base::{Filter, Op};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::HashMap;

/// Keys kept at most. A trace of more is surveyed by a sample of its keys.
const KEYS_MAX: usize = 4 << 20;

/// Counts of a whole trace; keys and bytes are estimates where the keys are too many to keep.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Survey {
    pub(super) requests: u64,
    pub(super) reads: u64,
    pub(super) keys: u64,
    /// The bytes of all objects, each at its largest.
    pub(super) footprint: u64,
}

impl Survey {
    /// Reads the trace once.
    pub(super) fn of(name: &str, options: &Options) -> anyhow::Result<Self> {
        let mut source = open(name, options)?;
        let progress = progress("survey", options.limit);
        let mut survey = Self::default();
        let mut filter = Filter::ALL;
        let mut sizes: HashMap<u64, u32> = HashMap::new();
        while let Some(access) = source.next() {
            let access = access?;
            survey.requests += 1;
            survey.reads += u64::from(access.op == Op::Get);
            if survey.requests.is_multiple_of(1 << 16) {
                progress.inc(1 << 16);
            }
            if access.op == Op::Delete || !filter.keeps(access.key) {
                continue;
            }
            let size = sizes.entry(access.key).or_default();
            *size = access.size.max(*size);
            if sizes.len() > KEYS_MAX {
                filter = Filter::below(filter.threshold() / 2);
                sizes.retain(|&key, _| filter.keeps(key));
            }
        }
        progress.finish_and_clear();
        let bytes: u64 = sizes.values().map(|&size| u64::from(size)).sum();
        survey.keys = (sizes.len() as f64 / filter.rate()).round() as u64;
        survey.footprint = (bytes as f64 / filter.rate()).round() as u64;
        Ok(survey)
    }
}

/// A bar on standard error, hidden where that is not a terminal.
pub(super) fn progress(what: &'static str, requests: Option<u64>) -> ProgressBar {
    let bar = match requests {
        Some(requests) => ProgressBar::new(requests),
        None => ProgressBar::no_length(),
    };
    let style = "{msg} {wide_bar} {human_pos} requests {eta}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.with_message(what)
}
