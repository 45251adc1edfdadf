//! What is said of a path, as values.

use super::*;
