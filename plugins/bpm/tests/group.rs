//! One group with one job, and one thing about its objects at a time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use boson_bpm::convert;
use boson_bpm::request::{BpmCopy, Deployment, GroupRequest, JobFiles, Reply};
use boson_document::{Diagnostic, Pointer, Severity, Tree, json};
use boson_manifest::instances::Spread;

/// A group: members of its own, of `quarks`, of its processes.
#[derive(Clone, Copy, Default)]
struct Case<'a> {
    group: &'a str,
    quarks: &'a str,
    /// Rendered for instance 0, 1, ...
    bpm: &'a [&'a str],
    templates: &'a [&'a str],
    settings: &'a str,
}

fn convert(case: Case<'_>) -> Reply {
    let comma = if case.group.is_empty() { "" } else { "," };
    let lacks = |key: &str, entry: &str| {
        if case.group.contains(key) {
            String::new()
        } else {
            entry.to_string()
        }
    };
    // A job without `ports` causes a warning.
    let quarks = match (case.quarks.contains("\"ports\""), case.quarks) {
        (true, quarks) => quarks.to_string(),
        (false, "") => r#""ports": []"#.to_string(),
        (false, quarks) => format!(r#""ports": [], {quarks}"#),
    };
    let document = format!(
        r#"{{"name": "demo", "releases": [{{"name": "r", "version": "1", "url": "x/y", "stemcell": {{"os": "o", "version": "1"}}}}],
            "instance_groups": [{{"name": "g", {} "jobs": [{{"name": "j", "release": "r", "properties": {{"quarks": {{{}}}}}}}]{comma} {}}}]}}"#,
        lacks("\"instances\"", "\"instances\": 1,"),
        quarks,
        case.group
    );
    let copies = case.bpm.iter().enumerate().map(|(index, processes)| BpmCopy {
        document_name: format!("bpm {index}"),
        instances: vec![index as u32],
        bpm: json::parse(&format!(r#"{{"processes": [{processes}]}}"#)).unwrap(),
    });
    let files = JobFiles {
        job: "j".into(),
        release: "r".into(),
        templates: case.templates.iter().map(ToString::to_string).collect(),
        monitored: true,
        bpm: copies.collect(),
        ..JobFiles::default()
    };
    let request = GroupRequest {
        deployment: Deployment {
            name: "demo".into(),
            namespace: "default".into(),
            cluster_domain: "cluster.local".into(),
            operator_image: "boson:1".into(),
            registry: None,
            spread: Spread::Total,
        },
        group: json::parse(&document).unwrap(),
        document_name: "m".into(),
        pointer: "/instance_groups/0".into(),
        jobs: vec![files],
        resolved_secret: "s".into(),
    };
    convert::group(
        &request,
        &json::parse(if case.settings.is_empty() { "{}" } else { case.settings }).unwrap(),
    )
}

/// The pod template's spec.
fn pod(case: Case<'_>) -> Tree {
    let (objects, _) = convert(case).unwrap_or_else(|reported| panic!("{reported:?}"));
    let workload = objects.last().unwrap();
    Pointer::parse("/spec/template/spec/template/spec")
        .unwrap()
        .find(workload)
        .unwrap()
        .clone()
}

fn at(tree: &Tree, pointer: &str) -> String {
    Pointer::parse(pointer)
        .unwrap()
        .find(tree)
        .map_or_else(|| "nothing".into(), json::to_text)
}

const P: &str = r#"{"name": "p", "executable": "/p"}"#;

#[test]
fn resources_come_from_quarks_then_bpm_then_the_vm() {
    let vm = r#""vm_resources": {"cpu": 3, "ram": 1000, "ephemeral_disk_size": 10}"#;
    let limited = r#"{"name": "p", "executable": "/p", "limits": {"memory": "100M", "cpu": "500m"}, "requests": {"memory": "1Mi"}}"#;
    for (case, expected) in [
        (
            Case {
                bpm: &[P],
                ..Case::default()
            },
            "nothing",
        ),
        (
            Case {
                group: vm,
                bpm: &[P],
                ..Case::default()
            },
            r#"{"limits":{"cpu":"3","memory":"1000Mi"},"requests":{"cpu":"3","memory":"1000Mi"}}"#,
        ),
        (
            Case {
                group: vm,
                bpm: &[r#"{"name": "p", "executable": "/p"}, {"name": "q", "executable": "/q"}"#],
                ..Case::default()
            },
            r#"{"limits":{"cpu":"3","memory":"1000Mi"},"requests":{"cpu":"1500m","memory":"500Mi"}}"#,
        ),
        (
            Case {
                bpm: &[limited],
                ..Case::default()
            },
            r#"{"limits":{"cpu":"500m","memory":"100Mi"},"requests":{"memory":"1Mi"}}"#,
        ),
        (
            Case {
                group: vm,
                quarks: r#""run": {"memory": 64, "virtual-cpus": 0.25}"#,
                bpm: &[limited],
                ..Case::default()
            },
            r#"{"limits":{"cpu":"0.25","memory":"64Mi"},"requests":{"cpu":"250m","memory":"1Mi"}}"#,
        ),
    ] {
        assert_eq!(at(&pod(case), "/containers/0/resources"), expected);
    }
}

#[test]
fn containers_run_as_vcap_unless_they_must_be_root() {
    let root = r#""runAsUser":0,"runAsGroup":0"#;
    let plain = r#""runAsNonRoot":true,"capabilities":{"drop":["ALL"]}"#;
    for (quarks, process, settings, expected) in [
        ("", "", "", format!(r#"{{"allowPrivilegeEscalation":false,{plain}}}"#)),
        (
            "",
            "",
            r#"{"uids": {"r": 2000}}"#,
            format!(r#"{{"allowPrivilegeEscalation":false,"runAsUser":2000,{plain}}}"#),
        ),
        (
            "",
            "",
            r#"{"uids": {"r": 0}}"#,
            r#"{"allowPrivilegeEscalation":false,"runAsUser":0}"#.into(),
        ),
        (
            r#""run": {"security_context": {"runAsUser": 0}}"#,
            "",
            "",
            r#"{"allowPrivilegeEscalation":false,"runAsUser":0}"#.into(),
        ),
        (
            r#""run": {"security_context": {"runAsNonRoot": false, "capabilities": {"add": ["B"]}}}"#,
            "",
            "",
            r#"{"allowPrivilegeEscalation":false,"runAsNonRoot":false,"capabilities":{"add":["B"]}}"#.into(),
        ),
        (
            "",
            r#", "capabilities": ["NET_RAW"]"#,
            "",
            format!(r#"{{"allowPrivilegeEscalation":false,{root},"capabilities":{{"add":["NET_RAW"]}}}}"#),
        ),
        (
            "",
            r#", "capabilities": ["SYS_ADMIN"]"#,
            "",
            format!(r#"{{{root},"capabilities":{{"add":["SYS_ADMIN"]}}}}"#),
        ),
        (
            r#""run": {"capabilities": ["KILL", "B"]}"#,
            r#", "capabilities": ["KILL"]"#,
            "",
            format!(r#"{{"allowPrivilegeEscalation":false,{root},"capabilities":{{"add":["KILL","B"]}}}}"#),
        ),
        (
            r#""run": {"security_context": {"runAsNonRoot": true}}"#,
            r#", "capabilities": ["NET_RAW"]"#,
            "",
            format!(r#"{{"allowPrivilegeEscalation":false,{plain}}}"#),
        ),
        (
            r#""run": {"security_context": {"runAsNonRoot": true}}"#,
            r#", "unsafe": {"privileged": true}"#,
            "",
            format!(r#"{{"allowPrivilegeEscalation":false,{plain}}}"#),
        ),
        (
            "",
            r#", "capabilities": ["KILL"], "unsafe": {"privileged": true}"#,
            "",
            format!(r#"{{"privileged":true,"seccompProfile":{{"type":"Unconfined"}},{root}}}"#),
        ),
        (
            r#""run": {"security_context": {"privileged": true, "runAsUser": 7}}"#,
            "",
            "",
            r#"{"privileged":true,"runAsUser":7}"#.into(),
        ),
    ] {
        let process = format!(r#"{{"name": "p", "executable": "/p"{process}}}"#);
        let pod = pod(Case {
            quarks,
            bpm: &[&process],
            settings,
            ..Case::default()
        });
        let mut context = json::parse(&at(&pod, "/containers/0/securityContext")).unwrap();
        if let Some(map) = context.as_object_mut() {
            map.retain(|_, value| *value != Tree::object());
        }
        assert_eq!(json::to_text(&context), expected);
        let expected =
            r#"{"runAsUser":1000,"runAsGroup":1000,"fsGroup":1000,"seccompProfile":{"type":"RuntimeDefault"}}"#;
        assert_eq!(at(&pod, "/securityContext"), expected);
    }
}

#[test]
fn privileges_of_a_job_without_root_are_reported() {
    let case = Case {
        quarks: r#""run": {"security_context": {"runAsNonRoot": true}}"#,
        bpm: &[r#"{"name": "p", "executable": "/p", "capabilities": ["NET_RAW"]}"#],
        ..Case::default()
    };
    let found = reported(case);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("bpm-dropped") && found[0].contains("'capabilities' of process 'p' has no effect"),
        "{found:?}"
    );
}

#[test]
fn scripts_may_do_what_the_processes_of_their_job_may_do() {
    let root = r#""runAsUser":0,"runAsGroup":0"#;
    let plain = r#"{"allowPrivilegeEscalation":false,"#;
    let other = r#"{"name": "o", "executable": "/o"}"#;
    let net_admin = r#"{"name": "q", "executable": "/q", "capabilities": ["NET_ADMIN", "KILL"]}"#;
    let privileged = r#"{"name": "r", "executable": "/r", "unsafe": {"privileged": true}}"#;
    let (more, no_root) = (
        r#""run": {"capabilities": ["KILL", "SYS_TIME"]}"#,
        r#""run": {"security_context": {"runAsNonRoot": true}}"#,
    );
    for (quarks, processes, expected) in [
        ("", [P, other], format!("{plain}{root}}}")),
        (
            "",
            [P, net_admin],
            format!(r#"{plain}"capabilities":{{"add":["NET_ADMIN","KILL"]}},{root}}}"#),
        ),
        (
            more,
            [P, net_admin],
            format!(r#"{plain}"capabilities":{{"add":["NET_ADMIN","KILL","SYS_TIME"]}},{root}}}"#),
        ),
        (
            "",
            [net_admin, privileged],
            format!(r#"{{"privileged":true,"seccompProfile":{{"type":"Unconfined"}},{root}}}"#),
        ),
        (
            no_root,
            [P, privileged],
            format!(r#"{plain}"runAsNonRoot":true,"capabilities":{{"drop":["ALL"]}}}}"#),
        ),
    ] {
        let pod = pod(Case {
            quarks,
            bpm: &[&processes.join(",")],
            templates: &["bin/pre-start", "bin/drain"],
            ..Case::default()
        });
        let containers = pod.items("initContainers");
        for name in ["bosh-pre-start-j", "bosh-scripts-j"] {
            let container = containers.iter().find(|one| one.str("name") == Some(name)).unwrap();
            assert_eq!(
                at(container, "/securityContext"),
                expected,
                "{name} {quarks} {processes:?}"
            );
        }
    }
    // `bin/run` of an errand is a script, too.
    let errand = Case {
        group: r#""lifecycle": "errand""#,
        quarks: more,
        templates: &["bin/run"],
        ..Case::default()
    };
    let expected = format!(r#"{plain}"capabilities":{{"add":["KILL","SYS_TIME"]}},{root}}}"#);
    assert_eq!(at(&pod(errand), "/containers/0/securityContext"), expected);
}

/// Of a list of containers or volumes, the one of this name.
fn named<'t>(tree: &'t Tree, list: &str, name: &str) -> Option<&'t Tree> {
    tree.items(list).iter().find(|one| one.str("name") == Some(name))
}

#[test]
fn an_inline_pre_start_runs_in_the_containers_of_processes_which_start_as_root() {
    let processes = r#"{"name": "p", "executable": "/p"}, {"name": "q,1", "executable": "/q"}"#;
    let case = Case {
        quarks: r#""debug": true, "run": {"pre_start": "inline"}"#,
        bpm: &[processes],
        templates: &["bin/pre-start"],
        ..Case::default()
    };
    let place = "m/instance_groups/0/jobs/0";
    let note = "The processes of job 'j' start as root, because its pre-start script runs inline";
    assert_eq!(reported(case), [format!("i bpm-pre-start {place} {note}")]);
    let inline = pod(case);
    assert!(named(&inline, "initContainers", "bosh-pre-start-j").is_none());
    let words = r#""--pre-starts","j/p,j/q%2C1","--wait-after-failure","3600"]"#;
    for index in ["0", "1"] {
        let command = at(&inline, &format!("/containers/{index}/command"));
        assert!(command.ends_with(words), "{command}");
        let context = at(&inline, &format!("/containers/{index}/securityContext"));
        let root = r#"{"allowPrivilegeEscalation":false,"runAsUser":0,"runAsGroup":0}"#;
        assert_eq!(context, root);
    }
    // The pod is not ready before the processes have started.
    let check = r#"{"exec":{"command":["/container-run/bin/container-run","ready","--job","j","--process","p"]},"periodSeconds":2,"failureThreshold":43200}"#;
    assert_eq!(at(&inline, "/containers/0/startupProbe"), check);
    let probed = Case {
        quarks: r#""run": {"pre_start": "inline", "healthcheck": {"p": {"readiness": {"tcpSocket": {"port": 1}}}}}"#,
        ..case
    };
    assert_eq!(at(&pod(probed), "/containers/0/startupProbe"), "nothing");
    // A script that needs no root.
    let no_root = Case {
        quarks: r#""run": {"pre_start": "inline", "security_context": {"runAsNonRoot": true}}"#,
        ..case
    };
    assert_eq!(reported(no_root), Vec::<String>::new());
    let context = r#"{"allowPrivilegeEscalation":false,"runAsNonRoot":true,"capabilities":{"drop":["ALL"]}}"#;
    assert_eq!(at(&pod(no_root), "/containers/0/securityContext"), context);
    let errand = Case {
        group: r#""lifecycle": "errand""#,
        bpm: &[],
        templates: &["bin/pre-start", "bin/run"],
        ..case
    };
    let command = at(&pod(errand), "/containers/0/command");
    let words = r#""--pre-starts","j/j","--wait-after-failure","3600"]"#;
    assert!(
        command.contains(r#","errand","--job","j","#) && command.ends_with(words),
        "{command}"
    );
    // The default.
    let container = Case {
        quarks: r#""run": {"pre_start": "container"}"#,
        ..case
    };
    assert_eq!(reported(container), Vec::<String>::new());
    assert_eq!(pod(container), pod(Case { quarks: "", ..case }));
}

#[test]
fn an_inline_pre_start_needs_a_script_and_a_process() {
    let place = "m/instance_groups/0/jobs/0";
    let run = r#""run": {"pre_start": "inline"}"#;
    let with = |templates, bpm| Case {
        quarks: run,
        bpm,
        templates,
        ..Case::default()
    };
    let warning = format!("w bpm-pre-start {place} Job 'j' has no pre-start script that could run inline");
    assert_eq!(reported(with(&[], &[P])), [warning]);
    let error =
        format!("E bpm-pre-start {place} The pre-start script of job 'j' cannot run inline: the job has no process");
    assert!(reported(with(&["bin/pre-start"], &[""])).contains(&error));
    let wrong = Case {
        quarks: r#""run": {"pre_start": "never", "writable_packages": ["a/b", 1, ".c", "d"]}"#,
        bpm: &[P],
        ..Case::default()
    };
    let run = format!("{place}/properties/quarks/run");
    let entry = "An entry of 'writable_packages' is not the name of a package";
    assert_eq!(
        reported(wrong),
        [
            format!("E bpm-bad-value {run}/pre_start 'pre_start' must be 'container' or 'inline'"),
            format!("E bpm-bad-value {run}/writable_packages/0 {entry}"),
            format!("E bpm-bad-value {run}/writable_packages/1 {entry}"),
            format!("E bpm-bad-value {run}/writable_packages/2 {entry}"),
        ]
    );
}

#[test]
fn writable_packages_are_copied_from_the_image_to_a_volume_of_all_containers() {
    let volume = r#""additional_volumes": [{"path": "/var/vcap/packages/tools/etc", "writable": true}]"#;
    let process = format!(r#"{{"name": "p", "executable": "/p", {volume}}}"#);
    let case = Case {
        quarks: r#""run": {"writable_packages": ["tools", "go-1.2", "tools"]}"#,
        bpm: &[&process],
        templates: &["bin/pre-start", "bin/drain"],
        ..Case::default()
    };
    assert_eq!(reported(case), Vec::<String>::new());
    let pod = pod(case);
    let names: Vec<&str> = pod
        .items("initContainers")
        .iter()
        .filter_map(|one| one.str("name"))
        .collect();
    assert_eq!(
        names[3..],
        [
            "template-render",
            "writable-package-copier-r",
            "bosh-pre-start-j",
            "bosh-scripts-j"
        ]
    );
    let copier = named(&pod, "initContainers", "writable-package-copier-r").unwrap();
    let paths = r#""/var/vcap/packages","/var/vcap/writable-packages""#;
    let command = format!(r#"["/container-run/bin/container-run","copy-packages",{paths},"tools","go-1.2"]"#);
    assert_eq!(
        (copier.str("image"), at(copier, "/command").as_str()),
        (Some("x/y/r:o-1-1"), command.as_str())
    );
    let root = r#"{"allowPrivilegeEscalation":false,"runAsUser":0,"runAsGroup":0}"#;
    assert_eq!(at(copier, "/securityContext"), root);
    assert!(named(&pod, "volumes", "writable-packages").is_some());
    let mount = r#"{"name":"writable-packages","mountPath":"/var/vcap/packages/tools","subPath":"tools"}"#;
    let containers = ["bosh-pre-start-j", "bosh-scripts-j"].map(|name| named(&pod, "initContainers", name));
    for container in containers.into_iter().flatten().chain(pod.items("containers").first()) {
        let mounts: Vec<String> = container.items("volumeMounts").iter().map(json::to_text).collect();
        assert!(mounts.contains(&mount.to_string()), "{mounts:?}");
    }
}

#[test]
fn pods_of_services_and_errands_have_kernel_parameters_by_name() {
    let sysctls = r#""run": {"sysctls": {"net.ipv4.tcp_syncookies": 1, "kernel/shm_rmid_forced": "0"}}"#;
    for group in ["", r#""lifecycle": "errand""#] {
        let case = Case {
            group,
            quarks: sysctls,
            bpm: &[P],
            ..Case::default()
        };
        assert_eq!(reported(case), Vec::<String>::new());
        let expected =
            r#"[{"name":"kernel.shm_rmid_forced","value":"0"},{"name":"net.ipv4.tcp_syncookies","value":"1"}]"#;
        assert_eq!(at(&pod(case), "/securityContext/sysctls"), expected);
    }
    let case = Case {
        quarks: r#""run": {"sysctls": {"kernel.sem": "1", "kernel/sem": "2"}}"#,
        bpm: &[P],
        ..Case::default()
    };
    let place = "m/instance_groups/0/jobs/0/properties/quarks/run/sysctls";
    let twice = "Job 'j' sets the sysctl 'kernel.sem' to different values";
    let found = reported(case);
    let errors: Vec<&String> = found.iter().filter(|one| one.starts_with('E')).collect();
    let expected = ["kernel.sem", "kernel~1sem"].map(|name| format!("E bpm-sysctl {place}/{name} {twice}"));
    assert_eq!(errors, expected.each_ref());
}

#[test]
fn packages_to_share_must_exist_in_the_group() {
    let case = |group, quarks| Case {
        group,
        quarks,
        bpm: &[P],
        ..Case::default()
    };
    let of_group = r#""env": {"bosh": {"agent": {"settings": {"sharePackages": ["x"]}}}}"#;
    let (place, missing) = (
        "m/instance_groups/0",
        "No job of instance group 'g' has the package 'x'",
    );
    let in_group = format!("E bpm-shared-package {place}/env/bosh/agent/settings/sharePackages/0 {missing}");
    let in_job = format!("{place}/jobs/0/properties/quarks/sharePackages");
    let wrong = "'sharePackages' must be `referenced`, `all`, `none` or a list of names of packages";
    for (group, quarks, expected) in [
        ("", r#""sharePackages": "all""#, vec![]),
        ("", r#""sharePackages": null"#, vec![]),
        (
            "",
            r#""sharePackages": ["x"]"#,
            vec![format!("E bpm-shared-package {in_job}/0 {missing}")],
        ),
        (
            "",
            r#""sharePackages": "some""#,
            vec![format!("E bpm-bad-value {in_job} {wrong}")],
        ),
        (of_group, "", vec![in_group]),
        // No job uses it.
        (of_group, r#""sharePackages": "none""#, vec![]),
    ] {
        assert_eq!(reported(case(group, quarks)), expected, "{group} {quarks}");
    }
}

#[test]
fn the_pod_of_a_job_that_needs_no_root_is_within_the_restricted_profile_and_all_its_containers_have_limits() {
    let process = r#"{"name": "p", "executable": "/p", "limits": {"memory": "100M", "cpu": "500m"}, "hooks": {"pre_start": "/h"}}"#;
    let with = |quarks| {
        pod(Case {
            quarks,
            bpm: &[process],
            templates: &["bin/pre-start", "bin/drain"],
            ..Case::default()
        })
    };
    let containers = |pod: &Tree| [pod.items("initContainers"), pod.items("containers")].concat();
    let restricted = with(r#""run": {"security_context": {"runAsNonRoot": true}}"#);
    let all = containers(&restricted);
    assert_eq!(all.len(), 7);
    for container in &all {
        let name = container.str("name").unwrap();
        for (pointer, expected) in [
            ("/securityContext/runAsNonRoot", "true"),
            ("/securityContext/allowPrivilegeEscalation", "false"),
            ("/securityContext/capabilities", r#"{"drop":["ALL"]}"#),
            ("/securityContext/runAsUser", "nothing"),
        ] {
            assert_eq!(at(container, pointer), expected, "{name} {pointer}");
        }
        for limit in ["cpu", "memory"] {
            assert_ne!(
                at(container, &format!("/resources/limits/{limit}")),
                "nothing",
                "{name}"
            );
        }
    }
    assert_eq!(at(&restricted, "/automountServiceAccountToken"), "false");
    let as_root = |pod: &Tree| -> Vec<String> {
        let all = containers(pod).into_iter();
        let root = all.filter(|one| at(one, "/securityContext/runAsUser") == "0");
        root.map(|one| one.str("name").unwrap().to_string()).collect()
    };
    // On a VM, root runs these.
    assert_eq!(
        as_root(&with("")),
        ["spec-copier-r", "bosh-pre-start-j", "bosh-scripts-j", "j-p"]
    );
}

#[test]
fn a_container_has_the_environment_that_only_kubernetes_knows_and_no_value_of_bpm() {
    let process = r#"{"name": "p", "executable": "/p", "env": {"LANG": "C", "PORT": 80, "PASSWORD": "s3cret"}, "args": ["--password", "s3cret"]}"#;
    let quarks = r#""envs": [{"name": "PORT", "value": "81"}, {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}, {"name": "URL", "value": "http://$(NODE)"}]"#;
    let pod = pod(Case {
        quarks,
        bpm: &[process],
        ..Case::default()
    });
    let env = Pointer::parse("/containers/0/env")
        .unwrap()
        .find(&pod)
        .unwrap()
        .as_array()
        .unwrap();
    let value = |entry: &Tree| entry.str("value").unwrap_or("...").to_string();
    let shown: Vec<String> = env
        .iter()
        .map(|entry| format!("{}={}", entry.str("name").unwrap(), value(entry)))
        .collect();
    let expected = [
        "POD_IP=...",
        "POD_ORDINAL=...",
        "AZ_INDEX=1",
        "REPLICAS=...",
        "NODE=...",
        "URL=http://$(NODE)",
    ];
    assert_eq!(shown, expected);
    let command = at(&pod, "/containers/0/command");
    for name in ["POD_IP", "REPLICAS", "KUBE_AZ", "NODE", "URL"] {
        assert!(command.contains(&format!(r#""--env","{name}""#)), "{name}: {command}");
    }
    // What may be a secret is in no workload, only in what the pod renders.
    for text in ["s3cret", "81", "LANG", "PORT"] {
        assert!(!json::to_text(&pod).contains(text), "{text}");
    }
}

#[test]
fn scaling_changes_the_numbers_of_pods_only() {
    for azs in ["", r#", "azs": ["a", "b", "c"]"#] {
        let template = |instances: u32| {
            let group = format!(r#""instances": {instances}{azs}"#);
            pod(Case {
                group: &group,
                bpm: &[P],
                ..Case::default()
            })
        };
        let one = template(1);
        for instances in 2..8 {
            assert_eq!(template(instances), one, "{instances}{azs}");
        }
    }
}

#[test]
fn pods_in_several_zones_need_an_image_that_counts_as_the_conversion_does() {
    for (azs, version) in [(r#"["a"]"#, "2"), (r#"["a", "b"]"#, "5")] {
        let group = format!(r#""instances": 1, "azs": {azs}"#);
        let pod = pod(Case {
            group: &group,
            bpm: &[P],
            ..Case::default()
        });
        let mut init = pod.items("initContainers").iter();
        let renderer = init.find(|one| one.str("name") == Some("template-render")).unwrap();
        let mut env = renderer.items("env").iter();
        let contract = env.find(|one| one.str("name") == Some("BOSON_POD_CONTRACT")).unwrap();
        assert_eq!(contract.str("value"), Some(version), "{azs}");
    }
}

#[test]
fn services_find_the_pods_of_their_instance() {
    let group = r#""instances": 4, "azs": ["a", "b", "c"]"#;
    let (objects, _) = convert(Case {
        group,
        bpm: &[P],
        ..Case::default()
    })
    .unwrap();
    let selected: Vec<String> = objects[..5]
        .iter()
        .map(|service| {
            let of = |key: &str| at(service, &format!("/spec/selector/{}", key.replace('/', "~1")));
            let (zone, pod) = (
                of("quarks.cloudfoundry.org/az-index"),
                of("apps.kubernetes.io/pod-index"),
            );
            format!(
                "{} {zone} {pod} {}",
                at(service, "/metadata/name"),
                at(service, "/spec/clusterIP")
            )
        })
        .collect();
    let expected = [
        r#""demo-g" nothing nothing "None""#,
        r#""demo-g-0" "0" "0" "None""#,
        r#""demo-g-1" "1" "0" "None""#,
        r#""demo-g-2" "2" "0" "None""#,
        r#""demo-g-3" "0" "1" "None""#,
    ];
    assert_eq!(selected, expected);
    let workload = objects.last().unwrap();
    assert_eq!(at(workload, "/spec/zoneReplicas"), "[2,1,1]");
    assert_eq!(at(workload, "/spec/template/spec/replicas"), "2");
    let quarks = r#""ports": [{"name": "Web_UI", "protocol": "udp", "internal": 53}, {"name": "web-ui", "protocol": "UDP", "internal": 53}]"#;
    let (objects, _) = convert(Case {
        quarks,
        bpm: &[P],
        ..Case::default()
    })
    .unwrap();
    let expected = r#"{"selector":{"quarks.cloudfoundry.org/deployment-name":"demo","quarks.cloudfoundry.org/instance-group-name":"g","quarks.cloudfoundry.org/az-index":"0","apps.kubernetes.io/pod-index":"0"},"ports":[{"name":"web-ui","protocol":"UDP","port":53,"targetPort":53}]}"#;
    assert_eq!(at(&objects[1], "/spec"), expected);
}

fn reported(case: Case<'_>) -> Vec<String> {
    let reported = convert(case).map_or_else(|reported| reported, |(_, diagnostics)| diagnostics);
    let severity = |one: &Diagnostic| match one.severity {
        Severity::Error => 'E',
        Severity::Warning => 'w',
        Severity::Info => 'i',
    };
    reported
        .iter()
        .map(|one| {
            format!(
                "{} {} {}{} {}",
                severity(one),
                one.code.name,
                one.document.as_deref().unwrap_or_default(),
                one.pointer_text(),
                one.message
            )
        })
        .collect()
}

#[test]
fn a_group_without_ports_is_reported_unless_a_job_declares_none() {
    let case = |quarks| Case {
        quarks,
        bpm: &[P],
        ..Case::default()
    };
    let warning = "w bpm-no-ports m/instance_groups/0 Instance group 'g' has no ports: its Services are headless";
    assert_eq!(reported(case(r#""ports": null"#)), [warning]);
    assert_eq!(reported(case(r#""ports": []"#)), Vec::<String>::new());
    assert_eq!(
        reported(case(r#""ports": [{"name": "a", "internal": 1}]"#)),
        Vec::<String>::new()
    );
    let errand = Case {
        group: r#""lifecycle": "errand""#,
        ..case(r#""ports": null"#)
    };
    assert_eq!(reported(errand), Vec::<String>::new());
}

#[test]
fn aliases_of_a_job_do_not_resolve_without_servers_and_that_is_reported() {
    let case = Case {
        bpm: &[P],
        templates: &["config/bpm.yml", "dns/aliases.json"],
        ..Case::default()
    };
    let warning = "w bpm-dns-files m/instance_groups/0/jobs/0 Aliases in 'dns/aliases.json' of job 'j' do not resolve";
    assert_eq!(reported(case), [warning]);
}

#[test]
fn instances_may_differ_in_all_that_does_not_shape_the_pod() {
    let a = r#"{"name": "p", "executable": "/p", "args": ["a"], "env": {"IP": "$(POD_IP)"}}"#;
    let b = r#"{"name": "p", "executable": "/p", "args": ["b"], "env": {"IP": "$(POD_IP)"}, "ephemeral_disk": true}"#;
    let case = Case {
        group: r#""instances": 3"#,
        bpm: &[a, b, b],
        ..Case::default()
    };
    let expected = [
        "E bpm-instances-differ bpm 1/processes/0/ephemeral_disk Job 'j', process 'p': 'ephemeral_disk' of bpm.yml differs between instances 0 and 1, 2",
    ];
    assert_eq!(reported(case), expected);
    let quarks = r#""bpm": {"processes": [{"name": "p", "args": ["c"], "ephemeral_disk": false}]}"#;
    assert_eq!(reported(Case { quarks, ..case }), Vec::<String>::new());
    let case = Case { bpm: &[a, ""], ..case };
    let expected = "E bpm-instances-differ bpm 1/processes Job 'j' does not have the same processes in its bpm.yml between instances 0 and 1";
    assert_eq!(reported(case), [expected]);
}

#[test]
fn what_bpm_would_refuse_is_refused() {
    let schema = "failed to parse job configuration:";
    for (process, expected) in [
        (r#"{"name": "p", "executable": "/p", "args": null, "limits": null, "hooks": null, "unsafe": null}"#, vec![]),
        (r#"{"executable": "/p"}"#, vec![format!("E bpm-schema bpm 0/processes/0 {schema} invalid config: name")]),
        (r#"{"name": "p"}"#, vec![format!("E bpm-schema bpm 0/processes/0 {schema} invalid config: executable")]),
        (
            r#"{"name": "p", "executable": ["/p"]}"#,
            vec![
                format!("E bpm-schema bpm 0/processes/0/executable {schema} yaml: unmarshal errors: cannot unmarshal !!seq into string"),
                format!("E bpm-schema bpm 0/processes/0 {schema} invalid config: executable"),
            ],
        ),
        (
            r#"{"name": "p", "executable": "/p", "limits": {"memory": 5}}"#,
            vec!["E bpm-schema bpm 0/processes/0/limits/memory byte quantity must be a positive integer with a unit of measurement like M, MB, MiB, G, GiB, or GB".into()],
        ),
        (r#"{"name": "p", "executable": "/p", "ephemeral_disk": "yes"}"#, vec![]),
        (
            r#"{"name": "p", "executable": "/p", "ephemeral_disk": "maybe"}"#,
            vec![format!("E bpm-schema bpm 0/processes/0/ephemeral_disk {schema} yaml: unmarshal errors: cannot unmarshal !!str into bool")],
        ),
        (r#"{"name": "p", "executable": "/p", "hooks": {}}"#, vec!["E bpm-schema bpm 0/processes/0/hooks prestart hook failed: exec: no command".into()]),
        (
            r#"{"name": "p", "executable": "/p", "persistent_disk": true}"#,
            vec!["E bpm-persistent-disk bpm 0/processes/0/persistent_disk job 'j' wants to use persistent disk but instance group 'g' doesn't have any persistent disk declaration".into()],
        ),
        (
            r#"{"name": "p", "executable": "/p", "workdir": "/$(POD_IP)"}"#,
            vec![],
        ),
        (
            r#"{"name": "p", "executable": "/p", "additional_volumes": [{"path": "/var/vcap/$(POD_IP)"}]}"#,
            vec!["E bpm-pod-ip bpm 0/processes/0 'spec.ip' cannot be used in volumes: the address of a pod is known only once it runs".into()],
        ),
        (
            r#"{"name": "p", "executable": "/p"}, {"name": "p", "executable": "/q"}"#,
            vec!["w bpm-unknown-bpm-key bpm 0/processes/1 Process 'p' is given twice: the second has no effect".into()],
        ),
        (
            r#"{"name": "a-b", "executable": "/p"}, {"name": "a_b", "executable": "/q"}"#,
            vec!["E bpm-name-conflict m/instance_groups/0/jobs process 'a-b' of job 'j' and process 'a_b' of job 'j' have the same container name 'j-a-b' in Kubernetes".into()],
        ),
    ] {
        assert_eq!(reported(Case { bpm: &[process], ..Case::default() }), expected, "{process}");
    }
}

#[test]
fn a_job_without_bpm_needs_it_unless_it_has_no_process() {
    let expected = "E bpm-no-information m/instance_groups/0/jobs/0 Job 'j' (instance group 'g') has processes but no bpm information";
    assert_eq!(reported(Case::default()), [expected]);
    let quarks = r#""bpm": {"processes": [{"name": "p", "executable": "/p"}]}"#;
    assert_eq!(
        reported(Case {
            quarks,
            ..Case::default()
        }),
        Vec::<String>::new()
    );
    let errand = Case {
        group: r#""lifecycle": "errand""#,
        templates: &["bin/run"],
        ..Case::default()
    };
    let command = at(&pod(errand), "/containers/0/command");
    let expected = r#"["/container-run/bin/container-run","errand","--job","j","--env","POD_IP","#;
    assert!(command.starts_with(expected), "{command}");
    assert_eq!(
        at(&pod(errand), "/containers/0/securityContext/runAsUser"),
        "0",
        "as in BOSH"
    );
    let expected = "E bpm-errand m/instance_groups/0/instances Instance group 'g' is an errand: 'instances' must be 1";
    assert_eq!(
        reported(Case {
            group: r#""lifecycle": "errand", "instances": 2"#,
            ..errand
        }),
        [expected]
    );
}

#[test]
fn pod_settings_are_copied() {
    let settings = r#"{"affinity": {"nodeAffinity": {}}, "tolerations": [{"operator": "Exists"}], "serviceAccountName": "me", "automountServiceAccountToken": false, "imagePullSecrets": [{"name": "a"}], "terminationGracePeriodSeconds": 5, "dns": "10.0.0.1", "labels": {"a": 1}, "annotations": {"quarks.cloudfoundry.org/wait-for": "[\"x\"]"}, "injectReplicasEnv": false}"#;
    let group = format!(r#""env": {{"bosh": {{"agent": {{"settings": {settings}}}}}}}"#);
    let case = Case {
        group: &group,
        bpm: &[P],
        ..Case::default()
    };
    let pod = pod(case);
    for (pointer, expected) in [
        ("/affinity", r#"{"nodeAffinity":{}}"#),
        ("/tolerations", r#"[{"operator":"Exists"}]"#),
        ("/serviceAccountName", r#""me""#),
        ("/automountServiceAccountToken", "false"),
        ("/imagePullSecrets", r#"[{"name":"a"}]"#),
        ("/terminationGracePeriodSeconds", "5"),
        ("/dnsPolicy", r#""None""#),
        ("/dnsConfig/nameservers", r#"["10.0.0.1"]"#),
        ("/containers/0/env/3/name", "nothing"),
    ] {
        assert_eq!(at(&pod, pointer), expected, "{pointer}");
    }
    let named = r#""env": {"bosh": {"agent": {"settings": {"serviceAccountName": "me"}}}}"#;
    let named = Case {
        group: named,
        bpm: &[P],
        ..Case::default()
    };
    assert_eq!(at(&self::pod(named), "/automountServiceAccountToken"), "nothing");
    let workload = convert(case).unwrap().0.pop().unwrap();
    assert_eq!(at(&workload, "/spec/injectReplicasEnv"), "false");
    assert_eq!(
        at(&workload, "/spec/template/spec/template/metadata/labels/a"),
        r#""1""#
    );
    let annotation = "/spec/template/spec/template/metadata/annotations/quarks.cloudfoundry.org~1wait-for";
    assert_eq!(at(&workload, annotation), r#""[\"x\"]""#);
    let bad = r#""env": {"bosh": {"agent": {"settings": {"labels": {"quarks.cloudfoundry.org/az-index": "1"}, "serviceAccountName": "A b", "dns": "here", "jobBackoffLimit": -1}}}}"#;
    assert_eq!(
        reported(Case {
            group: bad,
            bpm: &[P],
            ..Case::default()
        })
        .len(),
        4
    );
}

#[test]
fn pre_render_scripts_run_between_the_copies_and_rendering() {
    let scripts = r#""pre_render_scripts": {"bpm": ["one"], "ig_resolver": ["two"], "jobs": ["three", "sed -i s/a/b/ job.MF bpm.yml.erb"]}"#;
    let case = Case {
        quarks: scripts,
        bpm: &[P],
        ..Case::default()
    };
    let pod = pod(case);
    let names: Vec<&str> = pod
        .items("initContainers")
        .iter()
        .filter_map(|one| one.str("name"))
        .collect();
    assert_eq!(
        names,
        [
            "logs",
            "container-run-copier",
            "spec-copier-r",
            "pre-render-scripts",
            "pre-render-j",
            "template-render"
        ]
    );
    let [_, _, _, writer, runner, ..] = pod.items("initContainers") else {
        panic!("{names:?}")
    };
    assert_eq!(
        (writer.str("image"), runner.str("image")),
        (Some("boson:1"), Some("x/y/r:o-1-1"))
    );
    let plain = r#"{"allowPrivilegeEscalation":false,"runAsNonRoot":true,"capabilities":{"drop":["ALL"]}}"#;
    for (container, command) in [
        (writer, r#"["host","util","pre-render-scripts"]"#),
        (
            runner,
            r#"["/container-run/bin/container-run","pre-render","--job","j","--sources","/var/vcap/all-releases","--env","POD_IP","--env","POD_ORDINAL","--env","AZ_INDEX","--env","REPLICAS","--env","KUBE_AZ","--env","BOSH_AZ","--env","CF_OPERATOR_AZ"]"#,
        ),
    ] {
        assert_eq!(at(container, "/command"), command);
        assert_eq!(at(container, "/securityContext"), plain);
    }
    assert!(!json::to_text(&pod).contains("three"), "a script may hold secrets");
    let at = "w bpm-pre-render m/instance_groups/0/jobs/0/properties/quarks/pre_render_scripts";
    let (bpm, links) = (
        "the pod template comes from the unmodified bpm.yml of the release",
        "properties and links come from the unmodified job.MF of the release",
    );
    let diagnostic = |place: &str, what: &str| {
        format!("{at}/{place} The pre-render script changes job 'j' in its pods only: {what}")
    };
    let expected = [
        diagnostic("bpm/0", bpm),
        diagnostic("ig_resolver/0", links),
        diagnostic("jobs/1", bpm),
        diagnostic("jobs/1", links),
    ];
    assert_eq!(reported(case), expected);
    let wrong = Case {
        quarks: r#""pre_render_scripts": {"jobs": [{"run": "x"}]}"#,
        ..case
    };
    let expected = "E bpm-bad-value m/instance_groups/0/jobs/0/properties/quarks/pre_render_scripts/jobs/0 An entry of 'jobs' must be the text of a shell script";
    assert_eq!(reported(wrong), [expected]);
}

#[test]
fn a_job_that_uses_monits_port_gets_its_sidecar() {
    let with_volume = r#"{"name": "p", "executable": "/p", "additional_volumes": [{"path": "/var/vcap/bosh/etc", "mount_only": true}]}"#;
    let privileged = r#"{"name": "p", "executable": "/p", "unsafe": {"privileged": true}}"#;
    let (on, off) = (r#""monit_http": true"#, r#""monit_http": false"#);
    for (quarks, bpm, user) in [
        ("", P, None),
        (off, with_volume, None),
        ("", with_volume, Some("nothing")),
        (on, P, Some("nothing")),
        // Only root can connect to the sockets of a container that root runs.
        (on, privileged, Some("0")),
    ] {
        let pod = pod(Case {
            quarks,
            bpm: &[bpm],
            ..Case::default()
        });
        let containers = pod.items("initContainers").iter();
        let sidecar = containers.clone().find(|one| one.str("name") == Some("monit-http"));
        let found = sidecar.map(|sidecar| at(sidecar, "/securityContext/runAsUser"));
        assert_eq!(found.as_deref(), user, "{quarks} {bpm}");
        let Some(sidecar) = sidecar else { continue };
        assert_eq!(
            at(sidecar, "/command"),
            r#"["/container-run/bin/container-run","monit-http"]"#
        );
        assert_eq!(at(sidecar, "/restartPolicy"), r#""Always""#);
        // The directory is in a read-only mount of every container.
        let process = &pod.items("containers")[0];
        assert!(!at(process, "/volumeMounts").contains("/var/vcap/bosh/etc"));
    }
}

#[test]
fn a_job_with_handlers_or_an_address_of_bosh_dns_gets_a_server_in_its_pod() {
    let (on, off) = (r#""link_local_dns": true"#, r#""link_local_dns": false"#);
    let (address, port) = (r#""x": ["169.254.0.53"]"#, r#""x": "169.254.0.2:9001""#);
    for (quarks, templates, is_there) in [
        ("", &[][..], false),
        (on, &[][..], true),
        ("", &["dns/handlers.json"][..], true),
        (off, &["dns/handlers.json"][..], false),
        (address, &[][..], true),
        (port, &[][..], false),
    ] {
        let pod = pod(Case {
            quarks,
            templates,
            bpm: &[P],
            ..Case::default()
        });
        let containers = pod.items("initContainers").iter();
        let named = |name: &str| containers.clone().find(|one| one.str("name") == Some(name));
        let rendering = at(named("template-render").unwrap(), "/command");
        assert_eq!(rendering.contains("--pod-dns"), is_there, "{quarks} {templates:?}");
        let Some(sidecar) = named("pod-dns") else {
            assert!(!is_there, "{quarks} {templates:?}");
            continue;
        };
        assert_eq!(at(sidecar, "/command"), r#"["host","dns","pod"]"#);
        assert_eq!(at(sidecar, "/restartPolicy"), r#""Always""#);
        assert_eq!(at(sidecar, "/securityContext/capabilities"), r#"{"add":["NET_ADMIN"]}"#);
        // Only an image that knows the option and the command may run the pod.
        let env = at(named("template-render").unwrap(), "/env");
        assert!(env.contains(r#"{"name":"BOSON_POD_CONTRACT","value":"6"}"#), "{env}");
    }
}

#[test]
fn the_annotation_wait_for_becomes_init_containers() {
    let with = |annotation: &str| {
        let text = json::to_text(&Tree::from(annotation));
        format!(
            r#""env": {{"bosh": {{"agent": {{"settings": {{"annotations": {{"quarks.cloudfoundry.org/wait-for": {text}}}}}}}}}}}"#
        )
    };
    let group = with(r#"["other", "db.data"]"#);
    let case = Case {
        group: &group,
        bpm: &[P],
        templates: &["bin/pre-start"],
        ..Case::default()
    };
    let pod = pod(case);
    let containers = pod.items("initContainers");
    let names: Vec<&str> = containers.iter().filter_map(|one| one.str("name")).collect();
    assert_eq!(
        names[3..],
        [
            "template-render",
            "wait-for-other",
            "wait-for-db-data",
            "bosh-pre-start-j"
        ]
    );
    for (container, address) in [
        (&containers[4], "other.default.svc.cluster.local"),
        (&containers[5], "db.data.svc.cluster.local"),
    ] {
        assert_eq!(container.str("image"), Some("boson:1"));
        let command = format!(r#"["host","util","wait","--timeout","1800","{address}"]"#);
        assert_eq!(at(container, "/command"), command);
        assert_eq!(
            at(container, "/securityContext"),
            r#"{"allowPrivilegeEscalation":false,"runAsNonRoot":true,"capabilities":{"drop":["ALL"]}}"#
        );
    }
    let place = "m/instance_groups/0/env/bosh/agent/settings/annotations/quarks.cloudfoundry.org~1wait-for";
    for (annotation, why) in [
        ("other", "it is not JSON"),
        (r#"{"a": 1}"#, "it is not a JSON array"),
        ("[1]", "an item is not a string"),
        (
            r#"["A b"]"#,
            "an item is not the name of a Service, <service> or <service>.<namespace>",
        ),
    ] {
        let group = with(annotation);
        let wrong = Case {
            group: &group,
            bpm: &[P],
            ..Case::default()
        };
        let expected = format!(
            "E bpm-metadata {place} The annotation 'quarks.cloudfoundry.org/wait-for' is not a JSON list of names of Services: {why}"
        );
        assert_eq!(reported(wrong), [expected]);
    }
}
