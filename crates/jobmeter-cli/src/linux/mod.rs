//! What only Linux has or needs: the entry that leaves signals as they are, how jobmeter leaves, its memory, its streams.

mod arguments;
pub(crate) mod leave;
mod math;
mod memory;
pub(crate) mod owner;
pub(crate) mod streams;

pub(crate) use arguments::arguments;
pub(crate) use leave::bounded;

#[unsafe(no_mangle)]
extern "C" fn main(_count: libc::c_int, given: *const *const libc::c_char) -> libc::c_int {
    arguments::keep(given);
    jobmeter_engine::linux::sys::begin_own_account();
    memory::watch_own_faults();
    streams::guard();
    keep_freed_memory();
    leave::with(crate::run_safely())
}

/// The allocator of musl has no settings.
#[cfg(not(target_env = "gnu"))]
fn keep_freed_memory() {}

/// The heap is small and grows in steps of its own: to give pages back and ask for them again costs more than they do.
#[cfg(target_env = "gnu")]
fn keep_freed_memory() {
    const STEP_BYTES: libc::c_int = 256 << 10;
    const TRIM_BYTES: libc::c_int = 16 << 20;
    // Every run needs this much: as one request to the kernel it costs a third of a fault for each page.
    const FIRST_BYTES: usize = 192 << 10;
    // SAFETY: plain settings of the allocator, before any thread; the heap then begins at its first block. Where the
    // kernel does not know the request, or the block lies elsewhere, pages come one by one as they always did.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, STEP_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, TRIM_BYTES);
        let first = libc::malloc(1);
        let page = first.map_addr(|address| address & !0xfff);
        libc::madvise(page, FIRST_BYTES, libc::MADV_POPULATE_WRITE);
        libc::free(first);
    }
}
