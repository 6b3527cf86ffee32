//! Exact shares of whole numbers.

/// `total * part / whole`, rounded down; `part` is at most `whole`.
pub(super) fn proportion(total: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(total) * u128::from(part) / u128::from(whole);
    u64::try_from(share).expect("no more than the total")
}

/// One thread's even share of a total; the shares of all threads sum to it. The first threads have one more
/// than the others where it is no multiple of the TC, so that the share of a smaller total is never larger.
pub(super) fn thread_share(total: u64, thread: u32, tc: u32) -> u64 {
    let (thread, tc) = (u64::from(thread), u64::from(tc));
    total / tc + u64::from(thread < total % tc)
}

/// The shares of all threads before this one.
pub(super) fn share_before(total: u64, thread: u32, tc: u32) -> u64 {
    let (thread, tc) = (u64::from(thread), u64::from(tc));
    total / tc * thread + thread.min(total % tc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_add_up_and_grow_with_the_total(total in 0..u64::MAX / 2, tc in 1..2000_u32, thread in 0..2000_u32) {
            prop_assert_eq!(share_before(total, tc, tc), total);
            let thread = thread % tc;
            let share = thread_share(total, thread, tc);
            prop_assert_eq!(share_before(total, thread, tc) + share, share_before(total, thread + 1, tc));
            prop_assert!(thread_share(total + 1, thread, tc) >= share);
        }
    }
}
