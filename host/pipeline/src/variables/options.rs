//! How variables are handled.

use crate::stage::VariableRules;

/// How to handle variables without a value, or values that nothing uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    Ignore,
    /// One error about all of them, as with `bosh interpolate --var-errs`.
    Together,
    /// One diagnostic about each: an error if it has no value, a warning if it has no use.
    Each,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whose rules hold. By the director's, given values are put in first by the command line's rules, as `bosh deploy`
    /// does: definitions of given variables then do not count as variables of the deployment. A CA is generated before
    /// the certificates it signs, wherever it is defined; otherwise the document's order applies, as in BOSH. And the
    /// result is for the stages that replace a director, and so is what the director reads of what `bosh deploy` sends.
    pub rules: VariableRules,
    pub missing: Check,
    /// Values that nothing uses.
    pub unused: Check,
    /// Whether update modes affect the store. The bosh command line ignores them.
    pub update_modes: bool,
}

// === impl Options ===

impl Options {
    /// Options of `bosh interpolate`, with its flags `--var-errs` and `--var-errs-unused`.
    pub fn interpolate(var_errs: bool, var_errs_unused: bool) -> Self {
        let check = |flag| if flag { Check::Together } else { Check::Ignore };
        Self {
            rules: VariableRules::Cli,
            missing: check(var_errs),
            unused: check(var_errs_unused),
            update_modes: false,
        }
    }

    /// Options of a conversion: the director's rules, any order, every variable needs a value.
    pub fn convert() -> Self {
        Self {
            rules: VariableRules::Director,
            missing: Check::Each,
            unused: Check::Each,
            update_modes: true,
        }
    }
}
