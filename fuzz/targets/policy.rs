//! See `guard::fuzzing::policy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &str| guard::fuzzing::policy(data));
