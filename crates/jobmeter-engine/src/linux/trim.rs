//! Starting up touches code that measuring never needs again; its pages lie beside the job for as long as it
//! runs. They are given back: what is needed still is in the page cache and comes back by itself.

use std::ffi::{c_int, c_void};

/// Unmaps the pages of all code in this process. Nothing is lost: code is never written to.
pub(crate) fn give_back_code() {
    // SAFETY: the callback has the right type, keeps nothing and does not unwind.
    unsafe { libc::dl_iterate_phdr(Some(give_back_of), std::ptr::null_mut()) };
}

unsafe extern "C" fn give_back_of(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    let page_bytes = crate::linux::sys::sysconf(libc::_SC_PAGESIZE);
    // SAFETY: the loader passes a valid description of a loaded object and its headers.
    let (base, headers) = unsafe {
        let info = &*info;
        let headers = match info.dlpi_phdr.is_null() {
            true => &[][..],
            false => std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)),
        };
        (info.dlpi_addr, headers)
    };
    for header in headers {
        let is_code = header.p_flags & libc::PF_X != 0 && header.p_flags & libc::PF_W == 0;
        if header.p_type == libc::PT_LOAD && is_code {
            let start = (base + header.p_vaddr) / page_bytes * page_bytes;
            let end = (base + header.p_vaddr + header.p_memsz).next_multiple_of(page_bytes);
            // SAFETY: a mapping of a file that is only read and executed; its pages come back when touched.
            unsafe { libc::madvise(start as *mut c_void, (end - start) as usize, libc::MADV_DONTNEED) };
        }
    }
    0
}

#[cfg(test)]
mod tests {
    #[test]
    fn code_comes_back_by_itself() {
        let resident_bytes = || {
            let statm = std::fs::read_to_string("/proc/self/statm").expect("statm");
            statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("pages") * 4096
        };
        let before = resident_bytes();
        super::give_back_code();
        let after = resident_bytes();
        assert!(after < before, "{after} of {before} bytes are left");
        assert_eq!(format!("{:?}", Some("still here")), "Some(\"still here\")");
    }
}
