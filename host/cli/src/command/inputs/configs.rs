//! Options about cloud configs and runtime configs, which are merged with a manifest.

use boson_commands::files;
use boson_commands::inputs;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_pipeline::yaml::Document;
use clap::Args;
use std::path::PathBuf;

/// Cloud configs and runtime configs.
#[derive(Args, Clone, Debug, Default)]
pub struct ConfigArguments {
    /// Add a cloud config in BOSH's format, which defines the AZs, VM types, VM extensions and disk types of the
    /// manifest. Several are merged as the director merges them
    #[arg(long = "cloud-config", value_name = "FILE")]
    pub cloud: Vec<PathBuf>,
    /// Add a runtime config in BOSH's format: addons, with their releases and variables, and tags. Several are merged
    /// in this order, after the manifest
    #[arg(long = "runtime-config", value_name = "FILE")]
    pub runtime: Vec<PathBuf>,
    /// Documents that were read before, instead of files.
    #[arg(skip)]
    pub applied: AppliedConfigs,
}

/// Documents that were read before; none: those of the options.
#[derive(Clone, Debug, Default)]
pub struct AppliedConfigs {
    pub cloud: Option<Vec<Document>>,
    pub runtime: Option<Vec<Document>>,
}

/// The documents, in their order.
#[derive(Clone, Debug, Default)]
pub struct Configs {
    pub cloud: Vec<Document>,
    pub runtime: Vec<Document>,
}

// === impl ConfigArguments ===

impl ConfigArguments {
    /// Reads the documents.
    ///
    /// # Errors
    /// All that cannot be read.
    pub fn read(&self, sources: &mut Sources) -> Result<Configs, Vec<Diagnostic>> {
        let mut errors = Vec::new();
        let mut documents = |applied: Option<&Vec<Document>>, paths: &[PathBuf]| match applied {
            Some(given) => {
                let all = given.iter().cloned();
                all.for_each(|document| sources.add_document(document, true));
                given.clone()
            }
            None => read(paths, sources, &mut errors),
        };
        let configs = Configs {
            cloud: documents(self.applied.cloud.as_ref(), &self.cloud),
            runtime: documents(self.applied.runtime.as_ref(), &self.runtime),
        };
        if errors.is_empty() { Ok(configs) } else { Err(errors) }
    }

    /// Reads the files of the options once, because they may be pipes. From then on, they are applied; if there are
    /// none, what `applied` has.
    ///
    /// # Errors
    /// All that cannot be read.
    pub fn read_once(&mut self, sources: &mut Sources) -> Result<(), Vec<Diagnostic>> {
        let mut errors = Vec::new();
        if !self.cloud.is_empty() {
            self.applied.cloud = Some(read(&self.cloud, sources, &mut errors));
        }
        if !self.runtime.is_empty() {
            self.applied.runtime = Some(read(&self.runtime, sources, &mut errors));
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

fn read(paths: &[PathBuf], sources: &mut Sources, errors: &mut Vec<Diagnostic>) -> Vec<Document> {
    let read = paths
        .iter()
        .map(|path| inputs::yaml_file(&files::expanded(path), sources));
    read.filter_map(|one| one.map_err(|error| errors.push(error)).ok())
        .collect()
}
