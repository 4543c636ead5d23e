//! Columns side by side, each with its name below and its value above: a histogram.

use super::colour::Colour;
use super::html::escape;
use super::svg::{LETTER, TOP, extent, open};
use std::fmt::Write;

/// A histogram.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    /// The heading above it.
    pub title: String,
    /// The quantity that the heights measure.
    pub label: String,
    /// The columns, from left to right.
    pub bars: Vec<Bar>,
    /// The colour of the columns; the pale one if not set.
    pub colour: Option<Colour>,
    /// The width in CSS pixels; 0 for the default.
    pub width: u32,
}

/// A column.
#[derive(Clone, Debug, Default)]
pub struct Bar {
    /// The name below it.
    pub name: String,
    /// Its height, in any unit.
    pub height: f64,
    /// The height as text.
    pub text: String,
    /// More text, which stands behind the height while the pointer rests on the column.
    pub detail: String,
}

impl Bars {
    /// The histogram as an HTML `figure` with inline SVG. Names and values that lack room are
    /// left out; each column tells both when the pointer rests on it.
    pub fn svg(&self) -> String {
        let highest = self.bars.iter().map(|bar| bar.height).fold(0.0, f64::max);
        if highest <= 0.0 {
            return format!("<p class=\"none\">{}: nothing to draw</p>\n", escape(&self.title));
        }
        let (width, height) = extent(self.width);
        let (left, bottom, top) = (4.0, height - 28.0, TOP + 12.0);
        let each = (width - 2.0 * left) / self.bars.len() as f64;
        let longest = |of: fn(&Bar) -> &str| {
            let letters = self.bars.iter().map(|bar| of(bar).chars().count()).max().unwrap_or(0);
            ((LETTER * letters as f64 + 8.0) / each).ceil().max(1.0) as usize
        };
        let (names, values) = (longest(|bar| &bar.name), longest(|bar| &bar.text));
        let colour = self.colour.unwrap_or(Colour::Soft).css();
        let mut out = open((width, height), &self.title, &self.label, "");
        for (at, Bar { name, height: value, text, detail }) in self.bars.iter().enumerate() {
            let x = left + each * at as f64;
            let y = bottom - (bottom - top) * value / highest;
            let middle = x + each / 2.0;
            let _ = writeln!(
                out,
                "<g><title>{}: {}{}</title><rect x=\"{:.1}\" y=\"{TOP}\" width=\"{each:.1}\" \
                 height=\"{:.1}\" class=\"ground\"/><rect x=\"{:.1}\" y=\"{y:.1}\" \
                 width=\"{:.1}\" height=\"{:.1}\" style=\"fill:{colour}\"/></g>",
                escape(name),
                escape(text),
                escape(detail),
                x,
                bottom - TOP,
                x + each * 0.08,
                each * 0.84,
                bottom - y,
            );
            let mut write = |y: f64, text: &str| {
                let _ = writeln!(
                    out,
                    "<text x=\"{middle:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
                    escape(text)
                );
            };
            if at % names == names / 2 {
                write(bottom + 18.0, name);
            }
            if values == 1 {
                write(y - 5.0, text);
            }
        }
        out + "</svg></figure>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lack_room_are_left_out() {
        let bar = |at: u32| Bar {
            name: format!("{at} ms"),
            height: f64::from(at),
            text: format!("{at} misses"),
            detail: String::new(),
        };
        let bars =
            Bars { title: "costs".into(), bars: (1..=4).map(bar).collect(), ..Bars::default() };
        let wide = bars.svg();
        assert_eq!(wide.matches("<text").count(), 1 + 4 + 4, "{wide}");
        let many = Bars { bars: (1..=100).map(bar).collect(), ..bars };
        let many = many.svg();
        assert!(many.matches("<text").count() < 20, "{many}");
        assert_eq!(many.matches("<title>").count(), 100);
        assert!(Bars::default().svg().contains("nothing to draw"));
    }
}
