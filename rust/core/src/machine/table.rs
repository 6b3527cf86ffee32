//! Large tables of numbers that are read and written all over: in huge pages, where the system has them, so
//! that few of their accesses miss the processor's table of addresses.

use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// A number of which every pattern of bits is one.
pub trait Number: private::Sealed + Copy + Send + Sync {}

mod private {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

impl Number for u8 {}
impl Number for u32 {}
impl Number for u64 {}

/// A slice of numbers, 0 at first, that takes memory where it is touched.
#[derive(Debug)]
pub struct Table<T: Number> {
    memory: MmapMut,
    length: usize,
    numbers: PhantomData<T>,
}

impl<T: Number> Table<T> {
    /// A table of so many zeros.
    ///
    /// # Errors
    /// If the system has not so much memory to give.
    pub fn zeros(length: usize) -> io::Result<Self> {
        let bytes = length.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let memory = MmapMut::map_anon(bytes.max(1))?;
        // A kernel without huge pages refuses: slower, and as good.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        Ok(Self { memory, length, numbers: PhantomData })
    }
}

impl<T: Number> Deref for Table<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping is as long, aligned to a page, initialized by the system and lent by `self`; any
        // bits are a number.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.length) }
    }
}

impl<T: Number> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and `self` is lent mutably.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn a_table_is_zero_and_keeps_what_is_written() {
        let mut table = Table::<u32>::zeros(1_000_001).unwrap();
        assert_eq!(table.len(), 1_000_001);
        assert!(table.iter().all(|number| *number == 0));
        table[1_000_000] = u32::MAX;
        table[3] = 7;
        assert_eq!((table[1_000_000], table[3], table[4]), (u32::MAX, 7, 0));
        assert!(Table::<u64>::zeros(0).unwrap().is_empty());
        assert!(Table::<u64>::zeros(usize::MAX).is_err());
    }
}
