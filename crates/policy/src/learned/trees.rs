//! Gradient boosted regression trees, by the library `smartcore`: when an object comes back.
//!
//! As many trees and leaves as the authors of 3L-Cache have, with the squared error. The library
//! sorts rows where theirs, `LightGBM`, counts them in bins, so a fit takes longer: two seconds for
//! 65 536 rows. It is the one found that is kept up, needs no C++ and gives the same trees for the
//! same rows on every machine.

use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::xgboost::{XGRegressor, XGRegressorParameters};

/// Numbers known of an object.
pub(super) const FEATURES: usize = 6;
/// What is known of an object at one time.
pub(super) type Row = [f32; FEATURES];

const TREES: usize = 16;
/// 32 leaves at most.
const DEPTH: u16 = 5;
const LEARNING_RATE: f64 = 0.1;
/// Rows of a leaf at least.
const LEAF_ROWS: usize = 20;

/// A fitted model.
#[derive(Debug)]
pub(super) struct Trees(XGRegressor<f32, f32, DenseMatrix<f32>, Vec<f32>>);

impl Trees {
    /// Fits `labels`, one to a row; none where there are no rows.
    pub(super) fn fit(rows: &[Row], labels: &Vec<f32>) -> Option<Self> {
        let mean = labels.iter().map(|&label| f64::from(label)).sum::<f64>() / labels.len() as f64;
        let parameters = XGRegressorParameters::default()
            .with_n_estimators(TREES)
            .with_max_depth(DEPTH)
            .with_learning_rate(LEARNING_RATE)
            .with_min_child_weight(LEAF_ROWS)
            .with_lambda(0.0)
            .with_base_score(mean);
        XGRegressor::fit(&matrix(rows)?, labels, parameters).ok().map(Self)
    }

    /// The label to be expected of each row.
    pub(super) fn predict(&self, rows: &[Row]) -> Vec<f32> {
        matrix(rows).and_then(|matrix| self.0.predict(&matrix).ok()).unwrap_or_default()
    }
}

/// By columns, as the rows are sorted by one after the other.
fn matrix(rows: &[Row]) -> Option<DenseMatrix<f32>> {
    let columns = (0..FEATURES).flat_map(|at| rows.iter().map(move |row| row[at])).collect();
    DenseMatrix::new(rows.len(), FEATURES, columns, true).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learns_a_step() {
        let rows: Vec<Row> = (0..2_000).map(|at| [at as f32, 0.0, 0.0, 0.0, 1.0, 1.0]).collect();
        let labels = (0..2_000).map(|at| if at < 700 { 2.0 } else { 6.0 }).collect();
        let trees = Trees::fit(&rows, &labels).unwrap();
        let got = trees.predict(&[rows[100], rows[1_500]]);
        // Sixteen trees of a tenth each go four fifths of the way from the mean.
        let way = 1.0 - 0.9f32.powi(TREES as i32);
        for (got, end) in got.iter().zip([2.0, 6.0]) {
            let want = 4.6 + way * (end - 4.6);
            assert!((got - want).abs() < 0.01, "{got} for {want}");
        }
    }
}
