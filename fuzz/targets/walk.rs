//! See `guard::fuzzing::walk`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| guard::fuzzing::walk(data));
