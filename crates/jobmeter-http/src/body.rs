//! What is sent behind the headers.

use crate::failure::Failure;
use std::io::Read;

/// So many bytes of a reader.
pub struct Body<'a> {
    reader: &'a mut dyn Read,
    length: u64,
    left: u64,
}

impl<'a> Body<'a> {
    /// The next `length` bytes of `reader`.
    pub fn new(reader: &'a mut dyn Read, length: u64) -> Body<'a> {
        Body { reader, length, left: length }
    }

    /// Bytes in all.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether nothing of it has been read.
    pub fn is_whole(&self) -> bool {
        self.left == self.length
    }

    /// The bytes for a client that reads for itself.
    pub fn reader(&mut self) -> &mut dyn Read {
        self.reader
    }

    /// The next bytes; `None` at the end. A reader that ends before its time is a failure.
    pub(crate) fn next<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>, Failure> {
        if self.left == 0 {
            return Ok(None);
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.reader.read(&mut buffer[..most]).map_err(Failure::of)?;
        if count == 0 {
            return Err(Failure::BadRequest("the file is shorter than it was"));
        }
        self.left -= count as u64;
        Ok(Some(&buffer[..count]))
    }
}
