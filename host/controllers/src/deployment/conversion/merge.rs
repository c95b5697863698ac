//! The first step: the manifest with its ops files applied, and combined with its cloud configs.

use crate::deployment::inputs::Documents;
use crate::deployment::manifest::{Manifest, blocking};
use crate::deployment::stop::Stop;
use boson_pipeline::convert;
use boson_pipeline::stage::SharedStages;
use std::sync::Arc;

/// The manifest with its ops files applied, and combined with its cloud configs.
pub async fn merge(stages: SharedStages, documents: Documents) -> Result<Manifest, Stop> {
    blocking(move || {
        let Documents {
            manifest,
            ops,
            cloud_configs,
            mut sources,
            share,
            secrets,
        } = documents;
        let mut warnings = Vec::new();
        let all = convert::Documents {
            manifest: &manifest,
            ops: &ops,
            cloud_configs: &cloud_configs,
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
