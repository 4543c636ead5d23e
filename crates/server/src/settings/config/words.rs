//! The words of a line.

/// The words of a line; `None` if a quote is not closed.
pub fn words(line: &str) -> Option<Vec<String>> {
    let words = wire::resp::split_line(line.as_bytes())?;
    Some(words.into_iter().map(|word| String::from_utf8_lossy(&word).into_owned()).collect())
}
