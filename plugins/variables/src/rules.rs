//! Whose rules apply: the director's, or those of `bosh interpolate`.

/// Which rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The director's, when it deploys.
    Director,
    /// Those of `bosh interpolate`.
    Cli,
}
