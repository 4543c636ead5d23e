//! Popular keys, disturbed by scans: from time to time a run of new keys passes through, which are
//! never requested again. Policies that admit everything lose the popular keys.

use super::sampler::Zipf;
use super::{Draw, GeneratorSpec, Param, Pattern};
use base::Prng;

/// The registry entry.
pub const SPEC: GeneratorSpec = GeneratorSpec {
    name: "scan",
    about: "Zipf's law, disturbed by scans of keys requested once",
    params: &[
        Param::new("keys", "100000", "objects requested again"),
        Param::new("skew", "0.9", "exponent of their popularity"),
        Param::new("share", "0.3", "share of the requests that belong to scans"),
        Param::new("length", "10000", "requests in a scan"),
    ],
    build: |values| {
        let (keys, length) = (values.count("keys")?, values.count("length")?);
        let share = values.share("share")?;
        // The number of other requests between scans gives scans their share.
        let between = if share == 0.0 {
            u64::MAX
        } else {
            (length as f64 * (1.0 - share) / share).round() as u64
        };
        let zipf = Zipf::new(keys, values.at_least("skew", 0.0)?);
        Ok(Box::new(Scan { zipf, next_new: keys, length, between, left: between, scanning: false }))
    },
};

struct Scan {
    zipf: Zipf,
    next_new: u64,
    length: u64,
    between: u64,
    left: u64,
    scanning: bool,
}

impl Pattern for Scan {
    fn draw(&mut self, _: u64, prng: &mut Prng) -> Draw {
        while self.left == 0 {
            self.scanning = !self.scanning;
            self.left = if self.scanning { self.length } else { self.between };
        }
        self.left -= 1;
        if self.scanning {
            self.next_new += 1;
            return Draw::of(self.next_new - 1);
        }
        Draw::of(self.zipf.draw(prng) - 1)
    }
}
