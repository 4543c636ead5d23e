//! Miss ratio curves: the miss ratio that another size or another policy would have.
//!
//! A [`Model`] watches accesses and computes a [`MissRatioCurve`]. Every model has the same rules
//! for events. A `Get` is one access. A `Set` refreshes and resizes, but is neither a hit nor a
//! miss. A `Delete` ends the object's life, and so does the end of its time to live. Evictions are
//! never shown, because a model describes the requests and not the cache that answers them. A read
//! of an object that was never written, was deleted or has expired misses at every size.
//!
//! A model that samples keeps the keys whose hash falls below a threshold. Its caller may show it
//! every access, and the model drops the ones it does not watch. Or the caller shows only the
//! accesses to watched keys, and reports the number of dropped reads ([`Model::skip`]).
#![forbid(unsafe_code)]

mod bands;
mod counted;
mod envelope;
mod find;
mod miss_ratio_curve;
mod model;
mod params;
mod part;
mod remembered;
mod track;

pub use bands::Bands;
pub use base::{Access, Bytes, MissRatio, Op};
pub use counted::{AgeCounts, Distances, ModelCounts};
pub use envelope::Envelope;
pub use find::find;
pub use miss_ratio_curve::MissRatioCurve;
pub use model::{Model, Spec};
pub use params::Params;
pub use part::{PARTS_MAX, Part};
pub use policy::Choice;
pub use remembered::{Remembered, RememberedAges, RememberedObject};
pub use track::GROUPS;

macro_rules! models {
    ($($name:ident),* $(,)?) => {
        $(pub mod $name;)*
        /// Every model, in the order reports list them.
        pub const ALL: &[&Spec] = &[$(&$name::SPEC,)*];
    };
}

models! { olken, shards, aet, eaet, footprint, krr, kaet, miniature, exact }
