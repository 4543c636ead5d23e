//! `larder trace generate`: a subcommand for each generator, a flag for each of its parameters.
//!
//! Both come from the list of generators, so a new one needs no code here.

use super::copy::{Target, copy};
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, Parser};
use load::open::Options;
use trace::synth::{self, Param};

/// Generate a trace
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  larder trace generate zipf --keys 1m --skew 0.9 --requests 10m --output zipf.csv.zst
  larder trace generate mix zipf:keys=10k:rate=3000 loop:keys=1k:rate=1000 --output mix.compact
The same generators are traces for every command: larder trace stat synth:zipf:keys=1m:skew=0.9")]
pub(super) struct Args {
    #[command(subcommand)]
    generator: Generator,
}

/// Flags for the output, which every generator has.
#[derive(Parser, Clone, Debug)]
struct Output {
    /// File to write; - for standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Debug)]
struct Generator {
    /// The generator as every command understands it.
    text: String,
    output: Output,
}

/// Generators whose parts are generators.
const COMBINED: [(&str, &str); 2] = [
    ("mix", "generators merged by time, a tenant each, at their rates"),
    ("sequence", "generators one after another"),
];

fn flag(param: &Param) -> Arg {
    Arg::new(param.name)
        .long(param.name)
        .value_name("VALUE")
        .allow_hyphen_values(true)
        .help(format!("{} [default: {}]", param.about, param.default))
}

fn combined(name: &'static str, about: &'static str) -> Command {
    let parts = Arg::new("parts")
        .num_args(1..)
        .required(true)
        .value_name("GENERATOR")
        .help("A part, as in zipf:keys=10k:skew=0.9");
    let command = Command::new(name).about(about).arg(parts);
    let seed = Arg::new("seed").long("seed").value_name("N").help("The same seed, the same trace");
    let requests = Arg::new("requests")
        .long("requests")
        .value_name("N")
        .help("Requests in all; otherwise each part has its own number");
    let command = command.arg(seed);
    if name == "mix" { command.arg(requests) } else { command }
}

impl clap::Subcommand for Generator {
    fn augment_subcommands(mut command: Command) -> Command {
        // These flags come behind the parameters.
        let output = || {
            let args = Output::command().get_arguments().cloned().collect::<Vec<_>>();
            args.into_iter().map(|arg| arg.display_order(usize::MAX / 2))
        };
        for spec in synth::ALL {
            let common = synth::COMMON
                .iter()
                .filter(|common| spec.params.iter().all(|own| own.name != common.name));
            let example = format!(
                "Example: larder trace generate {} --requests 100000 --output {}.csv.zst",
                spec.name, spec.name
            );
            let one = Command::new(spec.name)
                .about(spec.about)
                .args(spec.params.iter().map(flag))
                .args(common.map(flag))
                .args(output())
                .after_help(format!("Distributions: {}\n{example}", synth::distribution::FORMS));
            command = command.subcommand(one);
        }
        for (name, about) in COMBINED {
            command = command.subcommand(combined(name, about).args(output()));
        }
        command.subcommand_required(true).arg_required_else_help(true)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        synth::find(name).is_ok() || COMBINED.iter().any(|(known, _)| *known == name)
    }
}

impl FromArgMatches for Generator {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let Some((name, matches)) = matches.subcommand() else {
            let missing = clap::error::ErrorKind::MissingSubcommand;
            return Err(clap::Error::raw(missing, "name a generator, such as zipf"));
        };
        let params: Vec<&str> = match synth::find(name) {
            Ok(spec) => spec.params.iter().chain(synth::COMMON).map(|param| param.name).collect(),
            Err(_) => vec!["seed", "requests"],
        };
        let mut words = vec![format!("synth:{name}")];
        for param in params {
            if let Ok(Some(value)) = matches.try_get_one::<String>(param) {
                words.push(format!("{param}={value}"));
            }
        }
        if let Ok(Some(parts)) = matches.try_get_many::<String>("parts") {
            let parts: Vec<_> = parts.map(String::as_str).collect();
            words.push(parts.join("+"));
        }
        let text = words.join(":");
        Ok(Self { text, output: Output::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let Generator { text, output } = &args.generator;
    copy(text, &Options::default(), &output.output, &output.target)
}
