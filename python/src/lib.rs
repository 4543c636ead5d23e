//! The Python package `larder`: traces, simulations, curves and plans, with numpy in and out.
//!
//! While a long call reads, generates, simulates, models or plans, other Python threads can run.
#![forbid(unsafe_code)]

mod curves;
mod division;
mod requests;
mod simulation;

use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;

/// A `ValueError` for a wrong argument.
fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An `OSError` for a file or a trace that cannot be read.
fn failed(error: impl ToString) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// Runs the pending signal handlers of Python. If one raises, as after Ctrl-C, the error is
/// `KeyboardInterrupt`.
fn check_signals() -> PyResult<()> {
    Python::attach(|py| py.check_signals()).map_err(|_| PyKeyboardInterrupt::new_err("interrupted"))
}

#[pymodule]
mod _larder {
    #[pymodule_export]
    use super::curves::models;
    #[pymodule_export]
    use super::curves::{Counts, Curve, Model, curve, merge};
    #[pymodule_export]
    use super::division::{Plan, plan};
    #[pymodule_export]
    use super::requests::{Trace, formats, generate, generators, read};
    #[pymodule_export]
    use super::simulation::{Result, policies, simulate};
}
