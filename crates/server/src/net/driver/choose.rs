//! The choice between the drivers.

use super::driver::Driver;
use super::epoll::Epoll;
use super::uring::Uring;
use crate::settings::config::IoUring;
use mio::Poll;
use std::cell::RefCell;
use std::rc::Rc;

/// The driver of a worker: io_uring if the kernel and the settings allow it.
pub(in crate::net) fn choose(poll: Poll, number: usize, wish: IoUring) -> Rc<RefCell<dyn Driver>> {
    let epoll = Epoll::new(poll);
    if wish == IoUring::No {
        return Rc::new(RefCell::new(epoll));
    }
    match Uring::ring(&epoll) {
        Ok(ring) => Rc::new(RefCell::new(Uring::new(epoll, ring))),
        Err(error) => {
            if number == 0 && wish == IoUring::Yes {
                tracing::warn!(
                    "io-uring yes: the kernel refuses io_uring ({error}); the server uses epoll \
                     instead"
                );
            } else if number == 0 {
                tracing::info!("io_uring is not available ({error}); the server uses epoll");
            }
            Rc::new(RefCell::new(epoll))
        }
    }
}
