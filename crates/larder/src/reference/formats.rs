//! The page of trace formats, read and written, and of generators with their parameters.

use super::page::{Page, page};
use std::fmt::Write;
use trace::{format, synth};

const HEAD: &str = "\
# Formats of traces

The code writes this page. Larder recognises a format by its first bytes, after decompression of
zstd and gzip, or by the ending of the file's name; `--format` names it. Each reader
says which units it assumes. `--block-size 4kb` splits requests for ranges (msr, vscsi, arc, ibm)
into blocks; as whole objects, overlapping ranges would share nothing. If a trace encodes operations
as numbers, state their meaning: `--ops 0=get,1=set`. Unpack xz and bzip2 files first:
`xz -dc FILE | larder trace stat -`.

| format | a record | units | endings | written |
|---|---|---|---|---|
";

const GENERATORS: &str = "
## Generators

Give a generator instead of a file: `synth:NAME:PARAMETER=VALUE:…`. All generators have
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
