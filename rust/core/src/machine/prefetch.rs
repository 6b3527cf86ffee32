//! Fetching what is needed soon: the only hint that a table of random accesses can give the processor.

/// Fetch the cache line of this element, without waiting for it. Nothing happens if there is no such element,
/// or where the processor has no such hint.
#[inline(always)]
pub fn prefetch<T>(table: &[T], index: usize) {
    if index >= table.len() {
        return;
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the index was checked, so that the address belongs to the table; a prefetch reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(table.as_ptr().add(index).cast()) };
    }
}
