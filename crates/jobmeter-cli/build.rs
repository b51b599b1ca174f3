//! How the binary is laid out: it must be small in memory beside the job, and start at once.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        let linker = Linker::find();
        // Addresses are fixed at link time: nothing to relocate at start, no page made private by it.
        println!("cargo:rustc-link-arg-bins=-no-pie");
        // Code that hardly ever runs goes to its own place: the kernel maps the pages around each one that is
        // touched, so mixed code makes the whole binary resident.
        if !linker.is_zig() {
            println!("cargo:rustc-link-arg-bins=-Wl,-z,keep-text-section-prefix");
        }
        // Functions of the C library are looked up when they are first called: most never are.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,lazy");
        linker.put_start_first();
        // For `tools/order-start`: where each function lies. A build with symbols would name them differently.
        println!("cargo:rerun-if-env-changed=JOBMETER_LINK_MAP");
        if let Ok(path) = std::env::var("JOBMETER_LINK_MAP") {
            println!("cargo:rustc-link-arg-bins=-Wl,-Map,{path}");
        }
        linker.link_unwinder_statically();
    }
}

/// The compiler driver that links the binary; None when cargo chooses one for a foreign target by itself.
struct Linker(Option<String>);

impl Linker {
    fn find() -> Self {
        let is_native = std::env::var("HOST").ok() == std::env::var("TARGET").ok();
        Self(std::env::var("RUSTC_LINKER").ok().or_else(|| is_native.then(|| "cc".to_owned())))
    }

    /// `zig cc` links for older C libraries. It refuses linker flags that it does not know, and has an unwinder of its own
    /// which it always links statically.
    fn is_zig(&self) -> bool {
        let name = self.0.as_deref().map(Path::new).and_then(Path::file_name);
        name.is_some_and(|name| name.to_string_lossy().contains("zig"))
    }

    /// What a short run executes lies together in the order of its first execution (`tools/order-start` writes the list):
    /// a tenth of the code, which otherwise is spread over all of it. Names that no longer exist do no harm. `mold` has
    /// no scripts; the static program of the image stays as it is, as nobody measured what it would gain.
    fn put_start_first(&self) {
        println!("cargo:rerun-if-changed=start.ld");
        let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
        let names_mold = |name| std::env::var(name).is_ok_and(|value| value.contains("mold"));
        let is_mold = ["LD_PRELOAD", "CARGO_ENCODED_RUSTFLAGS"].into_iter().any(names_mold);
        let is_gnu = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|name| name == "gnu");
        if is_release && is_gnu && self.0.is_some() && !is_mold {
            let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
            println!("cargo:rustc-link-arg-bins=-Wl,-T,{folder}/start.ld");
        }
    }

    /// The unwinder alone does not justify another shared library to map and relocate. Where the static one is not
    /// installed, the shared one is used.
    fn link_unwinder_statically(&self) {
        let Some(linker) = self.0.as_deref().filter(|_| !self.is_zig()) else { return };
        let Ok(output) = Command::new(linker).arg("-print-file-name=libgcc_eh.a").output() else { return };
        let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let path = Path::new(&path);
        if let Some(folder) = path.parent().filter(|_| path.is_absolute()) {
            println!("cargo:rustc-link-search=native={}", folder.display());
            println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
        }
    }
}
