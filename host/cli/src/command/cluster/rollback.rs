//! `host rollback`: shows what an earlier deploy changes, and has [`boson_act`] apply it again.

use crate::command::cluster::deploy::{Found, convert_as, documents, trees};
use crate::command::convert::ConvertArguments;
use crate::command::diff;
use crate::command::inputs::configs::AppliedConfigs;
use crate::command::inputs::variables::Given;
use boson_act::command::deploy::PodOptions;
use boson_act::command::rollback::{Contents, RollbackOptions};
use boson_commands::connection::ConnectionArguments;
use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Color};
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_pipeline::variables::Table;
use boson_pipeline::yaml;
use clap::Args;

const EXAMPLES: &str = "\
Applies the manifest, ops files, cloud configs, runtime configs and given values of an earlier revision, as a new revision, in the same way as `host deploy`: it shows \
what changes, asks for confirmation, and follows the rollout. `host history` lists the revisions. Generated values are not part of a revision: they \
stay as they are. The other settings of the BOSHDeployment, such as the registry, stay, too. The command needs the same permissions as `host deploy`.

Examples:
  host rollback -d nats
  host rollback 3 -d nats --release ./nats-release --yes";

/// Options of `host rollback`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RollbackArguments {
    #[command(flatten)]
    options: RollbackOptions,
    /// Add a release, to show which instances restart: its directory, tarball or image; set NAME if the path does not
    /// contain it
    #[arg(long = "release", value_name = "[NAME=]PATH")]
    releases: Vec<String>,
    /// Show values of properties of the manifest. Values of variables are not shown
    #[arg(long)]
    no_redact: bool,
    /// Namespace of the deployment [default: that of the kubeconfig's context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub fn run(arguments: &RollbackArguments, color: Color) -> Result<(), ExitError> {
    let options = &arguments.options;
    options.change.check()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (found, contents, plan) = runtime.block_on(async {
        let namespace = arguments.namespace.as_deref();
        let found = Found::read(&arguments.connection, namespace, &options.deployment).await?;
        let target = options.target(&found.present)?;
        let contents = Contents::read(&found.access, target).await?;
        let plan = found.present.rollback(target, &found.stamp);
        anyhow::Ok((found, contents, plan))
    })?;
    let mut new = ConvertArguments::of_nothing().map_err(anyhow::Error::from)?;
    let read = inputs(&contents).map_err(|errors| exit::refused(&errors, &Sources::default(), color));
    let (given, configs) = read?;
    new.variables.given = Some(given);
    new.configs.applied = configs;
    new.releases.clone_from(&arguments.releases);
    new.name = Some(options.deployment.clone());
    new.namespace = Some(found.access.namespace.clone());
    convert_as(&found.present, &mut new);
    let preview = diff::preview(new, found.before, diff::properties(arguments.no_redact), color)?;
    output::print(&preview)?;
    let pods = PodOptions::default();
    let change = options
        .change
        .carry_out(&found.access, &found.present, plan.as_ref(), &pods);
    runtime.block_on(change)
}

/// The documents of a revision.
fn inputs(contents: &Contents) -> Result<(Given, AppliedConfigs), Vec<Diagnostic>> {
    let manifest = &contents.manifest;
    let given = Given {
        manifest: yaml::read(&manifest.name, &manifest.text)?,
        ops: documents(&contents.ops)?,
        is_secret: false,
        values: Some(Table::fold(trees(&contents.values))?),
    };
    let configs = AppliedConfigs {
        cloud: Some(documents(&contents.cloud_configs)?),
        runtime: Some(documents(&contents.runtime_configs)?),
    };
    Ok((given, configs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_act::command::deploy::File;
    use boson_document::json;

    #[test]
    fn the_inputs_of_a_revision_need_no_options() {
        let file = |name: &str, text: &str| File {
            name: name.into(),
            text: text.into(),
        };
        let contents = Contents {
            manifest: file("manifest.yml", "name: d"),
            ops: vec![file("ops.yml", "[]")],
            cloud_configs: Vec::new(),
            runtime_configs: vec![file("dns.yml", "addons: []")],
            values: [("count".to_string(), 3.into())].into(),
        };
        let (given, configs) = inputs(&contents).unwrap();
        let counts = [configs.cloud, configs.runtime].map(|all| all.map_or(0, |all| all.len()));
        let count = given.values.unwrap().get("count").map(json::to_text);
        assert_eq!((given.ops.len(), count.as_deref(), counts), (1, Some("3"), [0, 1]));
        assert!(!ConvertArguments::of_nothing().unwrap().has_releases());
    }
}
