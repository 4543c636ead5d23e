//! The code blocks of a page that run as commands.

/// The commands of a block, and the line of the page where they begin.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// Languages whose blocks are no shell commands.
const OTHERS: &[&str] = &["text", "python", "rust", "lua", "yaml"];

/// The blocks of a page that run. Each block is `sh`, has a language that is no shell, or has the
/// reason why it does not run on the line before.
pub(crate) fn blocks(page: &str) -> Result<Vec<Block>, String> {
    let mut found = vec![];
    // The open block, with its commands if it runs.
    let mut open: Option<Option<Block>> = None;
    let mut before = "";
    for (at, line) in page.lines().enumerate() {
        let line_number = at + 1;
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => {
                let has_reason = match before.strip_prefix("<!-- not run: ") {
                    Some(rest) if rest.len() > " -->".len() => true,
                    Some(_) => return Err(format!("line {line_number}: not run, and no reason")),
                    None => false,
                };
                if language != "sh" && !has_reason && !OTHERS.contains(&language) {
                    return Err(format!(
                        "line {line_number}: a block of '{language}': sh runs, text does not"
                    ));
                }
                let is_run = language == "sh" && !has_reason;
                let block = Block { line: line_number + 1, text: String::new() };
                open = Some(is_run.then_some(block));
            }
            (Some(block), Some("")) => {
                found.extend(block.take());
                open = None;
            }
            (Some(Some(block)), _) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            _ => {}
        }
        before = line;
    }
    Ok(found)
}

#[test]
fn what_runs_is_told_from_what_does_not() {
    let page =
        "```sh\necho a\n```\n\n<!-- not run: long -->\n```sh\nsleep 9\n```\n```text\nb\n```\n";
    let run = blocks(page).unwrap();
    assert_eq!((run.len(), run[0].line, run[0].text.as_str()), (1, 2, "echo a\n"));
    for wrong in ["```\na\n```\n", "```console\n$ a\n```\n", "<!-- not run: -->\n```sh\na\n```\n"] {
        assert!(blocks(wrong).is_err(), "{wrong}");
    }
}
