//! What a conversion makes.

/// The kind of objects to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Objects of the operator, as it would create them.
    Quarks,
    /// Objects that any cluster accepts.
    Kubernetes,
}

// === impl Target ===

impl Target {
    /// Its name, for plugins and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quarks => "quarks",
            Self::Kubernetes => "kubernetes",
        }
    }
}
