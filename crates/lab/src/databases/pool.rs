//! Connections to one database, shared by all threads of a replay.
//!
//! An application server keeps a bounded number of connections, and a burst of misses queues for
//! them. So here the wait for a connection is part of the time of a miss. A connection whose query
//! failed is closed, together with the idle ones, which are lost too if the database is gone. The
//! next query opens a new connection. No query is retried and no idle connection is tested before
//! its use, because both would hide or add time.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

type Open<C> = Box<dyn Fn() -> anyhow::Result<C> + Send + Sync>;

/// A bounded number of connections, each used by one thread at a time.
pub(super) struct Pool<C> {
    open: Open<C>,
    size: usize,
    state: Mutex<PoolState<C>>,
    returned: Condvar,
}

struct PoolState<C> {
    idle: Vec<C>,
    /// Number of connections that are idle, in use, or being opened.
    connections: usize,
    /// Number of threads that will ask.
    users: usize,
}

impl<C> Pool<C> {
    pub(super) fn new(
        size: usize,
        open: impl Fn() -> anyhow::Result<C> + Send + Sync + 'static,
    ) -> Self {
        let state = PoolState { idle: vec![], connections: 0, users: 0 };
        Self { open: Box::new(open), size, state: Mutex::new(state), returned: Condvar::new() }
    }

    /// Announces one more thread that will ask, and opens its connection if the pool may grow, so
    /// that the first misses do not pay for it.
    pub(super) fn join(&self) -> anyhow::Result<()> {
        let mut state = self.lock();
        state.users += 1;
        if state.connections < state.users.min(self.size) {
            state.idle.push((self.open)()?);
            state.connections += 1;
        }
        Ok(())
    }

    /// Runs `ask` on a connection, as soon as one is free.
    pub(super) fn with<T>(
        &self,
        ask: impl FnOnce(&mut C) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let mut connection = self.take()?;
        let answer = ask(&mut connection);
        let mut state = self.lock();
        let lost = if answer.is_ok() {
            state.idle.push(connection);
            vec![]
        } else {
            let mut lost = mem::take(&mut state.idle);
            lost.push(connection);
            state.connections -= lost.len();
            lost
        };
        drop(state);
        self.returned.notify_one();
        // Closing a connection talks to the database, so it happens outside the lock.
        drop(lost);
        answer
    }

    fn take(&self) -> anyhow::Result<C> {
        let mut state = self.lock();
        loop {
            if let Some(connection) = state.idle.pop() {
                return Ok(connection);
            }
            if state.connections < self.size {
                state.connections += 1;
                drop(state);
                return (self.open)().inspect_err(|_| {
                    self.lock().connections -= 1;
                    self.returned.notify_one();
                });
            }
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;

    /// A pool whose connections are numbers, in the order they were opened.
    fn numbers(size: usize) -> (Pool<usize>, Arc<AtomicUsize>) {
        let opened = Arc::new(AtomicUsize::new(0));
        let counter = opened.clone();
        (Pool::new(size, move || Ok(counter.fetch_add(1, SeqCst))), opened)
    }

    #[test]
    fn threads_share_no_more_connections_than_there_may_be() {
        let (pool, opened) = numbers(3);
        let (busy, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let asked = pool.with(|_| {
                            most.fetch_max(busy.fetch_add(1, SeqCst) + 1, SeqCst);
                            thread::yield_now();
                            busy.fetch_sub(1, SeqCst);
                            Ok(())
                        });
                        asked.unwrap();
                    }
                });
            }
        });
        assert!(most.load(SeqCst) <= 3);
        assert!(opened.load(SeqCst) <= 3);
    }

    #[test]
    fn connections_are_opened_before_they_are_needed() {
        let (pool, opened) = numbers(2);
        for expected in [1, 2, 2] {
            pool.join().unwrap();
            assert_eq!(opened.load(SeqCst), expected);
        }
    }

    /// A pool that kept failed connections would fail for ever; one that lost count of them would
    /// wait for ever.
    #[test]
    fn what_failed_is_replaced() {
        let (pool, opened) = numbers(2);
        pool.join().unwrap();
        pool.join().unwrap();
        for _ in 0..5 {
            pool.with(|_| -> anyhow::Result<()> { bail!("gone") }).unwrap_err();
        }
        // The first failure closed both connections, and each later failure closed one.
        assert_eq!(opened.load(SeqCst), 2 + 4);
        assert_eq!(pool.with(|number| Ok(*number)).unwrap(), 6);
    }

    #[test]
    fn a_database_that_is_away_is_tried_again() {
        let tries = AtomicUsize::new(0);
        let open = move || match tries.fetch_add(1, SeqCst) {
            0..3 => bail!("away"),
            number => Ok(number),
        };
        let pool = Pool::new(1, open);
        for _ in 0..3 {
            pool.with(|_| Ok(())).unwrap_err();
        }
        assert_eq!(pool.with(|number| Ok(*number)).unwrap(), 3);
    }
}
