//! The choices of a reader, which are the query of a page's address: a link shows a colleague the
//! same picture.

use super::{decode, encode};
use std::collections::BTreeMap;
use std::ops::Range;

/// The time that charts go back, in seconds: the default, the shortest and the longest.
const SPAN_S: u64 = 300;
const SPANS_S: (u64, u64) = (10, 2_592_000);

/// The choices of a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The tenant whose page is shown, or whose memory is tried.
    pub tenant: Option<String>,
    /// The memory to try, in bytes.
    pub memory: Option<u64>,
    /// The miss ratio whose memory is asked for, in thousandths.
    pub misses: Option<u16>,
    /// How far back charts go, in seconds; 0 for the whole history.
    pub span_s: u64,
    /// The stretch that charts show instead of the last `span_s`, in Unix seconds.
    pub range: Option<Range<u64>>,
    /// The column by which tables are sorted, with `-` in front for the largest first.
    pub sort: Option<String>,
    /// The event that is shown in detail, by its time in Unix seconds.
    pub event: Option<u64>,
    /// Lines that are hidden: the script's own words.
    pub hide: Option<String>,
    /// Whether only pictures and figures are shown, for a screen on a wall.
    pub is_kiosk: bool,
    /// The width of a chart in CSS pixels; 0 where it is not known. It belongs to the screen, and
    /// no link has it.
    pub width: u32,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            tenant: None,
            memory: None,
            misses: None,
            span_s: SPAN_S,
            range: None,
            sort: None,
            event: None,
            hide: None,
            is_kiosk: false,
            width: 0,
        }
    }
}

impl Choices {
    /// Reads a query; unknown parameters and invalid values do not count.
    pub fn of(query: &str) -> Self {
        let mut view = Self::default();
        let (mut from, mut to) = (None, None);
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(value);
            match name {
                "tenant" => view.tenant = Some(value),
                "misses" => {
                    let per_mille = value.parse::<f64>().map(|percent| (10.0 * percent).round());
                    let is_ratio = |misses: &f64| (1.0..1_000.0).contains(misses);
                    view.misses = per_mille.ok().filter(is_ratio).map(|misses| misses as u16);
                }
                "memory" => view.memory = value.parse().ok(),
                // The field of the sizing page, where no script runs.
                "mib" => {
                    let bytes = value.parse::<f64>().ok().map(|mib| mib * f64::from(1 << 20));
                    view.memory = bytes.map(|bytes| bytes.max(0.0) as u64);
                }
                "span" => {
                    view.span_s = match value.parse().unwrap_or(SPAN_S) {
                        0 => 0,
                        span => span.clamp(SPANS_S.0, SPANS_S.1),
                    }
                }
                "from" => from = value.parse::<u64>().ok(),
                "to" => to = value.parse::<u64>().ok(),
                "sort" => view.sort = Some(value),
                "event" => view.event = value.parse().ok(),
                "hide" => view.hide = Some(value).filter(|value| !value.is_empty()),
                "kiosk" => view.is_kiosk = value != "0",
                "width" => view.width = value.parse().unwrap_or_default(),
                _ => {}
            }
        }
        let is_long = |range: &Range<u64>| {
            range.start.checked_add(SPANS_S.0).is_some_and(|least| least <= range.end)
        };
        view.range = from.zip(to).map(|(from, to)| from..to).filter(is_long);
        view
    }

    /// The address of a page with these choices, as an attribute of HTML. No path means the same
    /// page.
    pub fn href(&self, path: &str) -> String {
        let mut parts = BTreeMap::new();
        let mut put = |name: &'static str, value: Option<String>| {
            value.map(|value| parts.insert(name, encode(&value)));
        };
        put("tenant", self.tenant.clone());
        put("memory", self.memory.map(|memory| memory.to_string()));
        put("misses", self.misses.map(|misses| (f64::from(misses) / 10.0).to_string()));
        put("span", (self.span_s != SPAN_S).then(|| self.span_s.to_string()));
        put("from", self.range.as_ref().map(|range| range.start.to_string()));
        put("to", self.range.as_ref().map(|range| range.end.to_string()));
        put("sort", self.sort.clone());
        put("event", self.event.map(|event| event.to_string()));
        put("hide", self.hide.clone());
        put("kiosk", self.is_kiosk.then(|| "1".to_owned()));
        let query: Vec<_> =
            parts.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        match &query[..] {
            [] if path.is_empty() => "?".to_owned(),
            [] => path.to_owned(),
            query => format!("{path}?{}", query.join("&amp;")),
        }
    }

    /// These choices with a change.
    #[must_use]
    pub fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut view = self.clone();
        change(&mut view);
        view
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_the_whole_state() {
        let query = "event=9&from=100&hide=a%0Ab&kiosk=1&memory=7&misses=12.5&sort=-misses&span=60&\
                     tenant=a%26b&to=200";
        let view = Choices::of(query);
        assert_eq!(view.href("/x"), format!("/x?{}", query.replace('&', "&amp;")));
        assert_eq!(view.tenant.as_deref(), Some("a&b"));
        assert_eq!(view.range, Some(100..200));
        assert_eq!(Choices::default().href("/"), "/");
    }

    #[test]
    fn invalid_choices_do_not_count() {
        let view = Choices::of("span=99999999&memory=x&other&from=9&to=8&kiosk&width=380");
        assert_eq!((view.span_s, view.memory, &view.range), (2_592_000, None, &None));
        assert!(view.is_kiosk && view.width == 380);
        assert_eq!(view.href("/"), "/?kiosk=1&amp;span=2592000");
        assert_eq!(Choices::of("span=1").span_s, 10);
        let misses =
            ["misses=5", "misses=0", "misses=100", "misses=x"].map(|one| Choices::of(one).misses);
        assert_eq!(misses, [Some(50), None, None, None]);
        assert_eq!(Choices::of(&format!("from={0}&to={0}", u64::MAX)).range, None);
    }
}
