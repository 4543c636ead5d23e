//! Gradient boosted regression trees, which predict the time until an object's next use.
//!
//! Each tree is fitted to the residuals of the trees before it, and a tenth of its answer is added
//! to theirs. The numbers of trees and leaves are those of the authors of 3L-Cache, and the loss is
//! the squared error \[1\]. Their library counts rows in bins; here every boundary between two rows
//! is tried. Rows are sorted by each feature once, and the order is kept as nodes divide them.
//!
//! ```text
//!   by feature 0:   3 1 4 0 2      a node owns the same range of every order;
//!   by feature 1:   0 2 1 3 4      a split moves its left rows to the front of each,
//!        …          └ node ─┘      without changing their order
//! ```
//!
//! \[1\] Chen, Guestrin. XGBoost: a scalable tree boosting system. KDD '16.

use std::ops::Range;

/// Number of features of an object.
pub(super) const FEATURES: usize = 6;
/// Features of an object at one time.
pub(super) type FeatureRow = [f32; FEATURES];

const TREES: usize = 16;
/// Depth of a tree: 32 leaves at most.
const DEPTH: u32 = 5;
const LEARNING_RATE: f64 = 0.1;
/// The fewest rows of a leaf.
const LEAF_ROWS: usize = 20;

/// A fitted model.
#[derive(Debug)]
pub(super) struct Trees {
    mean: f64,
    trees: Vec<Tree>,
}

#[derive(Debug)]
enum Tree {
    Leaf(f64),
    Split { cut: Cut, below: Box<Tree>, above: Box<Tree> },
}

/// A split: rows whose feature is at most `at` go below, the others above.
#[derive(Clone, Copy, Debug)]
struct Cut {
    feature: usize,
    at: f64,
}

impl Trees {
    /// Fits `labels`, one for each row; `None` without rows.
    pub(super) fn fit(rows: &[FeatureRow], labels: &[f32]) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        let mean = labels.iter().map(|&label| f64::from(label)).sum::<f64>() / labels.len() as f64;
        let sorted = sorted(rows);
        let mut expected = vec![mean; rows.len()];
        let tree = |_| {
            let left = labels.iter().zip(&expected);
            let left: Vec<f64> = left.map(|(&label, known)| f64::from(label) - known).collect();
            let mut growth = Growth { rows, left: &left, orders: sorted.clone(), moved: vec![] };
            let tree = growth.node(0..rows.len(), DEPTH);
            for (expected, row) in expected.iter_mut().zip(rows) {
                *expected += LEARNING_RATE * tree.answer(row);
            }
            tree
        };
        let trees = (0..TREES).map(tree).collect();
        Some(Self { mean, trees })
    }

    /// The expected label of each row.
    pub(super) fn predict(&self, rows: &[FeatureRow]) -> Vec<f32> {
        let answer = |row: &FeatureRow| {
            let add = |sum, tree: &Tree| sum + LEARNING_RATE * tree.answer(row);
            self.trees.iter().fold(self.mean, add) as f32
        };
        rows.iter().map(answer).collect()
    }
}

impl Tree {
    fn answer(&self, row: &FeatureRow) -> f64 {
        match self {
            Self::Leaf(value) => *value,
            Self::Split { cut, below, above } => {
                if cut.is_below(row) {
                    below.answer(row)
                } else {
                    above.answer(row)
                }
            }
        }
    }
}

impl Cut {
    fn is_below(self, row: &FeatureRow) -> bool {
        f64::from(row[self.feature]) <= self.at
    }
}

/// Row numbers in the given order, then sorted by each feature.
type Orders = [Vec<u32>; FEATURES + 1];

fn sorted(rows: &[FeatureRow]) -> Orders {
    std::array::from_fn(|order| {
        let mut numbers: Vec<u32> = (0..rows.len() as u32).collect();
        if let Some(feature) = order.checked_sub(1) {
            let value = |number: &u32| rows[*number as usize][feature];
            numbers.sort_by(|one, two| value(one).total_cmp(&value(two)));
        }
        numbers
    })
}

/// A tree that grows node by node.
struct Growth<'a> {
    rows: &'a [FeatureRow],
    /// Residual of each label after the trees before this one.
    left: &'a [f64],
    orders: Orders,
    /// Scratch space: rows of a split that go above, while the others move to the front.
    moved: Vec<u32>,
}

impl Growth<'_> {
    /// Builds the node of the rows in this range of each order.
    fn node(&mut self, range: Range<usize>, depth: u32) -> Tree {
        let cut = if depth > 0 { self.cut(&range) } else { None };
        let Some(cut) = cut else {
            let sum: f64 = self.sum(&self.orders[0][range.clone()]);
            return Tree::Leaf(sum / range.len() as f64);
        };
        let middle = self.divide(&range, cut);
        let below = Box::new(self.node(range.start..middle, depth - 1));
        let above = Box::new(self.node(middle..range.end, depth - 1));
        Tree::Split { cut, below, above }
    }

    fn sum(&self, numbers: &[u32]) -> f64 {
        numbers.iter().map(|&number| self.left[number as usize]).sum()
    }

    /// The cut that reduces the squared error most, if any does.
    fn cut(&self, range: &Range<usize>) -> Option<Cut> {
        let (mut best, mut cut) = (0.0, None);
        for feature in 0..FEATURES {
            let numbers = &self.orders[feature + 1][range.clone()];
            let value = |place: usize| f64::from(self.rows[numbers[place] as usize][feature]);
            let all = self.sum(numbers);
            let (mut below, mut above) = (0.0, all);
            let square = |sum: f64, rows: usize| sum * sum / rows as f64;
            for rows in 1..numbers.len() {
                let one = self.left[numbers[rows - 1] as usize];
                below += one;
                above -= one;
                if rows < LEAF_ROWS || value(rows - 1) == value(rows) {
                    continue;
                }
                if numbers.len() - rows < LEAF_ROWS {
                    break;
                }
                let gain = 0.5
                    * (square(below, rows) + square(above, numbers.len() - rows)
                        - square(all, numbers.len()));
                if gain > best {
                    let at = f64::midpoint(value(rows - 1), value(rows));
                    (best, cut) = (gain, Some(Cut { feature, at }));
                }
            }
        }
        cut
    }

    /// Moves the rows below a cut to the front of each order. Returns the place where the others
    /// begin.
    fn divide(&mut self, range: &Range<usize>, cut: Cut) -> usize {
        let mut middle = range.start;
        for order in &mut self.orders {
            let numbers = &mut order[range.clone()];
            self.moved.clear();
            let mut kept = 0;
            for place in 0..numbers.len() {
                let number = numbers[place];
                if cut.is_below(&self.rows[number as usize]) {
                    numbers[kept] = number;
                    kept += 1;
                } else {
                    self.moved.push(number);
                }
            }
            numbers[kept..].copy_from_slice(&self.moved);
            middle = range.start + kept;
        }
        middle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learns_a_step() {
        let rows: Vec<FeatureRow> =
            (0..2_000).map(|at| [at as f32, 0.0, 0.0, 0.0, 1.0, 1.0]).collect();
        let labels: Vec<f32> = (0..2_000).map(|at| if at < 700 { 2.0 } else { 6.0 }).collect();
        let trees = Trees::fit(&rows, &labels).unwrap();
        let got = trees.predict(&[rows[100], rows[1_500]]);
        // Sixteen trees of a tenth each cover four fifths of the distance from the mean.
        let way = 1.0 - 0.9f32.powi(TREES as i32);
        for (got, end) in got.iter().zip([2.0, 6.0]) {
            let want = 4.6 + way * (end - 4.6);
            assert!((got - want).abs() < 0.01, "{got} for {want}");
        }
        assert!(Trees::fit(&[], &[]).is_none());
    }

    /// Two features together decide the label, and the rows are in no order.
    #[test]
    fn learns_a_corner() {
        let mut prng = base::Prng::new(3);
        let rows: Vec<FeatureRow> =
            (0..4_000).map(|_| std::array::from_fn(|_| prng.below(100) as f32)).collect();
        let label = |row: &FeatureRow| if row[1] < 30.0 && row[4] >= 60.0 { 9.0 } else { 1.0 };
        let labels: Vec<f32> = rows.iter().map(label).collect();
        let trees = Trees::fit(&rows, &labels).unwrap();
        let error = |row: &FeatureRow| (trees.predict(&[*row])[0] - label(row)).abs();
        let mean = rows.iter().map(error).sum::<f32>() / rows.len() as f32;
        assert!(mean < 0.6, "{mean}");
        let [inside, outside] = [29.0, 31.0].map(|x| [50.0, x, 50.0, 50.0, 70.0, 50.0]);
        assert!(trees.predict(&[inside])[0] > 6.0 && trees.predict(&[outside])[0] < 3.0);
    }
}
