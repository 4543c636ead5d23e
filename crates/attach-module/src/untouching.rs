//! Clients whose reads leave no trace, by `CLIENT NO-TOUCH ON`.
//!
//! Whether a key is touched the server decides by its client and the command that it executes. In
//! a filter there is the client and no command yet: a server from 7.2 on that is asked for a key
//! then, on behalf of such a client, reads the command through a null pointer. So keys are not
//! looked at for a client that has ever asked for it.
//!
//! Who asked is seen in the filter, whatever `CLIENT` was renamed to, and from the list of clients
//! when the module is loaded. `OFF` and `RESET` may still be refused, so they change nothing.

use crate::filter::Command;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;

/// With more clients than this those that are gone are forgotten.
const FORGET_FROM: usize = 1_024;

/// The clients that have asked for it.
#[derive(Debug, Default)]
pub(crate) struct Untouching {
    clients: RefCell<HashSet<u64>>,
    is_any: Cell<bool>,
}

impl Untouching {
    /// Learns from a list of clients as `CLIENT LIST` gives it.
    pub(crate) fn learn(&self, list: &str) {
        for line in list.lines() {
            let field = |name: &str| line.split(' ').find_map(|field| field.strip_prefix(name));
            let is_one = field("flags=").is_some_and(|flags| flags.contains('T'));
            if let Some(client) = field("id=").and_then(|id| id.parse().ok()).filter(|_| is_one) {
                self.add(client);
            }
        }
    }

    /// A command that reads and writes no key; `is_known` tells whether a client is still there.
    pub(crate) fn see(&self, command: &impl Command, is_known: impl Fn(u64) -> bool) {
        let is_wish =
            command.count() == 3 && command.word(1).bytes().eq_ignore_ascii_case(b"no-touch");
        let Some(client) = command.client().filter(|_| is_wish) else { return };
        if self.clients.borrow().len() >= FORGET_FROM {
            self.clients.borrow_mut().retain(|client| is_known(*client));
        }
        self.add(client);
    }

    /// Whether keys must not be looked at for this command.
    #[inline]
    pub(crate) fn is_of(&self, command: &impl Command) -> bool {
        self.is_any.get()
            && command.client().is_some_and(|client| self.clients.borrow().contains(&client))
    }

    fn add(&self, client: u64) {
        self.clients.borrow_mut().insert(client);
        self.is_any.set(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_clients_tells_who_asked() {
        let untouching = Untouching::default();
        untouching.learn("id=7 addr=1 flags=N db=0\nid=9 addr=2 flags=xT db=0\n\n");
        assert!(untouching.is_any.get());
        assert_eq!(*untouching.clients.borrow(), HashSet::from([9]));
    }
}
