//! What shadow plugins would change, as a condition. Pure.

use crate::codes;
use crate::deployment::manifest::Manifest;
use boson_api::conditions::Finding;
use boson_pipeline::Diagnostic;
use boson_pipeline::shadow::Shadow;

/// Condition: whether shadow plugins reply as the plugins in use. It exists only if there are shadow plugins.
pub const SHADOWS: &str = "ShadowPluginsAgree";

/// What a shadow plugin would change in the last conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowResult {
    pub agrees: bool,
    /// Without values.
    pub text: String,
}

/// The results of these shadow plugins.
pub fn results(shadows: &[Shadow], manifest: &Manifest) -> Vec<ShadowResult> {
    let result = |shadow: &Shadow| {
        let report = shadow.report();
        let digest = shadow.digest.get(..12).unwrap_or_default();
        let text = format!("shadow plugin '{}', sha256:{digest}: {}", shadow.name, report.text());
        let warning = Diagnostic::warning(codes::PLUGIN_SHADOW_DIFFERS, text);
        (report.agrees(), warning)
    };
    let (agree, texts): (Vec<bool>, Vec<_>) = shadows.iter().map(result).unzip();
    // Plugins may put values into names.
    let texts = manifest.secrets.scrub(texts, &manifest.sources).into_iter();
    let results = agree.into_iter().zip(texts);
    results
        .map(|(agrees, text)| ShadowResult {
            agrees,
            text: text.message,
        })
        .collect()
}

/// The condition; none if there are no shadow plugins, or no conversion has ended.
pub fn finding(results: Option<&[ShadowResult]>) -> Option<Finding> {
    let results = results.filter(|results| !results.is_empty())?;
    let agree = results.iter().all(|one| one.agrees);
    let reason = if agree { "NoDifference" } else { "Different" };
    let texts: Vec<&str> = results.iter().map(|one| one.text.as_str()).collect();
    Some(Finding::new(SHADOWS, agree, reason, texts.join("\n")))
}
