//! See `guard::fuzzing::hook`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| guard::fuzzing::hook(data));
