//! The Python package `larder`: traces, simulations, curves and plans, with numpy in and out.
//!
//! Everything that takes long lets other threads of Python run meanwhile.
#![forbid(unsafe_code)]

mod curves;
mod division;
mod requests;
mod simulation;

use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;

/// A wrong argument, in a sentence.
fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// What the machine or a trace said.
fn failed(error: impl ToString) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// Raises `KeyboardInterrupt` where somebody pressed Ctrl-C.
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
