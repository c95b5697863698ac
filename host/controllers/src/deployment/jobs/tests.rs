//! The objects of a conversion's jobs: names, mounts, privileges and digests.

use super::object::{INPUTS_ANNOTATION, Job, Rendering, Site, gathering, interpolation, rendering};
use super::pod::PodPlugins;
use crate::conversion::ReleaseImage;
use crate::deployment::plan::documents::Ownership;
use boson_in_pod::{Held, Origin};
use boson_manifest::instances::Spread;
use boson_manifest::labels;
use boson_manifest::names::Names;
use boson_pipeline::stage::Deployment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn with(change: impl FnOnce(&mut Deployment, &mut Vec<Held>, &mut Vec<ReleaseImage>)) -> [Job; 3] {
    let mut deployment = Deployment {
        name: "nats".into(),
        namespace: "n".into(),
        cluster_domain: "cluster.local".into(),
        operator_image: "boson:1".into(),
        registry: None,
        spread: Spread::Total,
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
        ownership: Ownership {
            names: &names,
            namespace: "n",
            owner: &owner,
        },
        deployment: &deployment,
        by_monit: false,
        manifest: "configmap/m/manifest",
        values: &held,
        pull: vec!["nats.release-messaging".into()],
        external: None,
        plugins: PodPlugins::default(),
    };
    let (resolved, bpm, links) = (
        site.ownership.resolved("broker").unwrap(),
        site.ownership.bpm("broker").unwrap(),
        site.ownership.links(),
    );
    let (desired, groups) = ("nats.desired-manifest-v1", ["broker".to_string()]);
    let rendered = Rendering {
        name: "broker",
        series: &bpm,
        resolved: "nats.ig-resolved.broker-v2",
    };
    [
        interpolation(&site, "nats.with-ops", "abc", &site.ownership.desired()),
        gathering(&site, desired, &groups, &[resolved], &links, &releases),
        rendering(&site, &[rendered], &releases),
    ]
    .map(Result::unwrap)
}

fn json(job: &Job) -> Value {
    serde_json::to_value(&job.object).unwrap()
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
        let object = json(job);
        let kept = &object["spec"]["output"]["outputMap"][container]["output.json"];
        assert_eq!(kept["name"], output, "{}", job.name);
        assert_eq!(kept["secretLabels"][labels::DEPLOYMENT_NAME], "nats");
        let text = object.to_string();
        assert!(!text.contains("marker"), "a value: {text}");
        assert!(text.contains("nats.var-pw"), "{text}");
    }
    assert!(json(&jobs[2]).to_string().contains("nats.ig-resolved.broker-v2"));
    let object = json(&jobs[1]);
    let kept = &object["spec"]["output"]["outputMap"]["group-broker"]["providers.json"];
    assert_eq!(kept["name"], "nats.links", "the first container stores the links, too");
    let copiers = &object["spec"]["template"]["spec"]["template"]["spec"]["initContainers"];
    assert_eq!(copiers[0]["name"], "container-run-copier");
    assert_eq!(copiers[1]["name"], "spec-copier-messaging");
    assert_eq!(copiers[1]["image"], "r/messaging:1");
}

#[test]
fn where_no_job_needs_root_pods_of_the_conversion_are_within_the_restricted_profile() {
    for job in with(|_, _, releases| releases[0].as_root = false) {
        let object = json(&job);
        let pods = &object["spec"]["template"]["spec"]["template"]["spec"];
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
        let object = json(&job);
        let pods = &object["spec"]["template"]["spec"]["template"]["spec"];
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

#[test]
fn the_digest_is_on_the_pods_and_on_their_output_and_does_not_count_itself() {
    for job in with(|_, _, _| {}) {
        let template = &json(&job)["spec"]["template"]["spec"]["template"];
        assert_eq!(
            template["metadata"]["annotations"][INPUTS_ANNOTATION], job.digest,
            "{}",
            job.name
        );
        let outputs = job.object.spec.output.unwrap().output_map.into_values();
        for secret in outputs.flat_map(BTreeMap::into_values) {
            assert_eq!(
                secret.secret_annotations,
                [(INPUTS_ANNOTATION.to_string(), job.digest.clone())].into()
            );
        }
    }
}
