//! Generators: one file each, and an entry in the list below.
//!
//! A generator is a [`Pattern`]: it chooses the next object. Everything else is common to all
//! generators and is done once, in `generated`: the time of the request, the size of the object,
//! the cost of its miss, and the choice of writes. An object's size, the length of its key and its
//! penalty are drawn from a stream that starts from the object's number, so they never change and
//! need no memory.
//!
//! A generator is written as `zipf:keys=1000000:skew=0.9:size=pareto/0/214.5/0.35`. The same text
//! with the same seed gives the same trace on every machine.

mod combine;
pub mod distribution;
mod generated;
mod param;
mod pattern;
mod sampler;
mod single;
mod values;

pub use combine::open;
pub use distribution::Distribution;
pub use param::{COMMON, Param};
pub use pattern::{Draw, GeneratorSpec, Pattern};
pub use single::find;
pub use values::Values;

macro_rules! generators {
    ($($name:ident),* $(,)?) => {
        $(pub mod $name;)*
        /// Every generator, in the order of the help.
        pub const ALL: &[&GeneratorSpec] = &[$(&$name::SPEC,)*];
    };
}

generators! {
    zipf, uniform, cycle, scan, phases, two_phase, periodic, etc, ycsb,
}
