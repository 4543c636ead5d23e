//! The worth of the victims of each size class, without rank balance and with it: figure 8 of the
//! paper on LHD.
//!
//! A store has memory for a tenth of the bytes of a trace. During the second half of the requests,
//! the bench reads its statistics a hundred times. The worth of a class is the hit density per byte
//! of its recent or next victims: the mean over these samples, weighted by pages. The chart draws
//! it as a multiple of the mean over all pages, with ten marks for that mean. If memory is divided
//! well, one more page saves as much in every class.
//!
//! ```text
//! cargo x bench victims TRACE
//! ```

use crate::lhd::{NOW, footprint, lessons, play, requests};
use store::{Evictor, SizeClassStats};

/// Samples of the statistics of a store.
const LOOKS: usize = 100;
/// Marks for the mean worth.
const MARKS: f64 = 10.0;

/// Sums over the samples of a class; `chunk` is the bytes of its chunks.
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
    let every = (requests.len() / 2 / LOOKS).max(1);
    play(&requests, memory, Evictor::lhd(64), balanced, 1, |at, store| {
        if at > requests.len() / 2 && at % every == 0 {
            let classes = store.size_class_stats(0, NOW);
            sums.resize(classes.len(), Sums::default());
            sums.iter_mut().zip(&classes).for_each(|(sums, class)| sums.add(class));
        }
    });
    sums
}

/// Prints the chart for a trace.
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
