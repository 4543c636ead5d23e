//! Sentences for a terminal: no line above 80 columns.

use ::report::words::wrap;

const WIDTH: usize = 80;

/// The text in lines, each with a line end. With an indent, the text begins with a dash, and
/// further lines align with the text.
pub(crate) fn wrapped(text: &str, indent: &str) -> String {
    let mark = if indent.is_empty() { "" } else { "- " };
    let mut margin = format!("{indent}{mark}");
    let columns = WIDTH - margin.chars().count();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut lines = String::new();
    for line in wrap(&text, columns, 0) {
        lines.extend([margin.as_str(), &line, "\n"]);
        margin = " ".repeat(WIDTH - columns);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_at_most_eighty_columns() {
        let text = "wörd ".repeat(60);
        for indent in ["", "  "] {
            let lines = wrapped(&text, indent);
            assert!(lines.lines().all(|line| line.chars().count() <= 80), "{lines}");
            assert_eq!(lines.split_whitespace().filter(|word| *word == "wörd").count(), 60);
        }
        assert_eq!(wrapped("a b", "  "), "  - a b\n");
        assert_eq!(wrapped("a b", ""), "a b\n");
        let long = "x".repeat(100);
        assert_eq!(wrapped(&format!("a {long} b"), ""), format!("a\n{long}\nb\n"));
    }
}
