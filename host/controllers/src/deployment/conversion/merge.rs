//! The first step: the manifest with its ops files applied, and combined with its cloud configs and runtime configs.

use crate::deployment::error::DeployError;
use crate::deployment::inputs::Documents;
use crate::deployment::manifest::{Manifest, blocking};
use boson_api::deployment::InputKind;
use boson_pipeline::convert;
use boson_pipeline::stage::SharedStages;
use boson_pipeline::yaml::Document;
use std::sync::Arc;

/// The manifest with its ops files applied, and combined with its cloud configs and runtime configs. `deployment`: the
/// name that addons of runtime configs select.
///
/// # Errors
/// Documents that could not be read; the errors of the step.
pub async fn merge(stages: SharedStages, documents: Documents, deployment: String) -> Result<Manifest, DeployError> {
    blocking(move || {
        let (errors, mut sources) = (documents.errors, documents.sources);
        if !errors.is_empty() {
            return Err(DeployError::invalid(errors, &sources));
        }
        let (Some(manifest), Some(share)) = (documents.read.first(), documents.share) else {
            return Err(DeployError::Waiting("the manifest".into()));
        };
        sources.set_main(&manifest.name);
        let of = |kind: InputKind| -> Vec<Arc<Document>> {
            let read = documents.read.iter().zip(&documents.found);
            let read = read.filter(|(_, source)| source.kind == kind);
            read.map(|(document, _)| document.clone()).collect()
        };
        let mut warnings = Vec::new();
        let all = convert::Documents {
            manifest,
            ops: &of(InputKind::Ops),
            cloud_configs: &of(InputKind::CloudConfig),
            runtime_configs: &of(InputKind::RuntimeConfig),
            deployment: Some(&deployment),
        };
        let merged = convert::merge(&*stages, all, &mut sources, &mut warnings);
        let tree =
            merged.map_err(|errors| DeployError::invalid(documents.secrets.scrub(errors, &sources), &sources))?;
        Ok(Manifest {
            name: manifest.name.clone(),
            tree: Arc::new(tree),
            sources: Arc::new(sources),
            warnings,
            secrets: Arc::new(documents.secrets),
            _share: Arc::new(share),
        })
    })
    .await?
}
