//! The dashboard over HTTP: pages, their style and script, and an event each second that renews the
//! middle of a page.
//!
//! `report::page` holds the text of pages. The report is made at most once a second, for all
//! readers together.

use crate::places::Place;
use crate::source::Source;
use hyper::body::{Body, Bytes, Frame};
use report::page::{self, Advice, Choices, PageData, PageSpec};
use report::words::clock_second;
use report::{History, Report};
use serde_json::json;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::{Interval, MissedTickBehavior, interval};

/// The period at which a page's middle is sent again.
const PERIOD: Duration = Duration::from_secs(1);

/// Advice is found anew when this many times of what the last search took have passed: with very
/// many tenants, it takes a twentieth of a processor.
const SPARING: u32 = 20;

/// The report of the current second, and the history made with it.
#[derive(Debug, Default)]
pub(super) struct Latest(Mutex<Option<Made>>);

#[derive(Clone, Debug)]
struct Made {
    unix_s: u64,
    report: Arc<Report>,
    history: Arc<History>,
    advice: Arc<Advice>,
    /// When the advice was found, and how long that took.
    found: (Instant, Duration),
}

impl Made {
    fn shown<'a>(&'a self, view: &'a Choices) -> PageData<'a> {
        PageData { report: &self.report, advice: &self.advice, history: &self.history, view }
    }
}

impl Latest {
    fn get(&self, source: &impl Source) -> Made {
        let unix_s = source.now_unix_s();
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Some(made) if made.unix_s == unix_s => made.clone(),
            _ => {
                let (report, history) = source.report();
                let (report, history) = (Arc::new(report), Arc::new(history));
                let is_young = |made: &&Made| made.found.0.elapsed() < SPARING * made.found.1;
                let (advice, found) = if let Some(made) = latest.as_ref().filter(is_young) {
                    (made.advice.clone(), made.found)
                } else {
                    let begun = Instant::now();
                    let advice = Arc::new(Advice::of(&report));
                    (advice, (begun, begun.elapsed()))
                };
                latest.insert(Made { unix_s, report, history, advice, found }).clone()
            }
        }
    }

    /// The report as a document.
    pub(super) fn document(&self, source: &impl Source) -> String {
        serde_json::to_string(&*self.get(source).report).unwrap_or_default()
    }
}

/// A whole page.
pub(super) fn whole(page: &PageSpec, query: &str, latest: &Latest, source: &impl Source) -> String {
    let (made, view) = (latest.get(source), Choices::of(query));
    page::whole(page, &made.shown(&view))
}

/// The stream of a page's middle, one a second, until the reader disconnects or stops reading.
pub(super) struct Events<S> {
    page: &'static PageSpec,
    view: Choices,
    latest: Arc<Latest>,
    source: Arc<S>,
    place: Arc<Place>,
    ticks: Interval,
}

impl<S: Source> Events<S> {
    /// The events of the page that `query` names; `None` if there is no such page.
    pub(super) fn of(
        query: &str,
        latest: &Arc<Latest>,
        source: &Arc<S>,
        place: &Arc<Place>,
    ) -> Option<Self> {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let path = pairs.find(|(name, _)| *name == "page").map(|(_, path)| page::decode(path));
        let (page, view) = (page::find(&path?)?, Choices::of(query));
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (latest, source, place) = (latest.clone(), source.clone(), place.clone());
        Some(Self { page, view, latest, source, place, ticks })
    }

    fn event(&self) -> Bytes {
        let made = self.latest.get(&*self.source);
        let server = &made.report.server;
        let when = clock_second(server.now_unix_s, server.now_unix_s, server.utc_offset_s);
        let html = page::middle(self.page, &made.shown(&self.view));
        // JSON holds no raw line ends, which would end the event.
        Bytes::from(format!("data: {}\n\n", json!({"html": html, "when": when})))
    }
}

impl<S: Source> Body for Events<S> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.source.is_ending() {
            return Poll::Ready(None);
        }
        ready!(self.ticks.poll_tick(context));
        // hyper asks for the next event after it sent the last one, so the client still reads.
        self.place.speaks();
        Poll::Ready(Some(Ok(Frame::data(self.event()))))
    }
}
