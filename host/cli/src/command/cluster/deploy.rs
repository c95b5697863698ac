//! `host deploy`: reads the inputs, shows what they change, and has [`boson_act`] apply them and follow the rollout.

use crate::command::convert::{self, ConvertArguments};
use crate::command::diff::{self, Before};
use crate::command::inputs::configs::AppliedConfigs;
use crate::command::inputs::instances::InstancesArgument;
use crate::command::inputs::variables;
use anyhow::Context;
use boson_act::command::deploy::{DeployOptions, File, Inputs, Present, RUNTIME_CONFIG_KEY, Stamp, overrides};
use boson_act::command::rollback;
use boson_api::deployment::{Conversion, ConversionMode, Instances};
use boson_commands::connection::ConnectionArguments;
use boson_commands::exit::{self, ExitError};
use boson_commands::memory;
use boson_commands::output::{self, Color};
use boson_document::{Tree, json, placeholder};
use boson_look::access::Access;
use boson_look::applied::Applied;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_pipeline::yaml::{self, Document};
use clap::Args;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

const EXAMPLES: &str = "\
The command reads manifest, ops files, cloud configs, runtime configs and variables as `host convert` does, and shows what they change, as `host diff` does. With \
--release for each release, it also shows which instances restart and why. After a confirmation, it stores the inputs in ConfigMaps, and values of \
variables in Secrets, applies the BOSHDeployment, and follows the rollout until it is ready or has failed. Ctrl-C ends the command, not the rollout. \
The operator generates the values of variables that are not given.

Fields of the BOSHDeployment that other tools set stay, except for spec.manifest and spec.ops. Without --cloud-config, the cloud configs stay, and \
without --runtime-config the runtime configs. Values that nothing in the manifest refers to are not stored. The options --target, --out, --record, --name and --strict have no effect.

The command needs the permissions to get, create and patch BOSHDeployments; to get, list, create, patch and delete ConfigMaps; to get, create, patch \
and delete Secrets; and to list QuarksStatefulSets.

Exit codes: 0 the deployment is ready, 1 it has failed or was not confirmed, 2 wrong usage, 124 the timeout has expired, 130 Ctrl-C.

Examples:
  host deploy manifest.yml -d nats -o ops/scale.yml -v system_domain=example.com --release ./nats-release
  host deploy manifest.yml -d nats -o ops/scale.yml -l vars.yml --yes --timeout 30m
  host deploy manifest.yml -d nats --dry-run";

/// Name of the ops file that options make.
const OVERRIDES_NAME: &str = "(--canaries, --max-in-flight)";

/// Options of `host deploy`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct DeployArguments {
    #[command(flatten)]
    convert: ConvertArguments,
    #[command(flatten)]
    options: DeployOptions,
    /// Show values of properties of the manifest. Values of variables are not shown
    #[arg(long)]
    no_redact: bool,
    #[command(flatten)]
    connection: ConnectionArguments,
}

/// The namespace, and what it has of the deployment.
pub struct Found {
    pub access: Access,
    pub present: Present,
    pub before: Before,
    pub stamp: Stamp,
}

// === impl Found ===

impl Found {
    /// Reads the state of a deployment. `namespace`: none for that of the kubeconfig's context.
    ///
    /// # Errors
    /// There is no connection, or something cannot be read.
    pub async fn read(connection: &ConnectionArguments, namespace: Option<&str>, name: &str) -> anyhow::Result<Self> {
        let access = Access::connect(connection, namespace).await?;
        let present = Present::read(&access, name).await?;
        let applied = Applied::read(&access, name).await?;
        let stamp = Stamp::now(&access).await;
        let before = Before {
            applied,
            values: trees(&present.values()),
        };
        Ok(Self {
            access,
            present,
            before,
            stamp,
        })
    }

    /// The runtime configs that the deployment has.
    async fn runtime_configs(&self) -> anyhow::Result<Vec<File>> {
        let configs = rollback::read_configs(&self.access, &self.present.runtime_configs(), RUNTIME_CONFIG_KEY).await;
        configs.context("the deployment's runtime configs cannot be read, and --runtime-config gives no others")
    }
}

/// The documents in these files.
///
/// # Errors
/// The first that cannot be read.
pub fn documents(files: &[File]) -> Result<Vec<Document>, Diagnostic> {
    files.iter().map(|file| yaml::read(&file.name, &file.text)).collect()
}

/// Converts as the deployment is converted, where the options do not say otherwise.
pub fn convert_as(present: &Present, new: &mut ConvertArguments) {
    let spec = present
        .deployment
        .as_ref()
        .and_then(|one| one.pointer("/spec/conversion"));
    let conversion: Option<Conversion> = spec.and_then(|spec| serde_json::from_value(spec.clone()).ok());
    let Some(conversion) = conversion else { return };
    new.registry = new.registry.take().or(conversion.registry);
    new.monit |= conversion.monit;
    if conversion.instances == Instances::PerZone {
        new.instances = InstancesArgument::PerZone;
    }
}

/// Values, as trees of the pipeline.
pub fn trees(values: &BTreeMap<String, Value>) -> boson_document::Map {
    let tree = |(name, value): (&String, &Value)| Some((name.clone(), json::parse(&value.to_string()).ok()?));
    values.iter().filter_map(tree).collect()
}

pub fn run(arguments: &DeployArguments, color: Color) -> Result<(), ExitError> {
    let options = &arguments.options;
    options.change.check()?;
    if arguments.convert.variables.vars_store.is_some() {
        let why = "--vars-store has no effect here, because the operator generates values: give stored values with -l";
        return Err(anyhow::anyhow!(why).into());
    }
    let mut new = read(&arguments.convert, color)?;
    let given = new.configs.applied.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let name = &options.deployment;
    let found = runtime.block_on(Found::read(&arguments.connection, new.namespace.as_deref(), name))?;
    new.name = Some(name.clone());
    new.namespace = Some(found.access.namespace.clone());
    let configs = &mut new.configs.applied;
    let applied = found.before.applied.iter();
    configs
        .cloud
        .get_or_insert_with(|| applied.filter_map(|one| one.cloud_config.clone()).collect());
    if configs.runtime.is_none() {
        let present = runtime.block_on(found.runtime_configs())?;
        let read = documents(&present).map_err(|error| exit::fail(error, color))?;
        configs.runtime = Some(read);
    }
    let merged = convert::merged(&new, color)?;
    check_name(&merged, &new, name)?;
    let ops = overrides(options.canaries.as_ref(), options.max_in_flight.as_ref(), &merged);
    if let (Some(text), Some(given)) = (ops, &mut new.variables.given) {
        let document = yaml::read(OVERRIDES_NAME, &text);
        given.ops.push(document.map_err(|error| exit::fail(error, color))?);
    }
    let inputs = inputs(&new, given, &merged, options);
    convert_as(&found.present, &mut new);
    let preview = diff::preview(new, found.before, diff::properties(arguments.no_redact), color)?;
    output::print(&preview)?;
    let plan = found.present.plan(&inputs, &found.stamp).map_err(anyhow::Error::from)?;
    let change = options
        .change
        .carry_out(&found.access, &found.present, plan.as_ref(), &options.pods);
    runtime.block_on(change)
}

/// Reads all files, each once: they may be pipes.
fn read(arguments: &ConvertArguments, color: Color) -> Result<ConvertArguments, ExitError> {
    let mut sources = Sources::within(memory::of_documents(arguments.plugins.max_memory));
    let mut notes = Vec::new();
    let read = convert::with_defaults(arguments, &mut sources, &mut notes).and_then(|mut new| {
        let given = variables::given(&new.manifest, &new.variables, &mut sources)?;
        new.configs.read_once(&mut sources)?;
        new.variables.given = Some(given);
        Ok(new)
    });
    output::show(&notes, &sources, color);
    read.map_err(|errors| exit::refused(&errors, &sources, color))
}

/// As the BOSH CLI does, with its message.
fn check_name(merged: &Tree, arguments: &ConvertArguments, wanted: &str) -> anyhow::Result<()> {
    let name = merged.str("name").unwrap_or_default();
    let variable = placeholder::whole(name).map(|found| found.name);
    let values = arguments
        .variables
        .given
        .as_ref()
        .and_then(|given| given.values.as_ref());
    let value = variable.and_then(|variable| values?.get(variable)?.as_str());
    let name = value.unwrap_or(name);
    anyhow::ensure!(
        name == wanted,
        "Expected manifest to specify deployment name '{wanted}' but was '{name}'"
    );
    Ok(())
}

/// Manifest, ops files, configs, and the values that the manifest refers to.
fn inputs(arguments: &ConvertArguments, configs: AppliedConfigs, merged: &Tree, options: &DeployOptions) -> Inputs {
    let given = arguments.variables.given.as_ref();
    let used = used_variables(merged);
    let values = given.and_then(|given| given.values.as_ref());
    let values = values.into_iter().flat_map(|table| {
        let value = |name: &str| serde_json::from_str(&json::to_text(table.get(name)?)).ok();
        let names = table.names().filter(|name| used.contains(*name));
        names
            .filter_map(|name| Some((name.to_string(), value(name)?)))
            .collect::<Vec<(String, Value)>>()
    });
    Inputs {
        manifest: given.map(|given| file(&given.manifest)).unwrap_or_default(),
        ops: given.iter().flat_map(|given| &given.ops).map(file).collect(),
        cloud_configs: files(configs.cloud),
        runtime_configs: files(configs.runtime),
        values: values.collect::<BTreeMap<_, _>>(),
        conversion: conversion(arguments, options),
    }
}

fn files(documents: Option<Vec<Document>>) -> Option<Vec<File>> {
    Some(documents?.iter().map(file).collect())
}

fn file(document: &Document) -> File {
    File {
        name: document.name.clone(),
        text: document.text.to_string(),
    }
}

/// The variables that a manifest refers to, defines, or names as the signer of a certificate.
fn used_variables(merged: &Tree) -> BTreeSet<String> {
    let definitions = merged.items("variables");
    let names = definitions.iter().filter_map(|one| one.str("name"));
    let signers = definitions.iter().filter_map(|one| one.get("options")?.str("ca"));
    let named = names.chain(signers).map(str::to_string);
    placeholder::roots(merged).into_keys().chain(named).collect()
}

/// Members of `spec.conversion`: those that options set.
fn conversion(arguments: &ConvertArguments, options: &DeployOptions) -> Map<String, Value> {
    let mut members = Map::new();
    let mode = options.conversion_mode.map(ConversionMode::from);
    members.extend(mode.map(|mode| ("mode".to_string(), serde_json::json!(mode))));
    let registry = arguments.registry.clone();
    members.extend(registry.map(|registry| ("registry".to_string(), registry.into())));
    if let InstancesArgument::PerZone = arguments.instances {
        members.insert("instances".into(), serde_json::json!(Instances::PerZone));
    }
    if arguments.monit {
        members.insert("monit".into(), true.into());
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_that_the_manifest_refers_to_are_stored() {
        let manifest =
            "name: d\nvariables: [{name: cert, type: certificate, options: {ca: root}}]\na: ((x.key)) ((/y))\n";
        let found = used_variables(&yaml::read("m", manifest).unwrap().tree);
        assert_eq!(found, ["cert", "root", "x", "/y"].map(str::to_string).into());
    }
}
