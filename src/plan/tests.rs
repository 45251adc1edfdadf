//! Whole plans on real directories.
