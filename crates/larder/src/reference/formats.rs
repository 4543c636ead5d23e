//! The page of trace formats, read and written, and of generators with their parameters.

use super::{Page, page};
use std::fmt::Write;
use trace::{format, synth};

const HEAD: &str = "\
# Formats of traces

Made from the code. A format is known by the first bytes behind the compression (zstd or gzip,
known likewise), or by the ending of the file's name, or is named with `--format`. A reader says
which units it reads. `--block-size 4kb` splits requests for ranges (msr, vscsi, arc, ibm) into
blocks: as objects of their own, ranges that overlap would have nothing in common. A number that
stands for an operation needs its meaning, as in `--ops 0=get,1=set`. Files of xz or bzip2 are
unpacked on the way: `xz -dc FILE | larder trace stat -`.

| format | a record | units | endings | written |
|---|---|---|---|---|
";

const GENERATORS: &str = "
## Generators

In place of a file: `synth:NAME:PARAMETER=VALUE:…`. All have
";

pub(super) fn pages() -> Vec<Page> {
    vec![page("docs/trace-formats.md", text().expect("a text takes all that is written to it"))]
}

fn text() -> Result<String, std::fmt::Error> {
    let mut text = HEAD.to_owned();
    for spec in format::ALL {
        let written = match (spec.create, spec.loses) {
            (None, _) => "no".to_owned(),
            (Some(_), []) => "whole".to_owned(),
            (Some(_), losses) => {
                losses.iter().map(|loss| loss.about()).collect::<Vec<_>>().join("; ")
            }
        };
        let about = spec.about.replace('|', "\\|");
        let units = if spec.units.is_empty() { "named in the trace" } else { spec.units };
        writeln!(
            text,
            "| {} | {about} | {units} | {} | {written} |",
            spec.name,
            spec.extensions.join(", ")
        )?;
    }
    text.push_str(GENERATORS);
    parameters(&mut text, synth::COMMON)?;
    for spec in synth::ALL {
        writeln!(text, "\n**{}**: {}\n", spec.name, spec.about)?;
        parameters(&mut text, spec.params)?;
    }
    Ok(text)
}

fn parameters(text: &mut String, parameters: &[synth::Param]) -> std::fmt::Result {
    if !parameters.is_empty() {
        writeln!(text, "\n| parameter | default | |\n|---|---|---|")?;
    }
    for parameter in parameters {
        let about = parameter.about.replace('|', "\\|");
        writeln!(text, "| {} | {} | {about} |", parameter.name, parameter.default)?;
    }
    Ok(())
}
