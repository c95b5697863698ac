//! What shadow plugins would change, as a condition. Pure.

use crate::codes;
use ConditionStatus::{False, True};
use boson_api::ConditionStatus;
use boson_api::conditions::Finding;
use boson_pipeline::Diagnostic;
use boson_pipeline::shadow::{Report, Shadow};

/// Condition: whether shadow plugins reply as the plugins in use. It exists only if there are shadow plugins.
pub const SHADOWS: &str = "ShadowPluginsAgree";

/// What a shadow plugin would change in the last conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowResult {
    pub agrees: bool,
    /// Without values.
    pub text: String,
}

/// The result of a shadow plugin. Its text may still have values, if the plugin puts them into names.
pub fn result(shadow: &Shadow, report: &Report) -> (bool, Diagnostic) {
    let digest = shadow.digest.get(..12).unwrap_or_default();
    let text = format!("shadow plugin '{}', sha256:{digest}: {}", shadow.name, report.text());
    (report.agrees(), Diagnostic::warning(codes::PLUGIN_SHADOW_DIFFERS, text))
}

/// The condition; none if there are no shadow plugins, or no conversion has ended.
pub fn finding(results: Option<&[ShadowResult]>) -> Option<Finding> {
    let results = results.filter(|results| !results.is_empty())?;
    let agree = results.iter().all(|one| one.agrees);
    let (status, reason) = if agree {
        (True, "NoDifference")
    } else {
        (False, "Different")
    };
    let texts: Vec<&str> = results.iter().map(|one| one.text.as_str()).collect();
    Some(Finding {
        kind: SHADOWS,
        status,
        reason: reason.into(),
        message: texts.join("\n"),
    })
}
