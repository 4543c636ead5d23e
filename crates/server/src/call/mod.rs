//! A command while it runs, and the checks that every write passes.
#![allow(
    clippy::unnecessary_wraps,
    reason = "handlers have one signature, also those that never fail"
)]

mod call;
mod command;
mod events;
pub(crate) mod expiry;
mod failure;
pub(crate) mod size_check;

pub(crate) use call::{Call, wrong_arguments};
pub(crate) use command::{Command, Handler, handler, install};
pub(crate) use failure::{
    Done, Failure, NO_AUTH, NOT_AN_INTEGER, OUT_OF_MEMORY, OVERFLOW, SYNTAX, wrong_number,
};
