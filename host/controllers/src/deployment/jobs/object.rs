//! The QuarksJobs of a conversion: three objects, each with the pods that do one step. Pure.

use super::super::secrets::Whose;
use super::pod::{self, PodPlugins};
use crate::conversion::ReleaseImage;
use boson_cluster::objects;
use boson_cluster::objects::versioned::Series;
use boson_in_pod::Held;
use boson_manifest::copier;
use boson_manifest::instances::Spread;
use boson_manifest::labels;
use boson_manifest::names;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER};
use boson_pipeline::convert::kept;
use boson_pipeline::stage::Deployment;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Annotation of the pods and of their output: digest of everything that the run depends on.
pub(in super::super) const INPUTS: &str = "quarks.cloudfoundry.org/inputs-digest";

/// Bytes of termination messages that the kubelet keeps for all containers of a pod together.
const MESSAGES: usize = 12 << 10;
/// How often a pod is retried that failed for an external reason, such as a lost node or a lack of memory.
const TRIES: u32 = 3;

/// What all three have in common.
pub(in super::super) struct Site<'a> {
    pub whose: Whose<'a>,
    pub deployment: &'a Deployment,
    /// The name of the manifest in diagnostics.
    pub manifest: &'a str,
    pub values: &'a [Held],
    /// Names of Secrets.
    pub pull: Vec<String>,
    pub plugins: PodPlugins,
}

/// A desired QuarksJob.
#[derive(Clone, Debug)]
pub(in super::super) struct Job {
    pub name: String,
    pub object: Value,
    /// See [`INPUTS`].
    pub digest: String,
}

/// An instance group, and the series of its document.
pub(in super::super) struct Group<'a> {
    pub name: &'a str,
    pub series: &'a Series,
    /// Secret with its resolved document; none if the job creates that.
    pub resolved: Option<&'a str>,
}

/// Puts the values of variables into the manifest. `inputs`: of [`boson_in_pod::digest`].
pub(in super::super) fn interpolation(site: &Site<'_>, with_ops: &str, inputs: &str, series: &Series) -> Job {
    let folder = "/var/run/secrets/with-ops";
    let mut arguments = site.arguments(&format!("--manifest={folder}/{}", kept::MANIFEST));
    arguments.push(format!("--inputs={inputs}"));
    let draft = Draft {
        name: site.whose.names.variable_interpolation(),
        init: Vec::new(),
        containers: vec![pod::Container {
            name: "interpolate".into(),
            command: "interpolate",
            arguments,
            mounts: vec![pod::mount("with-ops", folder), pod::mount(VALUES, VALUES_AT)],
        }],
        volumes: vec![
            pod::secret("with-ops", with_ops, kept::MANIFEST),
            values(site.values, false),
        ],
        outputs: vec![series],
    };
    draft.job(site)
}

/// Resolves instance groups.
pub(in super::super) fn gathering(
    site: &Site<'_>,
    desired: &str,
    groups: &[Group<'_>],
    releases: &[ReleaseImage],
) -> Job {
    let folder = "/var/run/secrets/desired-manifest";
    let container = |group: &Group<'_>| {
        let mut arguments = site.arguments(&format!("--manifest={folder}/{}", kept::MANIFEST));
        arguments.push(format!("--group={}", group.name));
        arguments.extend(site.of_deployment());
        pod::Container {
            name: names::container(&["group", group.name]),
            command: "instance-group",
            arguments,
            mounts: vec![
                pod::mount("desired-manifest", folder),
                pod::mount(VALUES, VALUES_AT),
                pod::mount(pod::RELEASES, copier::RELEASES),
            ],
        }
    };
    let mut volumes = vec![pod::secret("desired-manifest", desired, kept::MANIFEST)];
    volumes.extend(pod::volumes_of_copiers());
    volumes.push(values(site.values, true));
    let draft = Draft {
        name: site.whose.names.data_gathering(),
        init: pod::copiers(&site.deployment.operator_image, releases),
        containers: groups.iter().map(container).collect(),
        volumes,
        outputs: groups.iter().map(|group| group.series).collect(),
    };
    draft.job(site)
}

/// Renders the templates of instance groups.
pub(in super::super) fn rendering(site: &Site<'_>, groups: &[Group<'_>], releases: &[ReleaseImage]) -> Job {
    let folder = "/var/run/secrets/ig-resolved";
    let volume = |nth: usize| format!("ig-resolved-{nth}");
    let container = |(nth, group): (usize, &Group<'_>)| {
        let mut arguments = site.arguments(&format!("--resolved={folder}/{}", kept::RESOLVED));
        arguments.push(format!("--group={}", group.name));
        pod::Container {
            name: names::container(&["group", group.name]),
            command: "bpm",
            arguments,
            mounts: vec![
                pod::mount(&volume(nth), folder),
                pod::mount(VALUES, VALUES_AT),
                pod::mount(pod::RELEASES, copier::RELEASES),
            ],
        }
    };
    let secrets = groups.iter().enumerate();
    let secrets =
        secrets.map(|(nth, group)| pod::secret(&volume(nth), group.resolved.unwrap_or_default(), kept::RESOLVED));
    let mut volumes: Vec<Value> = secrets.collect();
    volumes.extend(pod::volumes_of_copiers());
    volumes.push(values(site.values, true));
    let draft = Draft {
        name: site.whose.names.bpm_configs(),
        init: pod::copiers(&site.deployment.operator_image, releases),
        containers: groups.iter().enumerate().map(container).collect(),
        volumes,
        outputs: groups.iter().map(|group| group.series).collect(),
    };
    draft.job(site)
}

/// Volume with the values of variables, and where it is.
const VALUES: &str = "values";
const VALUES_AT: &str = "/var/run/secrets/values";

/// A file for each key, so that Secrets do not conflict. `optional`: a step that needs the values only to keep them out of messages runs without a
/// missing one.
fn values(held: &[Held], optional: bool) -> Value {
    let source = |held: &Held| {
        let items = held
            .data
            .keys()
            .map(|key| json!({ "key": key, "path": held.path(key) }));
        json!({ "secret": { "name": held.secret, "items": items.collect::<Vec<_>>(), "optional": optional } })
    };
    let sources: Vec<Value> = held.iter().map(source).collect();
    json!({ "name": VALUES, "projected": { "defaultMode": pod::READABLE, "sources": sources } })
}

// === impl Site ===

impl Site<'_> {
    /// The arguments of all commands. `input`: the path of the document.
    fn arguments(&self, input: &str) -> Vec<String> {
        vec![
            input.to_string(),
            format!("--manifest-name={}", self.manifest),
            format!("--values={VALUES_AT}"),
        ]
    }

    fn of_deployment(&self) -> Vec<String> {
        let deployment = self.deployment;
        let mut arguments = vec![
            format!("--deployment={}", deployment.name),
            format!("--namespace={}", deployment.namespace),
            format!("--cluster-domain={}", deployment.cluster_domain),
            format!("--operator-image={}", deployment.operator_image),
        ];
        arguments.extend(
            deployment
                .registry
                .iter()
                .map(|registry| format!("--registry={registry}")),
        );
        if deployment.monit {
            arguments.push("--monit".into());
        }
        if deployment.spread != Spread::default() {
            arguments.push(format!("--instances={}", deployment.spread.name()));
        }
        arguments
    }

    fn labels(&self) -> BTreeMap<&'static str, String> {
        [
            (labels::DEPLOYMENT_NAME, self.whose.names.deployment()),
            (MANAGED_BY, MANAGER.to_string()),
        ]
        .into()
    }
}

/// The parts of a QuarksJob.
struct Draft<'a> {
    name: String,
    init: Vec<Value>,
    containers: Vec<pod::Container>,
    volumes: Vec<Value>,
    /// By container.
    outputs: Vec<&'a Series>,
}

// === impl Draft ===

impl Draft<'_> {
    fn job(mut self, site: &Site<'_>) -> Job {
        self.volumes.push(pod::scratch(pod::SCRATCH));
        self.volumes.extend(site.plugins.volumes.iter().cloned());
        // The QuarksJob controller adds one more container, which stores the output.
        let limit = MESSAGES / (self.init.len() + self.containers.len() + 1);
        let image = &site.deployment.operator_image;
        let containers = self.containers.iter();
        let containers: Vec<Value> = containers
            .map(|container| container.object(image, limit.min(boson_in_pod::MOST), &site.plugins))
            .collect();
        let pull: Vec<Value> = site.pull.iter().map(|name| json!({ "name": name })).collect();
        let pods = pod::spec(self.init, containers, &self.volumes, &pull);
        let outputs = self.containers.iter().zip(&self.outputs);
        let outputs: BTreeMap<&str, Value> = outputs
            .map(|(container, series)| (container.name.as_str(), json!({ "output.json": output(series) })))
            .collect();
        let mut spec = json!({
            "trigger": { "strategy": "once" },
            "output": { "outputType": "json", "outputMap": outputs },
            "template": { "spec": {
                "backoffLimit": TRIES,
                // With a wrong input, the next pod would fail, too.
                "podFailurePolicy": { "rules": [
                    { "action": "FailJob", "onExitCodes": { "operator": "In", "values": [2, boson_in_pod::REPORTED, 70] } },
                    { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
                ] },
                "template": { "metadata": { "labels": site.labels() }, "spec": pods },
            } },
        });
        let digest = digest(&spec);
        spec["template"]["spec"]["template"]["metadata"]["annotations"] =
            json!({ INPUTS: digest, labels::DEPLOYMENT: site.deployment.name });
        for container in &self.containers {
            // Names the run that created or confirmed a version, so that an older version is never mistaken for it.
            spec["output"]["outputMap"][&container.name]["output.json"]["secretAnnotations"] =
                json!({ INPUTS: digest });
        }
        let owner = serde_json::to_value(site.whose.owner).unwrap_or_default();
        let object = json!({
            "apiVersion": labels::API_VERSION,
            "kind": "QuarksJob",
            "metadata": {
                "name": self.name,
                "namespace": site.whose.namespace,
                "labels": site.labels(),
                "ownerReferences": [owner],
            },
            "spec": spec,
        });
        Job {
            name: self.name,
            object,
            digest,
        }
    }
}

fn output(series: &Series) -> Value {
    json!({
        "name": series.name,
        "versioned": true,
        "persistencemethod": "one-to-one",
        "secretLabels": series.labels,
    })
}

/// A digest of the spec without the list of values: their content already counts through the documents, or through an argument.
fn digest(spec: &Value) -> String {
    let mut spec = spec.clone();
    let volumes = spec.pointer_mut("/template/spec/template/spec/volumes");
    if let Some(volumes) = volumes.and_then(Value::as_array_mut) {
        volumes.retain(|volume| volume["name"] != VALUES);
    }
    objects::digest(&spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_in_pod::Origin;
    use boson_manifest::names::Names;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

    fn with(change: impl FnOnce(&mut Deployment, &mut Vec<Held>, &mut Vec<ReleaseImage>)) -> [Job; 3] {
        let mut deployment = Deployment {
            name: "nats".into(),
            namespace: "n".into(),
            cluster_domain: "cluster.local".into(),
            operator_image: "boson:1".into(),
            registry: None,
            spread: Spread::Total,
            monit: false,
        };
        let mut held = vec![Held {
            origin: Origin::Generated,
            variable: "pw".into(),
            secret: "nats.var-pw".into(),
            data: [("password".to_string(), b"marker".to_vec())].into(),
        }];
        let mut releases = vec![ReleaseImage {
            release: "messaging".into(),
            image: "r/messaging:1".into(),
            as_root: true,
            pull: Vec::new(),
        }];
        change(&mut deployment, &mut held, &mut releases);
        let (names, owner) = (
            Names::new("nats", "n", "cluster.local").unwrap(),
            OwnerReference::default(),
        );
        let site = Site {
            whose: Whose {
                names: &names,
                namespace: "n",
                owner: &owner,
            },
            deployment: &deployment,
            manifest: "configmap/m/manifest",
            values: &held,
            pull: vec!["nats.release-messaging".into()],
            plugins: PodPlugins::default(),
        };
        let (resolved, bpm) = (
            site.whose.resolved("broker").unwrap(),
            site.whose.bpm("broker").unwrap(),
        );
        let group = |series, resolved| Group {
            name: "broker",
            series,
            resolved,
        };
        [
            interpolation(&site, "nats.with-ops", "abc", &site.whose.desired()),
            gathering(&site, "nats.desired-manifest-v1", &[group(&resolved, None)], &releases),
            rendering(&site, &[group(&bpm, Some("nats.ig-resolved.broker-v2"))], &releases),
        ]
    }

    #[test]
    fn each_step_has_its_names_mounts_and_output() {
        let jobs = with(|_, _, _| {});
        let names = jobs.each_ref().map(|job| job.name.as_str());
        assert_eq!(
            names,
            ["var-interpolation-nats", "data-gathering-nats", "bpm-configs-nats"]
        );
        for (job, container, output) in [
            (&jobs[0], "interpolate", "nats.desired-manifest"),
            (&jobs[1], "group-broker", "nats.ig-resolved.broker"),
            (&jobs[2], "group-broker", "nats.bpm.broker"),
        ] {
            let kept = &job.object["spec"]["output"]["outputMap"][container]["output.json"];
            assert_eq!(kept["name"], output, "{}", job.name);
            assert_eq!(kept["secretLabels"][labels::DEPLOYMENT_NAME], "nats");
            let text = job.object.to_string();
            assert!(!text.contains("marker"), "a value: {text}");
            assert!(text.contains("nats.var-pw"), "{text}");
        }
        assert!(jobs[2].object.to_string().contains("nats.ig-resolved.broker-v2"));
        let copiers = &jobs[1].object["spec"]["template"]["spec"]["template"]["spec"]["initContainers"];
        assert_eq!(copiers[0]["name"], "container-run-copier");
        assert_eq!(copiers[1]["name"], "spec-copier-messaging");
        assert_eq!(copiers[1]["image"], "r/messaging:1");
    }

    #[test]
    fn where_no_job_needs_root_pods_of_the_conversion_are_within_the_restricted_profile() {
        for job in with(|_, _, releases| releases[0].as_root = false) {
            let pods = &job.object["spec"]["template"]["spec"]["template"]["spec"];
            let all = ["containers", "initContainers"].into_iter();
            for container in all.flat_map(|kind| pods[kind].as_array().into_iter().flatten()) {
                let context = &container["securityContext"];
                assert_eq!(context["runAsNonRoot"], true, "{container:#}");
                assert_eq!(context["capabilities"]["drop"], json!(["ALL"]));
                assert_ne!(context["runAsUser"], 0);
            }
        }
    }

    #[test]
    fn our_containers_have_no_privileges_and_all_have_limits() {
        for job in with(|_, _, _| {}) {
            let pods = &job.object["spec"]["template"]["spec"]["template"]["spec"];
            assert_eq!(pods["automountServiceAccountToken"], false);
            assert_eq!(pods["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
            for container in pods["containers"].as_array().unwrap() {
                let context = &container["securityContext"];
                assert_eq!(context["readOnlyRootFilesystem"], true);
                assert_eq!(context["runAsNonRoot"], true);
                assert_eq!(context["allowPrivilegeEscalation"], false);
                assert_eq!(context["capabilities"]["drop"], json!(["ALL"]));
            }
            let all = ["containers", "initContainers"].into_iter();
            for container in all.flat_map(|kind| pods[kind].as_array().into_iter().flatten()) {
                for limit in ["memory", "cpu"] {
                    assert!(container["resources"]["limits"][limit].is_string(), "{container:#}");
                }
            }
        }
    }

    #[test]
    fn only_steps_whose_inputs_change_have_another_digest() {
        let base = with(|_, _, _| {}).map(|job| job.digest);
        let changed = |jobs: [Job; 3]| {
            let mut jobs = jobs.into_iter().zip(&base);
            [(); 3].map(|()| jobs.next().is_some_and(|(job, base)| job.digest != *base))
        };
        assert_eq!(changed(with(|_, _, _| {})), [false; 3]);
        assert_eq!(
            changed(with(|_, _, releases| releases[0].image = "r/messaging:2".into())),
            [false, true, true]
        );
        assert_eq!(
            changed(with(|deployment, _, _| deployment.operator_image = "boson:2".into())),
            [true; 3]
        );
        assert_eq!(
            changed(with(|deployment, _, _| deployment.registry = Some("r2".into()))),
            [false, true, false]
        );
        assert_eq!(
            changed(with(|deployment, _, _| deployment.spread = Spread::PerZone)),
            [false, true, false]
        );
        // One more value: its effect is covered by the digest of the inputs, and by the documents.
        assert_eq!(
            changed(with(|_, held, _| held.push(Held {
                origin: Origin::Given,
                variable: "x".into(),
                secret: "mine".into(),
                data: [("password".to_string(), b"y".to_vec())].into(),
            }))),
            [false; 3]
        );
    }
}
