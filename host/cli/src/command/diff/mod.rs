//! `host diff`: what a change of a deployment does, before it is made.

mod text;
mod tree;

use crate::command::convert::{self, ConvertArguments, Done, TargetArgument, Watching};
use crate::command::inputs::configs::AppliedConfigs;
use crate::command::inputs::variables::{Given, Kept};
use boson_commands::connection::ConnectionArguments;
use boson_commands::exit::ExitError;
use boson_commands::output::{self, Color};
use boson_commands::runtime::block_on;
use boson_document::{Map, json};
use boson_look::access::Access;
use boson_look::applied::Applied;
use boson_look::command::graph::{self, Documents};
use boson_pipeline::deployment_diff::{self, Effects, Line, Properties, Side};
use boson_pipeline::variables::Table;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
The deployment is compared with --deployment, the manifest that the operator has stored in the cluster, or with --against, another manifest. \
The result has four parts: the manifest as `bosh deploy` shows it before it asks for confirmation; the instances that are created, restarted, \
resized and deleted, in that order, each with the files and the members of its pod that differ; the variables whose values are generated, and those \
that are removed; the objects that differ. Values of properties are shown as `<redacted>`, as BOSH does, unless --no-redact is given; other values \
of the manifest are shown.

Both sides are converted with the same plugins, links and values of variables, so a new value of a variable is not a difference. --against-release, \
--against-cloud-config and --against-runtime-config are for the other side only; it uses the releases and configs of the command line if these are not \
given. Ops files belong to one manifest. Options that write or select output have no effect: --target, --out, --record, --strict. The command writes nothing: it reads \
the BOSHDeployment and the Secret <deployment>.with-ops.

Exit codes: 0 no difference, 2 differences, also wrong usage, 1 errors in the input.

Examples:
  host diff manifest.yml -o ops/scale.yml --release ./nats-release --deployment nats -n messaging
  host diff manifest.yml -o ops/scale.yml --release ./nats-release --against manifest.yml
  host diff manifest.yml --release ./nats-2 --against old/manifest.yml --against-release ./nats-1 --json
  host diff manifest.yml --deployment nats --format bosh
  host diff manifest.yml --release ./nats-release --deployment nats --graph svg > change.svg";

/// Options of `host diff`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct DiffArguments {
    #[command(flatten)]
    convert: ConvertArguments,
    /// Compare with the manifest of this BOSHDeployment in the cluster, in the namespace of --namespace [default: that
    /// of the kubeconfig's context]
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "against",
        conflicts_with = "against"
    )]
    deployment: Option<String>,
    /// Compare with this manifest
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Apply this ops file to the manifest of --against; repeat it for several, in order
    #[arg(long, value_name = "FILE", requires = "against")]
    against_ops_file: Vec<PathBuf>,
    /// A release of the manifest that is compared with
    #[arg(long, value_name = "[NAME=]PATH")]
    against_release: Vec<String>,
    /// A cloud config of the manifest of --against
    #[arg(long, value_name = "FILE", requires = "against")]
    against_cloud_config: Vec<PathBuf>,
    /// A runtime config of the manifest of --against
    #[arg(long, value_name = "FILE", requires = "against")]
    against_runtime_config: Vec<PathBuf>,
    /// Show values of properties of the manifest. Values of variables are not shown
    #[arg(long)]
    no_redact: bool,
    /// The form of the result
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Print a graph of the instance groups and links instead, in which additions, removals and changes have colors
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["format", "json"])]
    graph: Option<graph::Format>,
    /// Print the result as JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    connection: ConnectionArguments,
}

/// The form of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// All parts, with colors on a terminal.
    #[default]
    Text,
    /// Only the manifest, in BOSH's text. Needs no releases, except for versions `latest`
    Bosh,
}

struct Differences {
    manifest: Vec<Line>,
    effects: Effects,
}

/// The two sides, as options of a conversion; no old one: the deployment does not exist yet.
struct Sides {
    old: Option<ConvertArguments>,
    new: ConvertArguments,
}

// === impl DiffArguments ===

impl DiffArguments {
    /// The options for the manifest of --against.
    fn against(&self, manifest: &PathBuf) -> ConvertArguments {
        let mut old = self.convert.clone();
        old.manifest.clone_from(manifest);
        old.variables.ops.clone_from(&self.against_ops_file);
        if !self.against_cloud_config.is_empty() {
            old.configs.cloud.clone_from(&self.against_cloud_config);
        }
        if !self.against_runtime_config.is_empty() {
            old.configs.runtime.clone_from(&self.against_runtime_config);
        }
        self.with_releases(old)
    }

    fn with_releases(&self, mut old: ConvertArguments) -> ConvertArguments {
        if !self.against_release.is_empty() {
            old.releases.clone_from(&self.against_release);
        }
        old
    }

    fn sides(&self) -> Result<Sides, ExitError> {
        if let Some(manifest) = &self.against {
            return Ok(Sides {
                old: Some(self.against(manifest)),
                new: self.convert.clone(),
            });
        }
        block_on(self.with_cluster())?
    }

    async fn with_cluster(&self) -> Result<Sides, ExitError> {
        let mut new = self.convert.clone();
        let access = Access::connect(&self.connection, new.namespace.as_deref()).await?;
        new.namespace = Some(access.namespace.clone());
        let deployment = self.deployment.as_deref().unwrap_or_default();
        let applied = Applied::read(&access, deployment).await?;
        new.name.get_or_insert_with(|| deployment.to_string());
        let before = Before {
            applied,
            values: Map::new(),
        };
        let mut sides = Sides::of_cluster(new, before, deployment);
        sides.old = sides.old.map(|old| self.with_releases(old));
        Ok(sides)
    }
}

// === impl Sides ===

impl Sides {
    /// The manifest in the cluster, and the new one.
    fn of_cluster(new: ConvertArguments, before: Before, deployment: &str) -> Self {
        let why = match &before.applied {
            Some(applied) => applied
                .unapplied
                .as_ref()
                .map(|why| format!("this manifest is not applied: {why}")),
            None => Some("it has no manifest: all of the deployment is new".into()),
        };
        if let Some(why) = why {
            output::eprint(&format!(
                "boshdeployment.quarks.cloudfoundry.org/{deployment} in the cluster: {why}\n"
            ));
        }
        let unchanged = before.applied.iter().flat_map(|applied| &applied.unchanged);
        let unchanged: Vec<&str> = unchanged.map(String::as_str).collect();
        if !unchanged.is_empty() {
            output::eprint(&format!(
                "stopped and ignored instances do not change: {}\n",
                unchanged.join(", ")
            ));
        }
        let values = new.variables.given.as_ref().and_then(|given| given.values.as_ref());
        let values = values.map(|values| before.with_given(values));
        let old = before.applied.map(|applied| {
            let mut old = new.clone();
            old.variables.given = Some(Given {
                manifest: applied.manifest,
                ops: Vec::new(),
                is_secret: true,
                values,
            });
            old.configs.applied = AppliedConfigs {
                cloud: Some(applied.cloud_config.into_iter().collect()),
                // The manifest has what they add.
                runtime: Some(Vec::new()),
            };
            old
        });
        Self { old, new }
    }

    /// The lines in which the manifests differ.
    fn lines(&self, properties: Properties, color: Color) -> Result<Vec<Line>, ExitError> {
        let old = self.old.as_ref().map(|old| convert::merged(old, color)).transpose()?;
        let new = convert::merged(&self.new, color)?;
        Ok(deployment_diff::manifest(old.as_ref(), &new, properties))
    }

    fn converted(&self, color: Color) -> Result<(Option<Done>, Done), ExitError> {
        let convert = |side: &ConvertArguments, kept| {
            let done = convert::dry_run(side, Watching::Nothing, color, |arguments| {
                arguments.variables.kept = kept;
                arguments.target = TargetArgument::Quarks;
            });
            done.map(|(done, _)| done)
        };
        let old = self.old.as_ref().map(|old| convert(old, Kept::InMemory)).transpose()?;
        let kept = old
            .as_ref()
            .map_or(Kept::InMemory, |old| Kept::Given(old.values.clone()));
        let new = convert(&self.new, kept)?;
        Ok((old, new))
    }

    /// All differences, and the name of the deployment.
    fn differences(&self, properties: Properties, color: Color) -> Result<(Differences, String), ExitError> {
        let (old, new) = self.converted(color)?;
        let manifest = old.as_ref().map(|old| &old.manifest);
        let differences = Differences {
            manifest: deployment_diff::manifest(manifest, &new.manifest, properties),
            effects: Effects::of(old.as_ref().map_or_else(Side::default, side), side(&new)),
        };
        Ok((differences, new.deployment))
    }
}

// === impl Before ===

impl Before {
    /// The values of before, and others that are given now.
    fn with_given(&self, values: &Table) -> Table {
        let mut all = values.to_tree().as_object().cloned().unwrap_or_default();
        all.extend(self.values.clone());
        Table::fold(all).unwrap_or_else(|_| values.clone())
    }
}

/// What a deploy changes, as text: all differences if releases are given, otherwise those of the manifest.
///
/// # Errors
/// All errors in the input, after they were shown.
pub fn preview(
    new: ConvertArguments,
    before: Before,
    properties: Properties,
    color: Color,
) -> Result<String, ExitError> {
    let name = new.name.clone().unwrap_or_default();
    let has_releases = new.has_releases();
    let sides = Sides::of_cluster(new, before, &name);
    if has_releases {
        let (differences, _) = sides.differences(properties, color)?;
        return Ok(text::of(&differences, color.enabled_on_output()));
    }
    output::eprint("instances that restart are not shown: give the releases with --release\n");
    let manifest = sides.lines(properties, color)?;
    if manifest.is_empty() {
        return Ok("no differences in the manifest\n".into());
    }
    let effects = Effects::default();
    Ok(text::of(&Differences { manifest, effects }, color.enabled_on_output()))
}

// === impl Differences ===

impl Differences {
    fn is_empty(&self) -> bool {
        self.manifest.is_empty() && self.effects.is_empty()
    }
}

/// What the cluster has of a deployment.
pub struct Before {
    pub applied: Option<Applied>,
    /// Values that were given, by variable. Those of the new side are used for others.
    pub values: Map,
}

fn side(done: &Done) -> Side<'_> {
    Side {
        objects: &done.objects,
        groups: &done.files,
    }
}

/// What a graph shows of a side.
fn documents(done: &Done) -> Documents {
    Documents {
        manifest: done.manifest.clone(),
        resolved: done.files.iter().map(|group| group.resolved.document.clone()).collect(),
        providers: Vec::new(),
    }
}

pub fn run(arguments: &DiffArguments, color: Color) -> Result<(), ExitError> {
    let properties = properties(arguments.no_redact);
    let sides = arguments.sides()?;
    if let Some(format) = arguments.graph {
        let (old, new) = sides.converted(color)?;
        let old = old.as_ref().map(documents);
        output::print(&graph::difference(old.as_ref(), &documents(&new), format))?;
        return exit_result(old.is_some_and(|old| old.manifest == new.manifest));
    }
    if arguments.format == Format::Bosh {
        let lines = sides.lines(properties, color)?;
        output::print(&text::of_lines(&lines, false))?;
        return exit_result(lines.is_empty());
    }
    let (differences, deployment) = sides.differences(properties, color)?;
    let text = if arguments.json {
        json::to_lines(&tree::of(&deployment, &differences))
    } else {
        text::of(&differences, color.enabled_on_output())
    };
    output::print(&text)?;
    exit_result(differences.is_empty())
}

pub fn properties(no_redact: bool) -> Properties {
    if no_redact {
        Properties::Shown
    } else {
        Properties::Redacted
    }
}

fn exit_result(same: bool) -> Result<(), ExitError> {
    if same { Ok(()) } else { Err(ExitError::Different) }
}
