//! See `guard::fuzzing::record`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| guard::fuzzing::record(data));
