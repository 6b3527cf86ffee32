//! Locks that go on where a thread has panicked: that one has said so, and the drive serves the others.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock, whatever became of who held it before.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
