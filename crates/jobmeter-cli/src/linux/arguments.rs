//! The command line. The standard library learns it before a C `main` from glibc only; with musl it knows none.

use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

/// What the kernel gave: it stays where it is, and nobody writes to it.
struct Given(*const *const libc::c_char);

// SAFETY: the array and its strings are only read, from `main` on until the process ends.
unsafe impl Send for Given {}
// SAFETY: as above.
unsafe impl Sync for Given {}

static GIVEN: OnceLock<Given> = OnceLock::new();

pub(super) fn keep(given: *const *const libc::c_char) {
    drop(GIVEN.set(Given(given)));
}

/// All words, the name of the program first.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    let mut next = GIVEN.get().map_or(std::ptr::null(), |given| given.0);
    std::iter::from_fn(move || {
        if next.is_null() {
            return None;
        }
        // SAFETY: the array of `main` ends with a null pointer, behind which this never looks.
        let word = unsafe { *next };
        if word.is_null() {
            return None;
        }
        // SAFETY: as above; each entry before the end is a string that ends with a null byte.
        let (word, rest) = unsafe { (CStr::from_ptr(word), next.add(1)) };
        next = rest;
        Some(OsStr::from_bytes(word.to_bytes()).to_owned())
    })
}
