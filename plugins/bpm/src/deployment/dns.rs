//! The deployment's own DNS: two servers for BOSH's names, if the manifest uses BOSH DNS.

use crate::codes;
use crate::containers::security;
use crate::metadata::Metadata;
use crate::object::{compact, object};
use crate::request::DeploymentRequest;
use boson_document::{Place, Report, Tree, json};
use boson_manifest::dns::{self, ACCOUNT, ZONE_KEY};
use boson_manifest::labels;
use boson_manifest::names::{NameClaims, Names};

/// Label of the servers' pods.
const COMPONENT: (&str, &str) = ("app.kubernetes.io/component", "dns");
/// Port of the servers. Ports below 1024 would need more permissions.
const DNS_PORT: i64 = 5353;
/// Port of their probes and metrics.
const PROBE_PORT: i64 = 8080;
/// Directory of their configuration.
const CONFIG: &str = "/etc/boson/dns";
/// The number of servers: one may be unavailable.
const SERVER_COUNT: i64 = 2;

const CODES: &dns::Codes = &dns::Codes {
    invalid: codes::DNS_ALIAS,
    no_effect: codes::DNS,
};

/// ConfigMap, Service, Deployment and PodDisruptionBudget, or nothing.
pub fn objects(
    request: &DeploymentRequest<'_>,
    names: &Names,
    metadata: &Metadata,
    claims: &mut NameClaims,
    report: &mut Report,
) -> Vec<Tree> {
    let place = Place::new(request.manifest.name, "");
    let collected = dns::collect(request.manifest.tree, request.deployment, CODES, &place, report);
    if !collected.wanted {
        return Vec::new();
    }
    let name = dns::object_name(names);
    if let Err(error) = claims.claim("Service", &name, "the DNS of the deployment") {
        let help = "rename the instance group: its Service would have the name of the deployment's DNS";
        let place = Place::new(request.manifest.name, "/instance_groups");
        report.error(codes::NAME_CONFLICT, &place, error.to_string()).help(help);
        return Vec::new();
    }
    let groups = collected.zone.groups.iter();
    let files: Vec<String> = groups.map(|group| dns::files_name(names, &group.name)).collect();
    let metadata = metadata.clone().label(COMPONENT.0, COMPONENT.1);
    let text = json::to_text(&collected.zone.document());
    let config = object! { ZONE_KEY => text };
    vec![
        object! { "apiVersion" => "v1", "kind" => "ConfigMap", "metadata" => metadata.named(&name), "data" => config },
        service(&name, names, &metadata),
        deployment(request, &name, names, &metadata, &files),
        object! {
            "apiVersion" => "policy/v1", "kind" => "PodDisruptionBudget", "metadata" => metadata.named(&name),
            "spec" => object! { "maxUnavailable" => 1_i64, "selector" => object! { "matchLabels" => selector(names) } },
        },
    ]
}

fn selector(names: &Names) -> Tree {
    object! { labels::DEPLOYMENT_NAME => names.deployment(), COMPONENT.0 => COMPONENT.1 }
}

fn service(name: &str, names: &Names, metadata: &Metadata) -> Tree {
    let port = |name: &str, protocol: &str| {
        object! { "name" => name, "protocol" => protocol, "port" => 53_i64, "targetPort" => DNS_PORT }
    };
    let spec = object! { "selector" => selector(names), "ports" => vec![port("dns", "UDP"), port("dns-tcp", "TCP")] };
    object! { "apiVersion" => "v1", "kind" => "Service", "metadata" => metadata.named(name), "spec" => spec }
}

fn deployment(
    request: &DeploymentRequest<'_>,
    name: &str,
    names: &Names,
    metadata: &Metadata,
    files: &[String],
) -> Tree {
    let spec = object! {
        "replicas" => SERVER_COUNT,
        "selector" => object! { "matchLabels" => selector(names) },
        // A server that does not become ready must not replace a working one.
        "strategy" => object! { "type" => "RollingUpdate", "rollingUpdate" => object! { "maxUnavailable" => 0_i64, "maxSurge" => 1_i64 } },
        "template" => object! { "metadata" => metadata.unnamed(), "spec" => pod(request, name, names, files) },
    };
    object! { "apiVersion" => "apps/v1", "kind" => "Deployment", "metadata" => metadata.named(name), "spec" => spec }
}

fn pod(request: &DeploymentRequest<'_>, name: &str, names: &Names, files: &[String]) -> Tree {
    let optional = |name: &String| object! { "configMap" => object! { "name" => name.as_str(), "optional" => true } };
    let mut sources = vec![object! { "configMap" => object! { "name" => name } }];
    sources.extend(files.iter().map(optional));
    let apart = object! {
        "weight" => 100_i64,
        "podAffinityTerm" => object! {
            "topologyKey" => "kubernetes.io/hostname", "labelSelector" => object! { "matchLabels" => selector(names) },
        },
    };
    object! {
        "serviceAccountName" => ACCOUNT,
        "enableServiceLinks" => false,
        "securityContext" => security::of_pod(Vec::new()),
        "affinity" => object! {
            "podAntiAffinity" => object! { "preferredDuringSchedulingIgnoredDuringExecution" => vec![apart] },
        },
        "containers" => vec![container(request)],
        "volumes" => vec![object! { "name" => "config", "projected" => object! { "sources" => sources } }],
    }
}

fn container(request: &DeploymentRequest<'_>) -> Tree {
    let probe = |path: &str| object! { "httpGet" => object! { "path" => path, "port" => PROBE_PORT } };
    let mut context = security::of_plain();
    context.set("readOnlyRootFilesystem", true);
    let port = |name: &str, protocol: &str, port: i64| {
        object! { "name" => name, "protocol" => protocol, "containerPort" => port }
    };
    compact(object! {
        "name" => "dns",
        "image" => request.deployment.operator_image.as_str(),
        "command" => vec!["host", "dns", "serve"],
        "ports" => vec![
            port("dns", "UDP", DNS_PORT), port("dns-tcp", "TCP", DNS_PORT), port("probe", "TCP", PROBE_PORT),
        ],
        "resources" => object! {
            "requests" => object! { "cpu" => "10m", "memory" => "32Mi" },
            "limits" => object! { "memory" => "128Mi" },
        },
        "readinessProbe" => probe("/ready").with("periodSeconds", 2_i64),
        "livenessProbe" => probe("/live").with("periodSeconds", 10_i64).with("failureThreshold", 6_i64),
        "volumeMounts" => vec![object! { "name" => "config", "mountPath" => CONFIG, "readOnly" => true }],
        "securityContext" => context,
    })
}

/// The ConfigMap with the rendered alias files of a group's jobs, if they have some. `files`: job -> (domain ->
/// targets).
pub fn alias_files(names: &Names, group: &str, metadata: &Metadata, files: &Tree) -> Option<Tree> {
    let files = files.as_object().filter(|files| !files.is_empty())?;
    let key = format!("{}.aliases.json", boson_manifest::names::label(group));
    let data = object! { key => json::to_text(&files.clone().into()) };
    let metadata = metadata.named(&dns::files_name(names, group));
    Some(object! { "apiVersion" => "v1", "kind" => "ConfigMap", "metadata" => metadata, "data" => data })
}
