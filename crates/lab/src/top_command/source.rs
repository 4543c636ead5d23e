//! The choice of the source that fits a server, by what the server says about itself.

use super::look::Source;
use super::{larder, memcached, module, redis};
use crate::capture_command::{memcached as stock, redis::Control};
use load::Place;

/// A source for the server at `place`.
///
/// # Errors
/// The server cannot be reached.
pub(super) fn open(place: &Place) -> anyhow::Result<Box<dyn Source>> {
    Ok(match place {
        Place::Memcached(address) => {
            Box::new(memcached::Memcached::new(stock::Control::connect(address)?))
        }
        Place::Redis(address) => {
            let mut server = Control::connect(address)?;
            if server.info()?.contains_key("larder_version") {
                Box::new(larder::Larder::new(server))
            } else if server.has_module()? {
                Box::new(module::Module(server))
            } else {
                Box::new(redis::Redis::new(server))
            }
        }
    })
}
