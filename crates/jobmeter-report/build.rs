//! Embeds the page's bundle (web/dist, made by `make web`) when it is there. Without it the crate builds all
//! the same, and the report draws the charts of `plot` instead.

use std::path::Path;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_web_bundle)");
    let Ok(manifest) = std::env::var("CARGO_MANIFEST_DIR") else { return };
    let dist = Path::new(&manifest).join("../../web/dist");
    let (script, style) = (dist.join("report.js"), dist.join("report.css"));
    println!("cargo::rerun-if-changed={}", script.display());
    println!("cargo::rerun-if-changed={}", style.display());
    if script.is_file() && style.is_file() {
        println!("cargo::rustc-cfg=has_web_bundle");
        println!("cargo::rustc-env=JOBMETER_WEB_SCRIPT={}", script.display());
        println!("cargo::rustc-env=JOBMETER_WEB_STYLE={}", style.display());
    }
}
