//! Pages and metrics of an attached server for `--http`: the same as a Larder has. They come from
//! the server's counters and from the pilot's forecasts, plans and changes.
//!
//! The attached side records a look here once a second. A separate thread answers browsers and
//! scrapers. There are no users: any client that reaches the address sees sizes and rates, but no
//! keys.

use super::args::Args;
use super::say::Say;
use anyhow::Context;
use dashboard::metrics::{self, Page};
use dashboard::{Refused, Source};
use report::plans::{self, Plans};
use report::{Change, ChangeKind, Curve, History, Point, Report, Server, Shift, Tenant};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tune::Pilot;
use tune::pilot::Status;

/// Maximum number of connections.
const PLACES: usize = 32;
/// Maximum number of changes that are shown.
const CHANGES_MAX: usize = 64;

/// The stretch of which moves of memory are reported, in seconds.
const MOVES_S: u64 = 3_600;

/// Handle of the pages. Dropping it ends their thread.
#[derive(Debug)]
pub(super) struct Board(Arc<Shown>);

#[derive(Debug, Default)]
struct Shown {
    state: Mutex<BoardState>,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct BoardState {
    server: Server,
    tenants: Vec<Tenant>,
    history: History,
    plans: Plans,
    status: Option<Status>,
    curves: HashMap<String, Curve>,
    /// Reads and misses of each tenant at the look before.
    before: HashMap<String, (u64, u64)>,
}

fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

impl Board {
    /// Begins to serve, and returns the actual address.
    ///
    /// # Errors
    /// The address is in use, or the system starts no thread.
    pub(super) fn serve(address: SocketAddr) -> anyhow::Result<(Self, SocketAddr)> {
        let listener = dashboard::listen(address).with_context(|| {
            format!("cannot listen on {address}: choose another address with --http")
        })?;
        let address = listener.address;
        let shown = Arc::new(Shown::default());
        let own = shown.clone();
        let thread = std::thread::Builder::new().name("http".to_owned());
        thread
            .spawn(move || dashboard::run(&own, listener))
            .context("the system did not start a thread for --http")?;
        Ok((Self(shown), address))
    }

    /// Records a look at the server. Counters of tenants are since the server started.
    pub(super) fn look(&self, server: Server, tenants: Vec<Tenant>) {
        let mut state = self.0.lock();
        state.look(now_unix_s(), server, tenants);
    }

    /// Records the pilot's decisions, curves and status after an epoch.
    pub(super) fn epoch(&self, pilot: &Pilot) {
        let mut state = self.0.lock();
        let BoardState { plans, history, .. } = &mut *state;
        plans.note(pilot.history(), now_unix_s(), history);
        let curve = |(name, known): (&str, _)| Some((name.to_owned(), plans::curve(known)?));
        state.curves = pilot.own_curves().filter_map(curve).collect();
        state.status = Some(pilot.status());
    }

    /// Records another event, as a sentence.
    pub(super) fn note(&self, says: &str) {
        let text = says.trim_end_matches('.').to_owned();
        let kind = ChangeKind::Setting;
        let change = Change { unix_s: now_unix_s(), kind, text, ..Change::default() };
        self.0.lock().history.note(change);
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl BoardState {
    fn look(&mut self, unix_s: u64, server: Server, tenants: Vec<Tenant>) {
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let last = self.status.as_ref().and_then(|status| status.history.last());
        let forecast = |name: &str| {
            let pool = last.and_then(|epoch| epoch.pools.iter().find(|pool| pool.name == name));
            pool.and_then(|pool| pool.forecast).map_or(-1.0, |ratio| ratio as f32)
        };
        let mut points = vec![];
        for tenant in &tenants {
            let now = (tenant.counters.reads(), tenant.counters.misses);
            // The times of the counts before the first look are unknown.
            let before = self.before.insert(tenant.name.clone(), now).unwrap_or(now);
            points.push(Point {
                unix_s: small(unix_s),
                reads: small(now.0.saturating_sub(before.0)),
                misses: small(now.1.saturating_sub(before.1)),
                used_kib: small(tenant.used >> 10),
                budget_kib: small(tenant.budget.unwrap_or(tenant.used) >> 10),
                forecast: forecast(&tenant.name),
                ..Point::default()
            });
        }
        let names = tenants.iter().map(|tenant| tenant.name.as_str());
        self.history.push(names.zip(points));
        self.history.complete(unix_s);
        (self.server, self.tenants) = (server, tenants);
    }

    fn report(&self, unix_s: u64) -> Report {
        let history = &self.history;
        let names: Vec<_> = self.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
        let shifts = history.shifts(&names, unix_s);
        let lately = history.lately_since(&shifts, unix_s);
        let tenant = |(tenant, shift): (&Tenant, Option<Shift>)| Tenant {
            recent: history.of(Some(&tenant.name), lately),
            curve: self.curves.get(&tenant.name).cloned(),
            shift,
            ..tenant.clone()
        };
        let status = self.status.as_ref();
        let models = status.map_or(0, |status| status.model_bytes.0 + status.observer_bytes.0);
        let changes: Vec<_> = history.changes().rev().take(CHANGES_MAX).cloned().collect();
        Report {
            server: Server {
                now_unix_s: unix_s,
                quiet_s: lately.quiet_s,
                sampled: status.map_or(0.0, |status| status.rate),
                models: models + history.bytes() as u64,
                ..self.server.clone()
            },
            recent: history.of(None, lately),
            tenants: self.tenants.iter().zip(shifts).map(tenant).collect(),
            changes: changes.into_iter().rev().collect(),
            moves: history.moves(unix_s.saturating_sub(MOVES_S), unix_s),
            forecasts: history.forecasts(),
            ..Report::default()
        }
    }
}

impl Shown {
    fn lock(&self) -> MutexGuard<'_, BoardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Shown {
    fn now_unix_s(&self) -> u64 {
        now_unix_s()
    }

    fn report(&self) -> (Report, History) {
        let state = self.lock();
        (state.report(now_unix_s()), state.history.clone())
    }

    fn metrics(&self) -> String {
        let state = self.lock();
        let mut page = Page::default();
        if let Some(status) = &state.status {
            metrics::status(status, &mut page);
        }
        metrics::facts(&state.report(now_unix_s()), &mut page);
        page.text()
    }

    fn unready(&self) -> Option<&'static str> {
        self.lock().tenants.is_empty().then_some("no epoch has ended yet")
    }

    fn is_ending(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn places(&self) -> usize {
        PLACES
    }

    async fn admit(&self, _: Option<&str>, _: SocketAddr) -> Result<(), Refused> {
        Ok(())
    }

    fn note_unaccepted(&self, _: &io::Error) {}
}

/// Serves the dashboard if `--http` asks for it, and prints its address.
pub(super) fn serve(args: &Args, say: Say) -> anyhow::Result<Option<Board>> {
    let Some(address) = args.http else { return Ok(None) };
    let (board, address) = Board::serve(address)?;
    say.event("http", &format!("the dashboard is at http://{address}/."));
    Ok(Some(board))
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::Counters;

    /// Rates cover the time since the first look, without the server's counts before it.
    #[test]
    fn looks_become_a_history() {
        let mut state = BoardState::default();
        let tenant = |hits, misses| Tenant {
            name: "class 1.00 KiB".to_owned(),
            used: 4 << 20,
            counters: Counters { hits, misses, ..Counters::default() },
            ..Tenant::default()
        };
        state.look(100, Server::default(), vec![tenant(1_000, 500)]);
        state.look(101, Server::default(), vec![tenant(1_060, 520)]);
        state.look(102, Server::default(), vec![tenant(1_090, 530)]);
        let report = state.report(102);
        let recent = report.tenants[0].recent;
        assert_eq!((recent.reads, recent.misses), (120, 30));
        assert_eq!((report.recent.reads, report.server.now_unix_s), (120, 102));
    }
}
