//! The imaginary NVIDIA driver, built once.
#![expect(clippy::disallowed_types, reason = "no child of this test waits for it")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Its NVML library.
pub(crate) fn library() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "jobmeter-fake-nvml"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo runs");
        assert!(status.success(), "the fake NVML builds");
        let test = std::env::current_exe().expect("own path");
        // target/PROFILE/deps/TEST; the fake is always a debug build.
        test.ancestors().nth(3).expect("target folder").join("debug/libfake_nvml.so")
    })
}
