//! The stages of a conversion, as custom resources name them.

use boson_pipeline::Stage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stage of the conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StageName {
    /// Operations change the manifest.
    Ops,
    /// Variables get values.
    Variables,
    /// Links are resolved.
    Links,
    /// Templates are rendered.
    Render,
    /// Instance groups become objects.
    Bpm,
    /// Objects are changed at the end.
    Resources,
    /// Policies report on the objects.
    Checks,
}

// === impl StageName ===

impl From<StageName> for Stage {
    fn from(name: StageName) -> Self {
        match name {
            StageName::Ops => Self::Ops,
            StageName::Variables => Self::Variables,
            StageName::Links => Self::Links,
            StageName::Render => Self::Render,
            StageName::Bpm => Self::Bpm,
            StageName::Resources => Self::Resources,
            StageName::Checks => Self::Checks,
        }
    }
}

impl From<Stage> for StageName {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Ops => Self::Ops,
            Stage::Variables => Self::Variables,
            Stage::Links => Self::Links,
            Stage::Render => Self::Render,
            Stage::Bpm => Self::Bpm,
            Stage::Resources => Self::Resources,
            Stage::Checks => Self::Checks,
        }
    }
}
