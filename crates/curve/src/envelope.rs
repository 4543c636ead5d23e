//! The best of several curves at every size, and its index: the curve of a cache that may choose
//! its policy, or its K, by its size.
//!
//! The least of several noisy numbers is too low on average. A decision by an envelope therefore
//! requires a gain larger than the noise. Or it chooses on one half of the keys and measures the
//! gain on the other.

use base::{Bytes, MissRatio};

use crate::MissRatioCurve;

/// The least of several curves at every size.
#[derive(Clone, Debug)]
pub struct Envelope {
    points: Vec<(Bytes, MissRatio, usize)>,
}

impl Envelope {
    /// The envelope of `curves`, which are identified by their index. Among equal ones the first
    /// wins.
    pub fn new(curves: &[&MissRatioCurve]) -> Self {
        let points = curves.iter().flat_map(|curve| curve.points());
        let mut sizes: Vec<Bytes> = points.map(|(size, _)| *size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let best = |size: Bytes| {
            let mut best = (size, MissRatio::ALL, 0);
            for (who, curve) in curves.iter().enumerate() {
                let ratio = curve.at(size);
                if ratio < best.1 {
                    best = (size, ratio, who);
                }
            }
            best
        };
        Self { points: sizes.into_iter().map(best).collect() }
    }

    /// The points: size, miss ratio, index of the best curve.
    pub fn points(&self) -> &[(Bytes, MissRatio, usize)] {
        &self.points
    }

    /// The index of the best curve at `size`.
    pub fn winner(&self, size: Bytes) -> Option<usize> {
        let after = self.points.partition_point(|(known, ..)| *known <= size);
        self.points.get(after.saturating_sub(1)).map(|(.., who)| *who)
    }

    /// The envelope as a curve.
    pub fn curve(&self) -> MissRatioCurve {
        MissRatioCurve::new(self.points.iter().map(|&(size, ratio, _)| (size, ratio)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_winner_changes_where_curves_cross() {
        let early = MissRatioCurve::new([(Bytes(10), MissRatio(0.4)), (Bytes(90), MissRatio(0.4))]);
        let late = MissRatioCurve::new([(Bytes(50), MissRatio(0.9)), (Bytes(60), MissRatio(0.1))]);
        let envelope = Envelope::new(&[&early, &late]);
        assert_eq!(envelope.winner(Bytes(20)), Some(0));
        assert_eq!(envelope.winner(Bytes(70)), Some(1));
        let curve = envelope.curve();
        assert_eq!((curve.at(Bytes(10)).0, curve.at(Bytes(60)).0), (0.4, 0.1));
    }
}
