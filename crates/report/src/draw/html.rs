//! One HTML page that loads nothing: no font, image or script from another file.
//!
//! Its only script hides a line of a chart when its name in the legend is clicked. Without the
//! script the page shows the same content.

use super::{Chart, Table};
use std::fmt;

/// The style of a page.
pub const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #667080;
  --line: #d9dee5;
  --c0: #1f6feb; --c1: #0f9b8e; --c2: #8e44ad; --c3: #5c9e1f; --c4: #23408e; --c5: #49a9dd;
  --c6: #0b6b43; --c7: #a98ae0; --k0: #8b95a3; --k1: #d1352b; --k2: #d98a1c; --k3: #8d6e4f;
  --k4: #c2347f; --u0: #3b5b7a; --u1: #6f8fb0; --u2: #b08f4f; --u3: #4f8f7f; --u4: #b9bfc8;
  --bad: #d1352b; --warn: #b7791f; --good: #2c8a3d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --paper: #14171c; --soft: #98a2b0;
  --line: #333a45; --c0: #6ea8ff; --c1: #3fd0c0; --c2: #cf9bf0; --c3: #a5d65a; --c4: #7f95f2;
  --c5: #8fd6ff; --c6: #46b987; --c7: #d9c8ff; --k0: #77818f; --k1: #ff6b61; --k2: #f0b04a;
  --k3: #b8977a; --k4: #f478b8; --u0: #7f9fc4; --u1: #54708f; --u2: #cfae6c; --u3: #6fb3a1;
  --u4: #5a626e; --bad: #ff7b72; --warn: #e5b567; --good: #6cc77c; } }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
figure { margin: 1.5rem 0; } svg { width: 100%; height: auto; color: var(--ink); }
svg text { fill: var(--soft); font-size: 12px; } svg .title { fill: var(--ink); font-size: 14px;
  font-weight: 600; } svg .label { fill: var(--soft); font-size: 12px; font-weight: 400; }
svg .ground { fill: transparent; } svg .grid { stroke: var(--line); }
polyline { fill: none; stroke-width: 2; }
figcaption button { margin: 0 1rem .2rem 0; padding: 0; border: 0; background: none; color: inherit;
  font: inherit; font-size: .85rem; white-space: nowrap; cursor: pointer; }
figcaption button.off { opacity: .35; text-decoration: line-through; }
figcaption i { display: inline-block; width: .8em; height: .8em; margin-right: .35em;
  border-radius: 2px; }
svg .name { font-weight: 600; } .band { opacity: .18; } .area { opacity: .75; }
svg .mark line { stroke: var(--soft); stroke-dasharray: 3 3; }
svg .mark rect { fill: var(--paper); stroke: var(--soft); } svg .mark text { font-size: 10px; }
svg a.mark:hover rect, svg a.mark:focus rect { fill: var(--line); } svg .off { display: none; }
footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); text-align: left; }
.n { text-align: right; } code { color: var(--soft); }
";

/// The script that hides and shows lines of charts.
pub const SCRIPT: &str = "
document.addEventListener('click', event => {
  const button = event.target.closest('figcaption button');
  if (!button) return;
  const off = button.classList.toggle('off');
  const line = `svg [data-series='${button.dataset.series}']`;
  const lines = button.closest('figure').querySelectorAll(line);
  lines.forEach(line => line.classList.toggle('off', off));
});
";

/// Escapes text for use in HTML.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            other => out.push(other),
        }
    }
    out
}

/// A page, from top to bottom.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
    foot: String,
}

impl Page {
    /// An empty page.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), body: String::new(), foot: String::new() }
    }

    fn add(&mut self, parts: &[&str]) -> &mut Self {
        self.body.extend(parts.iter().copied());
        self
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: &str) -> &mut Self {
        self.add(&["<h2>", &escape(text), "</h2>\n"])
    }

    /// Adds a paragraph of plain text.
    pub fn paragraph(&mut self, text: &str) -> &mut Self {
        self.add(&["<p>", &escape(text), "</p>\n"])
    }

    /// Sets the footer, which says how the page was made: command, version, seed, date.
    pub fn foot(&mut self, text: &str) -> &mut Self {
        self.foot = format!("<footer>{}</footer>\n", escape(text));
        self
    }

    /// Adds a chart.
    pub fn chart(&mut self, chart: &Chart) -> &mut Self {
        self.add(&[&chart.svg()])
    }

    /// Adds a table.
    pub fn table(&mut self, table: &Table) -> &mut Self {
        self.add(&[&table.html()])
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = escape(&self.title);
        write!(
            f,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
             {}{}<script>{SCRIPT}</script>\n</body>\n</html>\n",
            self.body, self.foot
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_beside_itself() {
        let mut page = Page::new("a & b");
        page.heading("one").paragraph("<script>").table(&Table::new(["x"]));
        let html = page.to_string();
        assert!(html.contains("<title>a &amp; b</title>"));
        for outside in ["http://", "https://", "src=", "<script>&", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
        assert_eq!(html.matches("<script").count(), 1, "its own, and none of the text");
    }
}
