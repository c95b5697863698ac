//! The QuarksJobs of a conversion: three objects, each with the pods that do one step. Pure.

use super::pod::{self, Command, PodPlugins};
use crate::conversion::ReleaseImage;
use crate::deployment::error::DeployError;
use crate::deployment::plan::documents::Ownership;
use boson_api::QuarksJob;
use boson_api::job::{Output, OutputSecret, PersistenceMethod, QuarksJobSpec, Strategy, Trigger};
use boson_cluster::objects;
use boson_cluster::objects::versioned::Series;
use boson_in_pod::Held;
use boson_manifest::copier;
use boson_manifest::instances::Spread;
use boson_manifest::labels;
use boson_manifest::names;
use boson_manifest::pod_contract;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER};
use boson_pipeline::convert::stored_documents;
use boson_pipeline::stage::Deployment;
use k8s_openapi::api::core::v1::{
    Container, PodSpec, PodTemplateSpec, ProjectedVolumeSource, SecretProjection, Volume, VolumeProjection,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Annotation of the pods and of their output: digest of everything that the run depends on.
pub const INPUTS_ANNOTATION: &str = "quarks.cloudfoundry.org/inputs-digest";

/// Bytes of termination messages that the kubelet keeps for all containers of a pod together.
const MAX_TERMINATION_MESSAGE_BYTES: usize = 12 << 10;
/// How often a pod is retried that failed for an external reason, such as a lost node or a lack of memory.
const MAX_POD_RETRIES: i32 = 3;
/// Exit codes of a wrong input: the next pod would fail, too.
const WRONG_INPUT_EXIT_CODES: [i32; 3] = [2, boson_in_pod::REPORTED_EXIT_CODE as i32, 70];
/// The file with the output of a container.
const OUTPUT_FILE: &str = "output.json";
/// The file with the links that the deployment provides.
const PROVIDERS_FILE: &str = "providers.json";

/// What all three have in common.
pub struct Site<'a> {
    pub ownership: Ownership<'a>,
    pub deployment: &'a Deployment,
    /// Jobs without bpm information run by their monit files.
    pub by_monit: bool,
    /// The name of the manifest in diagnostics.
    pub manifest: &'a str,
    pub values: &'a [Held],
    /// The Secret with the links from outside of the deployment.
    pub external: Option<&'a str>,
    /// Names of pull Secrets.
    pub pull: Vec<String>,
    pub plugins: PodPlugins,
}

#[derive(Clone, Debug)]
pub struct Job {
    pub name: String,
    pub object: QuarksJob,
    pub digest: String,
}

/// An instance group to render, and the series of its rendered BPM configuration.
pub struct Rendering<'a> {
    pub name: &'a str,
    pub series: &'a Series,
    /// Secret with its resolved document.
    pub resolved: &'a str,
}

/// Puts the values of variables into the manifest. `inputs`: of [`boson_in_pod::digest`].
pub fn interpolation(site: &Site<'_>, with_ops: &str, inputs: &str, series: &Series) -> Result<Job, DeployError> {
    let folder = "/var/run/secrets/with-ops";
    let mut arguments = site.arguments(&format!("--manifest={folder}/{}", stored_documents::MANIFEST));
    arguments.push(format!("--inputs={inputs}"));
    let draft = Draft {
        name: site.ownership.names.variable_interpolation(),
        init: Vec::new(),
        commands: vec![Command {
            name: "interpolate".into(),
            command: "interpolate",
            arguments,
            mounts: vec![pod::mount("with-ops", folder), pod::mount(VALUES_VOLUME, VALUES_PATH)],
            pod_contract: pod_contract::COMMON_VERSION,
        }],
        volumes: vec![pod::secret("with-ops", with_ops, stored_documents::MANIFEST)],
        values: values_volume(site.values, false),
        outputs: vec![vec![(OUTPUT_FILE, series)]],
    };
    draft.job(site)
}

/// Resolves instance groups, and the links that the deployment provides: all containers know them, the first one stores
/// them. `series`: by group, those of the resolved documents.
pub fn gathering(
    site: &Site<'_>,
    desired: &str,
    groups: &[String],
    series: &[Series],
    links: &Series,
    releases: &[ReleaseImage],
) -> Result<Job, DeployError> {
    let folder = "/var/run/secrets/desired-manifest";
    let command = |(nth, group): (usize, &String)| {
        let mut arguments = site.arguments(&format!("--manifest={folder}/{}", stored_documents::MANIFEST));
        arguments.push(format!("--group={group}"));
        if nth == 0 {
            arguments.push(format!("--providers={}", boson_in_pod::PROVIDERS_PATH));
        }
        arguments.extend(site.deployment_arguments());
        let mut mounts = vec![
            pod::mount("desired-manifest", folder),
            pod::mount(VALUES_VOLUME, VALUES_PATH),
            pod::mount(pod::RELEASES, copier::RELEASES),
        ];
        if site.external.is_some() {
            arguments.push(format!("--links={EXTERNAL_PATH}/{}", stored_documents::EXTERNAL));
            mounts.push(pod::mount(EXTERNAL_VOLUME, EXTERNAL_PATH));
        }
        Command {
            name: names::container(&["group", group]),
            command: "instance-group",
            arguments,
            mounts,
            pod_contract: pod_contract::WITH_LINKS,
        }
    };
    let mut outputs: Vec<_> = series.iter().map(|series| vec![(OUTPUT_FILE, series)]).collect();
    if let Some(first) = outputs.first_mut() {
        first.push((PROVIDERS_FILE, links));
    }
    let mut volumes = vec![pod::secret("desired-manifest", desired, stored_documents::MANIFEST)];
    if let Some(secret) = site.external {
        volumes.push(pod::secret(EXTERNAL_VOLUME, secret, stored_documents::EXTERNAL));
    }
    volumes.extend(pod::volumes_of_copiers());
    let draft = Draft {
        name: site.ownership.names.data_gathering(),
        init: pod::copiers(&site.deployment.operator_image, releases),
        commands: groups.iter().enumerate().map(command).collect(),
        volumes,
        values: values_volume(site.values, true),
        outputs,
    };
    draft.job(site)
}

/// Renders the templates of instance groups.
pub fn rendering(site: &Site<'_>, groups: &[Rendering<'_>], releases: &[ReleaseImage]) -> Result<Job, DeployError> {
    let folder = "/var/run/secrets/ig-resolved";
    let volume = |nth: usize| format!("ig-resolved-{nth}");
    let command = |(nth, group): (usize, &Rendering<'_>)| {
        let mut arguments = site.arguments(&format!("--resolved={folder}/{}", stored_documents::RESOLVED));
        arguments.push(format!("--group={}", group.name));
        Command {
            name: names::container(&["group", group.name]),
            command: "bpm",
            arguments,
            mounts: vec![
                pod::mount(&volume(nth), folder),
                pod::mount(VALUES_VOLUME, VALUES_PATH),
                pod::mount(pod::RELEASES, copier::RELEASES),
            ],
            pod_contract: pod_contract::COMMON_VERSION,
        }
    };
    let secrets = groups.iter().enumerate();
    let secrets = secrets.map(|(nth, group)| pod::secret(&volume(nth), group.resolved, stored_documents::RESOLVED));
    let mut volumes: Vec<Volume> = secrets.collect();
    volumes.extend(pod::volumes_of_copiers());
    let draft = Draft {
        name: site.ownership.names.bpm_configs(),
        init: pod::copiers(&site.deployment.operator_image, releases),
        commands: groups.iter().enumerate().map(command).collect(),
        volumes,
        values: values_volume(site.values, true),
        outputs: groups.iter().map(|group| vec![(OUTPUT_FILE, group.series)]).collect(),
    };
    draft.job(site)
}

/// Volume with the values of variables, and where it is.
const VALUES_VOLUME: &str = "values";
const VALUES_PATH: &str = "/var/run/secrets/values";

/// Volume with the links from outside of the deployment, and where it is.
const EXTERNAL_VOLUME: &str = "external-links";
const EXTERNAL_PATH: &str = "/var/run/secrets/external-links";

/// A file for each key, so that Secrets do not conflict. `optional`: a step that needs the values only to keep them out
/// of messages runs without a missing one.
fn values_volume(held: &[Held], optional: bool) -> Volume {
    let source = |held: &Held| {
        let items = held.data.keys().map(|key| pod::item(key, held.path(key)));
        VolumeProjection {
            secret: Some(SecretProjection {
                name: held.secret.clone(),
                items: Some(items.collect()),
                optional: Some(optional),
            }),
            ..VolumeProjection::default()
        }
    };
    Volume {
        name: VALUES_VOLUME.into(),
        projected: Some(ProjectedVolumeSource {
            default_mode: Some(pod::SECRET_FILE_MODE),
            sources: Some(held.iter().map(source).collect()),
        }),
        ..Volume::default()
    }
}

// === impl Site ===

impl Site<'_> {
    /// The arguments of all commands. `input`: the path of the document.
    fn arguments(&self, input: &str) -> Vec<String> {
        vec![
            input.to_string(),
            format!("--manifest-name={}", self.manifest),
            format!("--values={VALUES_PATH}"),
        ]
    }

    fn deployment_arguments(&self) -> Vec<String> {
        let deployment = self.deployment;
        let mut arguments = vec![
            format!("--deployment={}", deployment.name),
            format!("--namespace={}", deployment.namespace),
            format!("--cluster-domain={}", deployment.cluster_domain),
            format!("--operator-image={}", deployment.operator_image),
        ];
        if let Some(registry) = &deployment.registry {
            arguments.push(format!("--registry={registry}"));
        }
        if self.by_monit {
            arguments.push("--monit".into());
        }
        if deployment.spread != Spread::default() {
            arguments.push(format!("--instances={}", deployment.spread.name()));
        }
        arguments
    }

    fn labels(&self) -> BTreeMap<String, String> {
        [
            (labels::DEPLOYMENT_NAME.to_string(), self.ownership.names.deployment()),
            (MANAGED_BY.to_string(), MANAGER.to_string()),
        ]
        .into()
    }
}

struct Draft<'a> {
    name: String,
    init: Vec<Container>,
    commands: Vec<Command>,
    volumes: Vec<Volume>,
    values: Volume,
    /// By command: its files, and the series that each becomes a version of.
    outputs: Vec<Vec<(&'static str, &'a Series)>>,
}

// === impl Draft ===

impl Draft<'_> {
    fn job(self, site: &Site<'_>) -> Result<Job, DeployError> {
        // Without the list of values: their content already counts through the documents, or through an argument.
        let undated = serde_json::to_value(self.spec(site, None)?);
        let digest = objects::digest(&undated.map_err(|_| json_error(&self.name))?);
        let object = QuarksJob {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(site.ownership.namespace.into()),
                labels: Some(site.labels()),
                owner_references: Some(vec![site.ownership.owner.clone()]),
                ..ObjectMeta::default()
            },
            spec: self.spec(site, Some(&digest))?,
            status: None,
        };
        Ok(Job {
            name: self.name,
            object,
            digest,
        })
    }

    /// The specification of the run with this digest; none: what the digest is made from.
    fn spec(&self, site: &Site<'_>, digest: Option<&str>) -> Result<QuarksJobSpec, DeployError> {
        let annotations = |digest: &str| -> BTreeMap<String, String> {
            [(INPUTS_ANNOTATION, digest), (labels::DEPLOYMENT, &site.deployment.name)]
                .map(|(key, value)| (key.to_string(), value.to_string()))
                .into()
        };
        let pods = PodTemplateSpec {
            metadata: Some(ObjectMeta {
                labels: Some(site.labels()),
                annotations: digest.map(annotations),
                ..ObjectMeta::default()
            }),
            spec: Some(self.pods(site, digest.is_some())),
        };
        let outputs = self.commands.iter().zip(&self.outputs);
        let outputs = outputs.map(|(command, files)| {
            let files = files.iter();
            let files = files.map(|(file, series)| ((*file).to_string(), output(series, digest)));
            (command.name.clone(), files.collect())
        });
        Ok(QuarksJobSpec {
            trigger: Trigger {
                strategy: Strategy::Once,
            },
            template: serde_json::from_value(template(&pods)).map_err(|_| json_error(&self.name))?,
            update_on_config_change: false,
            output: Some(Output {
                output_map: outputs.collect(),
                ..Output::default()
            }),
        })
    }

    fn pods(&self, site: &Site<'_>, with_values: bool) -> PodSpec {
        let mut volumes = self.volumes.clone();
        volumes.extend(with_values.then(|| self.values.clone()));
        volumes.push(pod::scratch(pod::SCRATCH));
        volumes.extend(site.plugins.volumes.iter().cloned());
        // The QuarksJob controller adds one more container, which stores the output.
        let limit = MAX_TERMINATION_MESSAGE_BYTES / (self.init.len() + self.commands.len() + 1);
        let limit = limit.min(boson_in_pod::MAX_MESSAGE_BYTES);
        let containers = self.commands.iter();
        let containers = containers.map(|command| command.container(site.deployment, limit, &site.plugins));
        pod::spec(self.init.clone(), containers.collect(), volumes, &site.pull)
    }
}

fn json_error(name: &str) -> DeployError {
    DeployError::defect(&format!("QuarksJob '{name}' is no JSON object"))
}

/// The template of a Job with these pods.
fn template(pods: &PodTemplateSpec) -> Value {
    let wrong_input = json!({"action": "FailJob", "onExitCodes": {"operator": "In", "values": WRONG_INPUT_EXIT_CODES}});
    let lost_node = json!({"action": "Ignore", "onPodConditions": [{"status": "True", "type": "DisruptionTarget"}]});
    json!({"spec": {
        "backoffLimit": MAX_POD_RETRIES,
        "podFailurePolicy": {"rules": [wrong_input, lost_node]},
        "template": pods,
    }})
}

/// `digest`: names the run that created or confirmed a version, so that an older version is never mistaken for it.
fn output(series: &Series, digest: Option<&str>) -> OutputSecret {
    let annotation = digest.map(|digest| (INPUTS_ANNOTATION.to_string(), digest.to_string()));
    OutputSecret {
        name: series.name.clone(),
        versioned: true,
        persistence_method: PersistenceMethod::OneToOne,
        secret_labels: series.labels.clone(),
        secret_annotations: annotation.into_iter().collect(),
    }
}
