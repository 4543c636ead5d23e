//! `larder-lab` beside the tested `larder`. Cargo builds only `larder` for the tests of its crate,
//! because the lab belongs to another crate.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// Builds the lab once, with the profile and into the folder of the tested binary.
pub(crate) fn build_lab() {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_BIN_EXE_larder")).parent().unwrap();
        let profile = match folder.file_name().unwrap().to_str().unwrap() {
            "debug" => "dev",
            name => name,
        };
        // With the features of the tests' own build, Cargo finds it built.
        let features = std::env::var("LAB_FEATURES").unwrap_or_default();
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "lab", "--bin", "larder-lab"])
            .args(["--features", &features, "--profile", profile, "--target-dir"])
            .arg(folder.parent().unwrap())
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(status.unwrap().success(), "larder-lab cannot be built");
    });
}
