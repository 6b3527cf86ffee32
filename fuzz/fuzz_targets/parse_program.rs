//! Whatever bytes arrive, the parser answers with a program or with a reason.

#![no_main]

use libfuzzer_sys::fuzz_target;
use openpts_core::workload::{Limits, parse_program};

const LIMITS: Limits = Limits {
    capacity_bytes: u64::MAX,
    sector_bytes: 512,
    tc: u32::MAX,
    qd: u32::MAX,
    block_size_bytes: 1 << 30,
};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Err(error) = parse_program(text, &LIMITS) {
            assert!(!error.to_string().is_empty());
        }
    }
});
