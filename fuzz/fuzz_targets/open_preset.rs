//! Whatever bytes are given as a preset, a drive is made of them or a reason is given.

#![no_main]

use libfuzzer_sys::fuzz_target;
use openpts_sim::{Preset, PresetError, Scale, open};

const CAPACITY_BYTES: u64 = 64 << 20;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Err(PresetError(reason)) =
            Preset::parse(text).and_then(|preset| open(&preset, CAPACITY_BYTES, Scale::ONE, 1))
        {
            assert!(!reason.is_empty());
        }
    }
});
