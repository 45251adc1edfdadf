//! What this machine can enforce, each capability proved by trying it.

/// One thing that guard needs or can use.
#[derive(Clone, Debug)]
pub struct Capability {
    /// Its name.
    pub name: &'static str,
    /// A detail, or what is missing and what to do.
    pub works: Result<String, String>,
    /// Whether guard can do without.
    pub needed: Need,
}

/// Whether guard can do without something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It cannot.
    Required,
    /// It can.
    Wanted,
}

/// Tries everything.
#[must_use]
pub fn probe() -> Vec<Capability> {
    Vec::new()
}
