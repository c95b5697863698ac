//! Large and malformed input: answered in time that grows with its size, without a panic.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use boson_bpm::convert;
use boson_bpm::request::{BpmCopy, Deployment, DeploymentRequest, GroupRequest, JobFiles, Named};
use boson_document::{Tree, json};
use boson_manifest::instances::Spread;
use rustix::time::{ClockId, clock_gettime};

fn deployment() -> Deployment {
    Deployment {
        name: "demo".into(),
        namespace: "default".into(),
        cluster_domain: "cluster.local".into(),
        operator_image: "boson:1".into(),
        registry: None,
        spread: Spread::Total,
    }
}

fn request(group: &str, bpm: &str) -> GroupRequest {
    let document = format!(
        r#"{{"name": "demo", "releases": [{{"name": "r", "version": "1", "url": "x/y", "stemcell": {{"os": "o", "version": "1"}}}}],
            "instance_groups": [{group}]}}"#
    );
    let copy = BpmCopy {
        document_name: "b".into(),
        instances: vec![0],
        bpm: json::parse(bpm).unwrap(),
    };
    let files = JobFiles {
        job: "j".into(),
        release: "r".into(),
        templates: vec!["config/bpm.yml".into()],
        monitored: true,
        bpm: vec![copy],
        ..JobFiles::default()
    };
    GroupRequest {
        deployment: deployment(),
        group: json::parse(&document).unwrap(),
        document_name: "m".into(),
        pointer: "/instance_groups/0".into(),
        jobs: vec![files],
        resolved_secret: "s".into(),
    }
}

fn many(count: usize, entry: impl Fn(usize) -> String) -> String {
    (0..count).map(entry).collect::<Vec<_>>().join(",")
}

/// Requests that are `size` large in one respect each.
fn large(size: usize) -> Vec<GroupRequest> {
    let group = |quarks: String| {
        format!(
            r#"{{"name": "g", "instances": 1, "jobs": [{{"name": "j", "release": "r", "properties": {{"quarks": {{{quarks}}}}}}}]}}"#
        )
    };
    let process = |rest: String| format!(r#"{{"processes": [{{"name": "p", "executable": "/p", {rest}}}]}}"#);
    let volumes = many(size, |n| format!(r#"{{"path": "/var/vcap/other/{n}"}}"#));
    let ports = many(size, |n| {
        format!(r#"{{"name": "p{n}", "internal": {}}}"#, n % 60_000 + 1)
    });
    let env = many(size, |n| format!(r#""E{n}": {n}"#));
    let processes = many(size, |n| format!(r#"{{"name": "p{n}", "executable": "/p"}}"#));
    let given = format!(r#""bpm": {{"processes": [{processes}]}}"#);
    vec![
        request(
            &group(String::new()),
            &process(format!(r#""additional_volumes": [{volumes}]"#)),
        ),
        request(
            &group(format!(r#""ports": [{ports}]"#)),
            &process(r#""args": []"#.into()),
        ),
        request(&group(String::new()), &process(format!(r#""env": {{{env}}}"#))),
        request(&group(given), &format!(r#"{{"processes": [{processes}]}}"#)),
    ]
}

#[test]
fn time_grows_with_size() {
    for (small, big) in large(500).into_iter().zip(large(4_000)) {
        // Of this thread, and the best of some: others use the machine too.
        let time = |request: &GroupRequest| {
            let once = |_| {
                let start = processor_seconds();
                let _ = convert::group(request, &Tree::object());
                processor_seconds() - start
            };
            (0..3).map(once).fold(f64::MAX, f64::min)
        };
        let (small, big) = (time(&small).max(0.002), time(&big));
        // Eight times the input; sixty-four times the work would be quadratic.
        assert!(big < small * 40.0, "{small} s, then {big} s");
    }
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[test]
fn counts_are_bounded() {
    for instances in ["1000000000", "99999999999999999999", "-1", "1001"] {
        let group = format!(r#"{{"name": "g", "instances": {instances}, "jobs": [{{"name": "j", "release": "r"}}]}}"#);
        let reported = convert::group(&request(&group, "{}"), &Tree::object()).unwrap_err();
        assert!(
            reported
                .iter()
                .any(|one| one.pointer_text() == "/instance_groups/0/instances"),
            "{instances}: {reported:?}"
        );
    }
    let groups = many(50, |n| {
        format!(r#"{{"name": "g{n}", "instances": 4000000000, "azs": ["a", "b"]}}"#)
    });
    let document = format!(r#"{{"name": "demo", "releases": [], "instance_groups": [{groups}]}}"#);
    let reply = convert::deployment(&DeploymentRequest {
        deployment: &deployment(),
        manifest: Named::new("m", &json::parse(&document).unwrap()),
        variables: &[],
    });
    assert!(reply.is_ok());
}

#[test]
fn no_shape_panics() {
    let shapes = [
        "null",
        "[]",
        "{}",
        "7",
        "\"x\"",
        "true",
        r#"[null]"#,
        r#"[[]]"#,
        r#"{"\u0000": ".inf"}"#,
        r#"{"\u00007": 1}"#,
    ];
    let group_keys = [
        "name",
        "instances",
        "jobs",
        "azs",
        "lifecycle",
        "env",
        "update",
        "vm_resources",
        "persistent_disk",
        "tags",
        "stemcell",
    ];
    let bpm_keys = [
        "name",
        "executable",
        "args",
        "env",
        "workdir",
        "hooks",
        "limits",
        "capabilities",
        "unsafe",
        "additional_volumes",
        "requests",
    ];
    for shape in shapes {
        let _ = convert::group(&request(shape, shape), &Tree::object());
        for key in group_keys {
            let group = format!(
                r#"{{"name": "g", "instances": 1, "jobs": [{{"name": "j", "release": "r"}}], "{key}": {shape}}}"#
            );
            let _ = convert::group(&request(&group, shape), &Tree::Null);
        }
        for key in bpm_keys {
            let bpm = format!(r#"{{"processes": [{{"name": "p", "executable": "/p", "{key}": {shape}}}, {shape}]}}"#);
            let group = format!(
                r#"{{"name": "g", "instances": 1, "jobs": [{{"name": "j", "release": "r", "properties": {{"quarks": {{"{key}": {shape}, "bpm": {bpm}, "run": {shape}, "ports": {shape}}}}}}}]}}"#
            );
            let _ = convert::group(&request(&group, &bpm), &Tree::object());
        }
        let manifest = format!(
            r#"{{"name": "demo", "releases": {shape}, "stemcells": {shape}, "features": {shape}, "update": {shape}, "tags": {shape}, "instance_groups": {shape}, "addons": {shape}}}"#
        );
        for document in [shape, manifest.as_str()] {
            let _ = convert::deployment(&DeploymentRequest {
                deployment: &deployment(),
                manifest: Named::new("m", &json::parse(document).unwrap()),
                variables: &[],
            });
        }
    }
}
