//! Clients whose reads leave no trace, by `CLIENT NO-TOUCH ON`.
//!
//! The server decides by the client and its command whether a read touches a key. In a filter the
//! client is known, but the server has no command yet. A server from 7.2 on, if asked for a key
//! then on behalf of a `NO-TOUCH` client, reads the command through a null pointer. So the module
//! looks up no key for a client that has ever set `NO-TOUCH`.
//!
//! The filter sees which clients set it, even if `CLIENT` was renamed, and the list of clients
//! shows them when the module is loaded. `OFF` and `RESET` may still be refused, so they change
//! nothing.

use crate::filter::CommandWords;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;

/// With more clients than this, disconnected ones are forgotten.
const FORGET_FROM: usize = 1_024;

/// The clients that have set `NO-TOUCH`.
#[derive(Debug, Default)]
pub(crate) struct Untouching {
    clients: RefCell<HashSet<u64>>,
    is_any: Cell<bool>,
}

impl Untouching {
    /// Learns from a list of clients in the format of `CLIENT LIST`.
    pub(crate) fn learn(&self, list: &str) {
        for line in list.lines() {
            let field = |name: &str| line.split(' ').find_map(|field| field.strip_prefix(name));
            let is_one = field("flags=").is_some_and(|flags| flags.contains('T'));
            if let Some(client) = field("id=").and_then(|id| id.parse().ok()).filter(|_| is_one) {
                self.add(client);
            }
        }
    }

    /// Examines a command without keys; `is_known` tells whether a client is still connected.
    pub(crate) fn see(&self, command: &impl CommandWords, is_known: impl Fn(u64) -> bool) {
        let is_wish =
            command.count() == 3 && command.word(1).bytes().eq_ignore_ascii_case(b"no-touch");
        let Some(client) = command.client().filter(|_| is_wish) else { return };
        if self.clients.borrow().len() >= FORGET_FROM {
            self.clients.borrow_mut().retain(|client| is_known(*client));
        }
        self.add(client);
    }

    /// Whether the module must not look up keys for this command.
    #[inline]
    pub(crate) fn is_of(&self, command: &impl CommandWords) -> bool {
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
