//! How the binary is laid out: it must be small in memory beside the job, and start at once.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // Addresses are fixed at link time: nothing to relocate at start, no page made private by it.
        println!("cargo:rustc-link-arg-bins=-no-pie");
        // Code that hardly ever runs goes to its own place: the kernel maps the pages around each one that is
        // touched, so mixed code makes the whole binary resident.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,keep-text-section-prefix");
        // Functions of the C library are looked up when they are first called: most never are.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,lazy");
        link_unwinder_statically();
    }
}

/// The unwinder alone does not justify another shared library to map and relocate. Where the static one is not
/// installed, the shared one does.
fn link_unwinder_statically() {
    let found = std::process::Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    let Ok(output) = found else { return };
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let path = std::path::Path::new(&path);
    if let Some(folder) = path.parent().filter(|_| path.is_absolute()) {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
    }
}
