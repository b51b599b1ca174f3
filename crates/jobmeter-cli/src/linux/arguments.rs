//! The command line. The standard library learns it before a C `main` from glibc only; with musl it knows none.

use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What the kernel gave: it stays where it is, and nobody writes to it.
static GIVEN: AtomicPtr<*const libc::c_char> = AtomicPtr::new(null_mut());

pub(super) fn keep(given: *const *const libc::c_char) {
    GIVEN.store(given.cast_mut(), Ordering::Relaxed);
}

/// All words, the name of the program first.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    let mut next = GIVEN.load(Ordering::Relaxed).cast_const();
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
