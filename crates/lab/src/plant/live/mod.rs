//! The product in virtual time: the live store itself, instead of a model of it.
//!
//! `product.rs` plays a trace to the store, `plant.rs` also lets the pilot steer it, and
//! `reported.rs` also writes the history and makes the reports of the server.

mod plant;
mod product;
mod reported;

pub(crate) use plant::LivePlant;
pub(crate) use product::Product;
pub(crate) use reported::Reported;
