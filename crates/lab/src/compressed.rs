//! Compressed values of a trace: their sizes in a cache that compresses them.
//!
//! A trace has no bytes of values, so the user states how far they shrink. The footprint, and sizes
//! in per cent of it, remain those of the plain values. So a result can be compared with one of the
//! same command without the flag.

use base::Access;
use load::open::Options;
use trace::Charge;

/// The flag of the commands that tell what compression would give.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct CompressArgs {
    /// Answer for a cache that compresses values to this share of their bytes, such as 0.4 or 40%.
    /// Values below 64 bytes and above 64 KiB stay plain, as in the server
    #[arg(long, value_name = "RATIO", value_parser = ratio, conflicts_with = "ignore_size")]
    pub(crate) compress_ratio: Option<f64>,
}

/// Gives the accesses of a trace the sizes of compressed values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compressor {
    ratio: Option<f64>,
    charge: Charge,
    /// Whether any value was compressed.
    has_found: bool,
}

/// Reads `0.4` or `40%`.
fn ratio(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent, 100.0),
        None => (text, 1.0),
    };
    let number = number.trim().parse::<f64>().map(|number| number / scale);
    number.ok().filter(|&ratio| ratio > 0.0 && ratio <= 1.0).ok_or_else(|| {
        format!(
            "'{text}' is not a compression ratio: write the bytes stored for each plain byte, \
             above 0 and at most 1, such as 0.4 or 40%"
        )
    })
}

impl CompressArgs {
    /// The compressor of a trace that is read with these options.
    pub(crate) fn compressor(self, read: &Options) -> Compressor {
        let charge = read.trace_options().charge;
        Compressor { ratio: self.compress_ratio, charge, has_found: false }
    }

    /// A sentence that states the assumption, if there is one.
    pub(crate) fn sentence(self) -> Option<String> {
        self.compress_ratio.map(assumption)
    }
}

/// A sentence that states what is assumed at a ratio.
pub(crate) fn assumption(ratio: f64) -> String {
    format!(
        "with compression: values of 64 bytes to 64 KiB are stored in {ratio} of their bytes, and \
         sizes in per cent are of the plain footprint"
    )
}

impl Compressor {
    /// Gives accesses the sizes that their values have when they are compressed.
    pub(crate) fn compress(&mut self, accesses: &mut [Access]) {
        let Some(ratio) = self.ratio else { return };
        for access in accesses {
            if !usize::try_from(access.value_size)
                .is_ok_and(|len| store::COMPRESSIBLE.contains(&len))
            {
                continue;
            }
            access.value_size = (access.value_size as f64 * ratio).ceil() as u64;
            access.size = self.charge.size(access.key_size, access.value_size);
            self.has_found = true;
        }
    }

    /// Warns on standard error if the trace, which has been read, has no value to compress.
    pub(crate) fn warn(&self, trace: &str) {
        if self.ratio.is_some() && !self.has_found {
            eprintln!(
                "larder: trace '{trace}' has no values of 64 bytes to 64 KiB, so compression \
                 changes nothing: --value-size gives values a size where a trace has none"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_read() {
        assert_eq!(ratio("0.4"), Ok(0.4));
        assert_eq!(ratio("40%"), Ok(0.4));
        assert_eq!(ratio("1"), Ok(1.0));
        for text in ["0", "1.01", "120%", "-0.5", "nan", "inf", "", "third"] {
            assert!(ratio(text).unwrap_err().contains("such as 0.4"), "{text}");
        }
    }

    #[test]
    fn values_of_the_servers_lengths_shrink() {
        let args = CompressArgs { compress_ratio: Some(0.3) };
        let mut compressor = args.compressor(&Options::default());
        let mut all = [1, 63, 64, 1_000, 65_536, 65_537].map(|size| Access::get(1, size));
        compressor.compress(&mut all[..2]);
        assert!(!compressor.has_found);
        compressor.compress(&mut all);
        let sizes = all.map(|access| (access.value_size, access.size.get()));
        assert_eq!(sizes.map(|(value, _)| value), [1, 63, 20, 300, 19_661, 65_537]);
        assert!(compressor.has_found && sizes.iter().all(|(value, size)| value == size));
        CompressArgs::default().compressor(&Options::default()).compress(&mut all);
        assert_eq!(all[3].value_size, 300);
    }

    #[test]
    fn an_item_is_charged_with_its_compressed_value() {
        let read = Options { charge: load::open::ChargeBy::Item, ..Options::default() };
        let mut all = [Access { key_size: 20, ..Access::get(1, 1_000) }];
        CompressArgs { compress_ratio: Some(0.25) }.compressor(&read).compress(&mut all);
        assert_eq!(all[0].size.get(), store::charge(20, 250, false));
    }
}
