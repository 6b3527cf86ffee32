//! The processor's time stamp counter.

/// What is known of the counter before it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    /// The frequency that the processor or the hypervisor announces.
    pub(crate) announced_hz: Option<u64>,
}

/// Ticks since some moment. Two reads of one thread are in order; it does not wait for the instructions
/// before it, which would cost more than it gains against an I/O's microseconds.
///
/// On an architecture without the counter it is 0, and [`counter`] answers `None`.
#[inline]
pub(crate) fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has the instruction, and Linux lets programs use it unless one asked
    // for the opposite (PR_SET_TSC), which ends it as any other forbidden instruction would.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    0
}

/// The counter, if it ticks at one rate for ever and alike on all processors.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) fn counter() -> Option<Counter> {
    // The processor promises a constant rate; that all processors agree is what the kernel checks, and it
    // strikes the counter off its list when they don't. It need not be the one in use: a virtual machine
    // may prefer its hypervisor's clock.
    const CLOCKS: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let listed = std::fs::read_to_string(CLOCKS)
        .is_ok_and(|list| list.split_ascii_whitespace().any(|name| name == "tsc"));
    (is_invariant() && listed).then(|| Counter { announced_hz: announced_hz() })
}

/// The counter, if it ticks at one rate for ever and alike on all processors.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) fn counter() -> Option<Counter> {
    None
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod cpuid {
    use std::arch::x86_64::{__cpuid, CpuidResult};

    /// A leaf, if the processor has it: the first leaf of its group tells the last.
    pub(super) fn leaf(number: u32) -> Option<CpuidResult> {
        // SAFETY: every x86-64 processor has the instruction.
        #[allow(unused_unsafe, reason = "safe since Rust 1.94")]
        let read = |number| unsafe { __cpuid(number) };
        (read(number & 0xffff_0000).eax >= number).then(|| read(number))
    }
}

/// "Invariant TSC": CPUID 8000_0007h, EDX bit 8.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn is_invariant() -> bool {
    cpuid::leaf(0x8000_0007).is_some_and(|leaf| leaf.edx & (1 << 8) != 0)
}

/// From the hypervisor's timing leaf 4000_0010h (EAX, kHz), else from leaf 15h: crystal (ECX, Hz) times
/// EBX / EAX.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn announced_hz() -> Option<u64> {
    let is_virtual = cpuid::leaf(1).is_some_and(|leaf| leaf.ecx & (1 << 31) != 0);
    let timing = cpuid::leaf(0x4000_0010).filter(|leaf| is_virtual && leaf.eax > 0);
    if let Some(timing) = timing {
        return Some(u64::from(timing.eax) * 1000);
    }
    let crystal = cpuid::leaf(0x15)?;
    let hz = u64::from(crystal.ecx) * u64::from(crystal.ebx);
    hz.checked_div(crystal.eax.into()).filter(|hz| *hz > 0)
}
