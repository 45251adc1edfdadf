//! wall
