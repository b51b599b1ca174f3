//! A lock for the whole program that a forked child can let go of: whoever held it is not there.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Behind a pointer, so that a child forgets it without touching the lock or dropping what is its parent's.
pub struct ForkFresh<T>(AtomicPtr<Mutex<T>>);

impl<T: Default + 'static> ForkFresh<T> {
    /// An empty one; the value is made by the first lock.
    pub const fn new() -> ForkFresh<T> {
        ForkFresh(AtomicPtr::new(null_mut()))
    }

    /// The value of this process: a forked child gets a new one.
    pub fn lock(&self) -> MutexGuard<'static, T> {
        let mut present = self.0.load(Ordering::Acquire);
        if present.is_null() {
            let fresh = Box::into_raw(Box::<Mutex<T>>::default());
            present = match self.0.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => fresh,
                Err(winner) => {
                    // SAFETY: it was never shared.
                    drop(unsafe { Box::from_raw(fresh) });
                    winner
                }
            };
        }
        // SAFETY: what was shared is never freed.
        let present: &'static Mutex<T> = unsafe { &*present };
        present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In a child after fork. Only a store, so it may be called before exec.
    pub fn forget(&self) {
        self.0.store(null_mut(), Ordering::Release);
    }
}

impl<T: Default + 'static> Default for ForkFresh<T> {
    fn default() -> ForkFresh<T> {
        ForkFresh::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_forgotten_is_made_anew_though_it_is_locked() {
        static LIST: ForkFresh<Vec<i32>> = ForkFresh::new();
        LIST.lock().push(1);
        let mut held = LIST.lock();
        held.push(2);
        LIST.forget();
        assert_eq!(*LIST.lock(), [0; 0]);
        assert_eq!(*held, [1, 2]);
    }
}
