//! A table: a head and rows of text, with numbers aligned to the right.

use super::html::escape;
use comfy_table::{CellAlignment, TableComponent, presets};
use std::fmt;

/// A head and the rows under it.
#[derive(Clone, Debug, Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new<T: Into<String>>(head: impl IntoIterator<Item = T>) -> Self {
        Self { head: head.into_iter().map(Into::into).collect(), rows: vec![] }
    }

    /// Adds a row; cells missing at its end stay empty.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        let mut row: Vec<String> = cells.into_iter().map(Into::into).collect();
        row.resize(self.head.len(), String::new());
        self.rows.push(row);
        self
    }

    /// The table as HTML.
    pub fn html(&self) -> String {
        let cell = |tag: &str, at: usize, text: &str| {
            let class = if self.is_number(at) { " class=\"n\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", escape(text))
        };
        let line = |tag: &str, cells: &[String]| {
            let cells: String =
                cells.iter().enumerate().map(|(at, text)| cell(tag, at, text)).collect();
            format!("<tr>{cells}</tr>\n")
        };
        let body: String = self.rows.iter().map(|row| line("td", row)).collect();
        format!(
            "<div class=\"wide\"><table>\n<thead>{}</thead>\n\
             <tbody>\n{body}</tbody></table></div>\n",
            line("th", &self.head)
        )
    }

    /// Whether a column has numbers only, apart from empty cells and dashes.
    fn is_number(&self, column: usize) -> bool {
        let number = |text: &str| {
            text.trim_start_matches(['-', '+', '.', '×']).starts_with(|c: char| c.is_ascii_digit())
        };
        let mut cells = self.rows.iter().map(|row| row[column].as_str());
        cells.clone().any(number) && cells.all(|text| matches!(text, "" | "-") || number(text))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING);
        // One line under the head, and none between rows.
        table.set_style(TableComponent::HeaderLines, '─');
        table.set_style(TableComponent::MiddleHeaderIntersections, '─');
        table.set_header(&self.head);
        table.add_rows(&self.rows);
        for (at, column) in table.column_iter_mut().enumerate() {
            if self.is_number(at) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        write!(f, "{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_text_is_escaped() {
        let mut table = Table::new(["policy", "miss ratio"]);
        table.row(["lru", "0.5"]).row(["a<b", "0.25"]).row(["short"]);
        let text = table.to_string();
        assert!(text.contains("        0.5"), "{text}");
        let html = table.html();
        assert!(html.contains("<td class=\"n\">0.25</td>"), "{html}");
        assert!(html.contains("<td>a&lt;b</td>"), "{html}");
    }
}
