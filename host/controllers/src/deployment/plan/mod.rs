//! Decides what to write for a deployment: a pure function of what the conversion made, of the objects in the cluster,
//! and of settings.

pub mod documents;
pub mod events;
pub mod held_back;
pub mod object;
pub mod pods;
pub mod post_deploy;
pub mod quota;
pub mod variables;

#[cfg(test)]
mod tests;

use boson_api::deployment::{ConversionMode, Retain};
use boson_api::{OutdatedGroup, QuarksSecret};
use boson_cluster::client::{AnyObject, Notice};
use boson_cluster::objects;
use boson_cluster::objects::drift::Drifted;
use boson_manifest::dns::ACCOUNT;
use boson_manifest::names::Names;
use events::causes::Causes;
use events::change;
use held_back::HeldBack;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pods::instance_states::InstanceStates;
use pods::job_sources::{self, JobSources};
use pods::{active_pods, manifest_version, operator_image};
use serde_json::Value;
use variables::retention;

/// Kinds whose objects become pods.
const WORKLOADS: [&str; 6] = [
    "QuarksStatefulSet",
    "QuarksJob",
    "StatefulSet",
    "Deployment",
    "Job",
    "CronJob",
];

/// What the conversion made.
pub struct Desired {
    pub objects: Vec<Value>,
    /// Name of the Secret with the desired manifest.
    pub manifest: String,
    pub sources: JobSources,
    /// Groups without objects, because they cannot be converted.
    pub held_back: HeldBack,
}

/// The state in the cluster.
#[derive(Debug, Default)]
pub struct Live {
    pub objects: Vec<Value>,
    /// Whether claims hold its data; false if [`retention::needs_claims`] is.
    pub has_claims: bool,
    /// Its ConfigMaps with job sources.
    pub job_sources: Vec<ObjectMeta>,
    /// Whether it may roll a group to the operator's image now.
    pub may_roll: bool,
}

/// Settings of the deployment and of the operator.
pub struct Settings<'a> {
    pub names: &'a Names,
    pub mode: ConversionMode,
    pub retain: Retain,
    pub operator_image: &'a str,
    /// Whether changes of instance groups wait.
    pub is_paused: bool,
    pub states: InstanceStates<'a>,
    pub causes: Causes<'a>,
}

pub enum Plan {
    /// Mark generated values as retained. Everything else waits for that: see [`retention`].
    Retain(Retaining),
    Apply(Box<Applying>),
}

/// Generated values to mark as retained.
pub struct Retaining {
    pub secrets: objects::Plan,
    /// QuarksSecrets of variables that the manifest no longer has.
    pub removed: Vec<QuarksSecret>,
}

/// The way to the desired objects.
pub struct Applying {
    /// All desired objects, as they are written.
    pub wanted: Vec<Value>,
    /// How they differ from those in the cluster.
    pub objects: objects::Plan,
    /// ConfigMaps that the pods mount.
    pub job_sources: job_sources::Difference,
    /// Whether the deployment has DNS servers, which need a ServiceAccount.
    pub has_dns: bool,
    /// QuarksSecrets of variables that the manifest no longer has, whose values need not be retained.
    pub unretained: Vec<QuarksSecret>,
    /// Groups that keep an older operator image.
    pub outdated: Vec<OutdatedGroup>,
    /// The group that gets the operator's image now.
    pub rolls: Option<String>,
    /// The event about the change; none if no object changes.
    pub change: Option<Notice>,
}

pub fn plan(desired: &Desired, live: &Live, settings: &Settings<'_>) -> Plan {
    let mut wanted = desired.objects.clone();
    let groups = wanted.iter_mut().filter(|object| object::is_stateful_set(object));
    // If it is false, too: it takes back what `act::pause` has set.
    groups.for_each(|group| group["spec"]["paused"] = settings.is_paused.into());
    settings.states.set_in(&mut wanted);
    // In the other mode these jobs are leftovers, to be deleted.
    let is_known =
        |object: &&Value| settings.mode == ConversionMode::InProcess || !is_conversion_job(object, settings.names);
    let mut there: Vec<Value> = live.objects.iter().filter(is_known).cloned().collect();
    let retention = retention::decide(&mut wanted, &there, settings.retain, live.has_claims);
    if retention.is_first {
        let secrets = wanted.into_iter().filter(retention::is_secret).collect();
        return Plan::Retain(Retaining {
            secrets: objects::plan(secrets, &there),
            removed: retention.removed,
        });
    }
    // Groups that are held back keep their present objects.
    there.retain(|object| !desired.held_back.owns(object));
    active_pods::keep(&mut wanted, &there);
    manifest_version::keep(&mut wanted, &there);
    let known: Vec<String> = live.job_sources.iter().filter_map(|meta| meta.name.clone()).collect();
    let pods = operator_image::Pods {
        image: settings.operator_image,
        sources: &desired.sources,
        existing: &known,
        may_roll: live.may_roll,
    };
    let images = operator_image::keep(&mut wanted, &there, &pods);
    let job_sources = desired.sources.difference(&wanted, &live.job_sources);
    manifest_version::renew(&mut wanted, &there, &desired.manifest);
    let objects = objects::plan(wanted.clone(), &there);
    Plan::Apply(Box::new(Applying {
        change: change::notice(&objects, &there, &settings.causes),
        has_dns: wanted.iter().any(is_dns_server),
        objects,
        wanted,
        job_sources,
        unretained: retention.removed,
        outdated: images.outdated,
        rolls: images.rolls,
    }))
}

// === impl Plan ===

impl Plan {
    /// The objects that changed after they were written. After dry runs of them, plan again: see [`objects::drift`].
    pub fn drifted(&self) -> &[Drifted] {
        match self {
            Self::Retain(retaining) => &retaining.secrets.drifted,
            Self::Apply(applying) => &applying.objects.drifted,
        }
    }

    /// With the additions by others that an earlier plan found. Dry runs hide them.
    pub fn with_additions_of(mut self, earlier: Self) -> Self {
        if let (Self::Apply(now), Self::Apply(earlier)) = (&mut self, earlier) {
            now.objects.additions = earlier.objects.additions;
        }
        self
    }
}

// === impl Applying ===

impl Applying {
    /// The objects to write: first what pods mount, then what starts pods.
    pub fn in_order(&self) -> [Vec<&Value>; 2] {
        let starts_pods = |object: &&Value| object.kind().is_some_and(|kind| WORKLOADS.contains(&kind));
        let (workloads, others) = self.objects.apply.iter().partition(starts_pods);
        [others, workloads]
    }

    /// Name of a Service that is still being deleted and must be created again.
    pub fn terminating_service(&self) -> Option<&str> {
        let leaving = self.objects.replace.iter().find(|old| old.is_going())?;
        leaving.name()
    }
}

fn is_conversion_job(object: &Value, names: &Names) -> bool {
    object.kind() == Some(object::JOB) && object.name().is_some_and(|name| names.is_conversion(name))
}

fn is_dns_server(object: &Value) -> bool {
    object.kind() == Some("Deployment") && object["spec"]["template"]["spec"]["serviceAccountName"] == ACCOUNT
}
