//! memcached's own flags, translated to directives: the arguments of `larder serve --memcached`.

mod process;
mod table;
#[cfg(test)]
mod tests;
mod translate;

pub(crate) use translate::{Asked, Serve, translate};
