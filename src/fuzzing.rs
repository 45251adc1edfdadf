//! What the fuzzing targets in `fuzz/` call: one function for each kind of input that comes from outside. Not part of a
//! normal build.
