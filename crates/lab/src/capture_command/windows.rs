//! The times at which a server is watched.

use crate::requests::duration;
use anyhow::{Context, ensure};
use base::Micros;
use std::time::Duration;

/// Windows of one length, at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Windows {
    pub(super) count: u64,
    pub(super) length: Duration,
    pub(super) every: Duration,
}

impl Windows {
    /// The windows that fit into `span`, the last one with its whole length.
    pub(super) fn of(span: Micros, window: &str, every: Micros) -> anyhow::Result<Self> {
        let all = window == "all";
        let length = if all { span } else { time(window).map_err(anyhow::Error::msg)? };
        let length = length.min(span);
        ensure!(
            length >= Micros::from_millis(10),
            "a window lasts at least 10ms: write --window 5s"
        );
        ensure!(
            all || every >= length || every >= span,
            "--every {every} is shorter than a window of {length}: write --window all to watch \
             without a pause"
        );
        let every = every.max(length);
        let count = 1 + span.saturating_sub(length).0 / every.0;
        let wall = |micros: Micros| Duration::from_micros(micros.0);
        Ok(Self { count, length: wall(length), every: wall(every) })
    }

    /// Time in all windows together.
    pub(super) fn watched(&self) -> Duration {
        self.length * u32::try_from(self.count).unwrap_or(u32::MAX)
    }
}

/// Reads a time such as 500ms, 10s, 5m or 1h.
pub(crate) fn time(text: &str) -> Result<Micros, String> {
    let seconds = [("m", 60), ("h", 3_600)].into_iter().find_map(|(unit, seconds)| {
        let number = text.trim().strip_suffix(unit)?.trim().parse::<u32>().ok()?;
        Some(Micros::from_secs(u64::from(number) * seconds))
    });
    let found = match seconds {
        Some(time) => Ok(time),
        None => duration(text).with_context(|| format!("'{text}' is not a time")),
    };
    let time = found.map_err(|_| format!("'{text}' is not a time: write 500ms, 10s, 5m or 1h"))?;
    if time > Micros::from_secs(7 * 86_400) {
        return Err(format!("'{text}' is longer than a week: choose a shorter time"));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_fit_into_the_span() {
        let of = |span, window, every| {
            let windows = Windows::of(time(span).unwrap(), window, time(every).unwrap());
            windows.map(|windows| (windows.count, windows.length.as_secs()))
        };
        assert_eq!(of("60s", "10s", "60s").unwrap(), (1, 10));
        assert_eq!(of("5m", "10s", "60s").unwrap(), (5, 10));
        assert_eq!(of("70s", "10s", "60s").unwrap(), (2, 10));
        assert_eq!(of("5s", "10s", "60s").unwrap(), (1, 5));
        assert_eq!(of("1h", "all", "60s").unwrap(), (1, 3_600));
        assert!(of("5m", "10s", "5s").unwrap_err().to_string().contains("--window all"));
        assert!(of("5m", "0s", "5s").is_err() && of("5m", "soon", "5s").is_err());
        for text in ["", "5", "8d", "-1s", "200h"] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
