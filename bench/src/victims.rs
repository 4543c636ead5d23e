//! What the victims of each class are worth without rank balance and with it:
//! figure 8 of the paper on LHD.
//!
//! A store of a tenth of the bytes of a trace is looked at a hundred times, in the second half of
//! the requests. The worth of a class is the mean over the looks of the hit density by byte of
//! those that left it of late; it is drawn as a multiple of the mean over all pages, ten marks for
//! the mean. Where memory is divided as it should be a page more would save the same in each.
//!
//! ```text
//! cargo x bench victims TRACE
//! ```

use crate::lhd::{NOW, footprint, lessons, play, requests};
use store::{Evictor, SizeClassStats};

/// Looks at a store.
const LOOKS: usize = 100;
/// Marks for the mean.
const MARKS: f64 = 10.0;

/// Sums over the looks at a class.
#[derive(Clone, Copy, Default)]
struct Sums {
    chunk: u64,
    pages: f64,
    worth: f64,
}

impl Sums {
    fn add(&mut self, class: &SizeClassStats) {
        let pages = class.pages as f64;
        self.chunk = class.chunk.0;
        self.pages += pages;
        self.worth += pages * class.victims.density;
    }

    fn worth(&self) -> f64 {
        self.worth / self.pages.max(f64::MIN_POSITIVE)
    }
}

fn look(path: &str, balanced: bool) -> Vec<Sums> {
    let requests = requests(path);
    let memory = footprint(&requests) / 10;
    let memory = memory + lessons(memory);
    let mut sums = vec![];
    let every = requests.len() / 2 / LOOKS;
    play(&requests, memory, Evictor::lhd(64), balanced, 1, |at, store| {
        if at > requests.len() / 2 && at % every == 0 {
            let classes = store.size_class_stats(0, NOW);
            sums.resize(classes.len(), Sums::default());
            sums.iter_mut().zip(&classes).for_each(|(sums, class)| sums.add(class));
        }
    });
    sums
}

/// The chart for a trace.
pub(crate) fn run(path: &str) {
    let (alone, balanced) = (look(path, false), look(path, true));
    let mean = |all: &[Sums]| {
        all.iter().map(|of| of.worth).sum::<f64>() / all.iter().map(|of| of.pages).sum::<f64>()
    };
    let (alone_mean, balanced_mean) = (mean(&alone), mean(&balanced));
    println!("{:>6}  {:40}  with balance", "chunk", "without balance");
    for (before, after) in alone.iter().zip(&balanced) {
        let bar = |of: &Sums, mean: f64| {
            let times = of.worth() / mean;
            let marks = "#".repeat((MARKS * times).round().min(26.0) as usize);
            format!("{:6.1} {times:5.2} {marks}", of.pages / LOOKS as f64)
        };
        let chunk = if before.chunk > 0 { before.chunk.to_string() } else { "large".to_owned() };
        println!("{chunk:>6}  {:40}  {}", bar(before, alone_mean), bar(after, balanced_mean));
    }
}
