//! The dashboard over HTTP: pages, their style and script, and an event each second that renews the
//! middle of a page.
//!
//! `report::page` holds the text of pages. The report is made at most once a second, for all
//! readers together.

use crate::places::Place;
use crate::source::Source;
use hyper::body::{Body, Bytes, Frame};
use report::page::{self, PageData, PageSpec};
use report::words::clock;
use report::{History, Report};
use serde_json::json;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// The period at which a page's middle is sent again.
const PERIOD: Duration = Duration::from_secs(1);

/// The time that charts go back, in seconds: the default and the longest.
const SPAN_S: u64 = 300;
const SPAN_MAX_S: u64 = 2_592_000;

/// The report of the current second, and the history made with it.
#[derive(Debug, Default)]
pub(super) struct Latest(Mutex<Option<Made>>);

#[derive(Clone, Debug)]
struct Made {
    unix_s: u64,
    report: Arc<Report>,
    history: Arc<History>,
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
                latest.insert(Made { unix_s, report, history }).clone()
            }
        }
    }

    /// The report as a document.
    pub(super) fn document(&self, source: &impl Source) -> String {
        serde_json::to_string(&*self.get(source).report).unwrap_or_default()
    }
}

/// The parameters of a page in its query: which page, tenant, memory and span.
#[derive(Clone, Debug, Default)]
struct Asked {
    page: Option<String>,
    tenant: Option<String>,
    memory: Option<u64>,
    span_s: u64,
}

impl Asked {
    fn of(query: &str) -> Self {
        let mut asked = Self { span_s: SPAN_S, ..Self::default() };
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let value = page::decode(value);
            match name {
                "page" => asked.page = Some(value),
                "tenant" => asked.tenant = Some(value),
                "memory" => asked.memory = value.parse().ok(),
                "span" => asked.span_s = value.parse().unwrap_or(SPAN_S).clamp(60, SPAN_MAX_S),
                _ => {}
            }
        }
        asked
    }

    fn shown<'a>(&'a self, made: &'a Made) -> PageData<'a> {
        let (tenant, memory, span_s) = (self.tenant.as_deref(), self.memory, self.span_s);
        PageData { report: &made.report, history: &made.history, tenant, memory, span_s }
    }
}

/// A whole page.
pub(super) fn whole(page: &PageSpec, query: &str, latest: &Latest, source: &impl Source) -> String {
    let asked = Asked::of(query);
    page::whole(page, &asked.shown(&latest.get(source)))
}

/// The stream of a page's middle, one a second, until the reader disconnects or stops reading.
pub(super) struct Events<S> {
    page: &'static PageSpec,
    asked: Asked,
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
        let asked = Asked::of(query);
        let page = page::find(asked.page.as_deref()?)?;
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (latest, source, place) = (latest.clone(), source.clone(), place.clone());
        Some(Self { page, asked, latest, source, place, ticks })
    }

    fn event(&self) -> Bytes {
        let made = self.latest.get(&*self.source);
        let server = &made.report.server;
        let when = clock(server.now_unix_s, server.now_unix_s, server.utc_offset_s);
        let html = (self.page.render)(&self.asked.shown(&made));
        let when = format!("{when}:{:02}", server.now_unix_s % 60);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_and_bounded() {
        let asked = Asked::of("page=%2Ftenant&tenant=a%26b&span=99999999&memory=x&other");
        assert_eq!(asked.page.as_deref(), Some("/tenant"));
        assert_eq!(asked.tenant.as_deref(), Some("a&b"));
        assert_eq!((asked.span_s, asked.memory), (SPAN_MAX_S, None));
        assert_eq!(Asked::of("").span_s, SPAN_S);
    }
}
