//! The colours of series, which the style of a page defines.

/// The number of colours of lines: `--c0` and so on.
pub(super) const COLOURS: usize = 8;

/// The colour of a series. A colour has one meaning on all charts of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// One of the colours of lines, for things of one kind: tenants, policies, models.
    Line(usize),
    /// The colour of a cause of misses, by the order of [`base::Cause::ALL`].
    Cause(usize),
    /// The colour of a use of memory, by the order of [`crate::MEMORY`].
    Use(usize),
    /// The colour of text, for the present state.
    Ink,
    /// A pale colour, for a forecast or for all that has no colour of its own.
    Soft,
}

impl Colour {
    /// The colour as a value of CSS.
    pub fn css(self) -> String {
        match self {
            Self::Line(at) => format!("var(--c{})", at % COLOURS),
            Self::Cause(at) => format!("var(--k{at})"),
            Self::Use(at) => format!("var(--u{at})"),
            Self::Ink => "var(--ink)".to_owned(),
            Self::Soft => "var(--soft)".to_owned(),
        }
    }
}
