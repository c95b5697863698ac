//! The first step: the manifest with its ops files applied, and combined with its cloud configs.

use crate::deployment::inputs::Documents;
use crate::deployment::manifest::{Manifest, blocking};
use crate::deployment::stop::Stop;
use boson_pipeline::convert;
use boson_pipeline::stage::SharedStages;
use std::sync::Arc;

/// The manifest with its ops files applied, and combined with its cloud configs.
///
/// # Errors
/// Documents that could not be read; the errors of the step.
pub async fn merge(stages: SharedStages, documents: Documents) -> Result<Manifest, Stop> {
    blocking(move || {
        let Documents {
            read,
            ops,
            errors,
            mut sources,
            share,
            secrets,
            ..
        } = documents;
        if !errors.is_empty() {
            return Err(Stop::wrong(errors, &sources));
        }
        let (Some((manifest, others)), Some(share)) = (read.split_first(), share) else {
            return Err(Stop::Waiting("the manifest".into()));
        };
        sources.set_main(&manifest.name);
        let (ops, cloud_configs) = others.split_at_checked(ops).unwrap_or((others, &[]));
        let mut warnings = Vec::new();
        let all = convert::Documents {
            manifest,
            ops,
            cloud_configs,
        };
        let merged = convert::merge(&*stages, all, &mut sources, &mut warnings);
        let tree = merged.map_err(|errors| Stop::wrong(secrets.scrub(errors, &sources), &sources))?;
        Ok(Manifest {
            name: manifest.name.clone(),
            tree: Arc::new(tree),
            sources: Arc::new(sources),
            warnings,
            secrets: Arc::new(secrets),
            _share: Arc::new(share),
        })
    })
    .await?
}
