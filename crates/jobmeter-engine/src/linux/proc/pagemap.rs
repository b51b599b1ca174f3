//! `/proc/PID/pagemap`: one entry of 64 bits for each page of the address space.

const PRESENT: u64 = 1 << 63;
const FILE_OR_SHARED: u64 = 1 << 61;

/// Entries of consecutive pages.
pub(crate) struct PageMap<'a>(pub &'a [u8]);

impl PageMap<'_> {
    pub(crate) const ENTRY_BYTES: usize = 8;

    /// Which of the pages are in memory and are those of a file, or shared.
    pub(crate) fn file_pages(&self) -> impl Iterator<Item = u64> {
        let entries = self.0.chunks_exact(Self::ENTRY_BYTES).zip(0..);
        entries.filter_map(|(bytes, page)| {
            let entry = u64::from_ne_bytes(bytes.try_into().ok()?);
            (entry & PRESENT != 0 && entry & FILE_OR_SHARED != 0).then_some(page)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_files_that_are_in_memory() {
        let swapped = 1 << 62;
        let entries =
            [0, PRESENT, PRESENT | FILE_OR_SHARED | 77, FILE_OR_SHARED, swapped, PRESENT | FILE_OR_SHARED];
        let mut bytes: Vec<u8> = entries.into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.push(255);
        assert_eq!(PageMap(&bytes).file_pages().collect::<Vec<_>>(), [2, 5]);
    }
}
