//! How the binary is laid out: it must be small in memory beside the job, and start at once.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // Addresses are fixed at link time: nothing to relocate at start, no page made private by it.
        println!("cargo:rustc-link-arg-bins=-no-pie");
        // Code that hardly ever runs goes to its own place: the kernel maps the pages around each one that is
        // touched, so mixed code makes the whole binary resident.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,keep-text-section-prefix");
    }
}
