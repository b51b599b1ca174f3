//! How values lie in the memory that the two processes share. What comes from a process with a broken driver in it may
//! be anything: every read is checked, and nothing is trusted to be a length.

use std::sync::{Arc, Mutex, PoisonError};

/// Bytes still to be read.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }
}

pub(super) trait Wire: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn get(from: &mut Reader<'_>) -> Option<Self>;
}

macro_rules! numbers {
    ($($kind:ty),*) => {$(
        impl Wire for $kind {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_ne_bytes());
            }

            fn get(from: &mut Reader<'_>) -> Option<$kind> {
                let bytes = from.take(size_of::<$kind>())?;
                bytes.try_into().ok().map(<$kind>::from_ne_bytes)
            }
        }
    )*};
}

numbers!(u8, u32, i32, u64, usize);

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        u8::from(*self).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Option<bool> {
        u8::get(from).map(|byte| byte != 0)
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn get(from: &mut Reader<'_>) -> Option<String> {
        let length = usize::get(from)?;
        from.take(length).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Names of figures, kinds and calls: few, and the same ones again and again.
impl Wire for &'static str {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn get(from: &mut Reader<'_>) -> Option<&'static str> {
        let length = usize::get(from)?;
        from.take(length).and_then(|bytes| std::str::from_utf8(bytes).ok()).map(name)
    }
}

/// A name that stays: kept once for the rest of the program.
pub(super) fn name(text: &str) -> &'static str {
    static KNOWN: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    const MOST: usize = 1000;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = known.iter().find(|same| **same == text) {
        return same;
    }
    if known.len() >= MOST {
        return "unknown";
    }
    let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
    known.push(kept);
    kept
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn get(from: &mut Reader<'_>) -> Option<Option<T>> {
        match bool::get(from)? {
            true => T::get(from).map(Some),
            false => Some(None),
        }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        self.iter().for_each(|value| value.put(out));
    }

    fn get(from: &mut Reader<'_>) -> Option<Vec<T>> {
        let count = usize::get(from)?;
        // An entry has a byte at least: a count beyond the rest is no count.
        let mut list = Vec::with_capacity(count.min(from.0.len()).min(4096));
        for _ in 0..count {
            list.push(T::get(from)?);
        }
        Some(list)
    }
}

impl<T: Wire> Wire for Arc<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_ref().put(out);
    }

    fn get(from: &mut Reader<'_>) -> Option<Arc<T>> {
        T::get(from).map(Arc::new)
    }
}

impl<T: Wire> Wire for [T; 3] {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|value| value.put(out));
    }

    fn get(from: &mut Reader<'_>) -> Option<[T; 3]> {
        Some([T::get(from)?, T::get(from)?, T::get(from)?])
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Option<(A, B)> {
        Some((A::get(from)?, B::get(from)?))
    }
}
