//! Every key of the tables has the fate in its table: used without a message, ignored with a warning, or rejected.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use boson_bpm::convert;
use boson_bpm::request::{Deployment, DeploymentRequest, GroupRequest, JobFiles, Named};
use boson_document::{Diagnostic, Pointer, Severity, Tree, json};
use boson_manifest::instances::Spread;
use boson_manifest::schema::{Fate, GROUP, JOB, Key, MANIFEST, QUARKS};
use boson_manifest::types::Type;

type Convert = fn(&Tree) -> Vec<Diagnostic>;

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

const MINIMAL: &str = r#"{
    "name": "demo",
    "releases": [{"name": "r", "version": "1", "url": "example.org/x", "stemcell": {"os": "o", "version": "1"}}],
    "instance_groups": [{"name": "g", "instances": 1, "jobs": [{"name": "j", "release": "r", "properties": {"quarks": {}}}]}]
}"#;

fn of_manifest(document: &Tree) -> Vec<Diagnostic> {
    let request = DeploymentRequest {
        deployment: &deployment(),
        manifest: Named::new("m", document),
        variables: &[],
    };
    match convert::deployment(&request) {
        Ok((_, diagnostics)) | Err(diagnostics) => diagnostics,
    }
}

fn of_group(document: &Tree) -> Vec<Diagnostic> {
    let bpm = json::parse(r#"{"processes": [{"name": "p", "executable": "/p"}]}"#).unwrap();
    of_bpm(document, bpm)
}

fn of_bpm(document: &Tree, bpm: Tree) -> Vec<Diagnostic> {
    let copy = boson_bpm::request::BpmCopy {
        document_name: "b".into(),
        instances: vec![0],
        bpm,
    };
    let files = JobFiles {
        job: "j".into(),
        release: "r".into(),
        templates: vec!["config/bpm.yml".into()],
        monitored: true,
        bpm: vec![copy],
        ..JobFiles::default()
    };
    let request = GroupRequest {
        deployment: deployment(),
        group: document.clone(),
        document_name: "m".into(),
        pointer: "/instance_groups/0".into(),
        jobs: vec![files],
        resolved_secret: "s".into(),
    };
    match convert::group(&request, &Tree::object()) {
        Ok((_, diagnostics)) | Err(diagnostics) => diagnostics,
    }
}

/// A value of the right type; where a key is checked further, a good one.
fn sample(path: &str, kind: Type) -> Tree {
    let text = match path {
        "name" => r#""demo""#,
        "features.use_dns_addresses" => "true",
        "update.serial" => "false",
        "update.vm_strategy" => r#""delete-create""#,
        "update.initial_deploy_az_update_strategy" => r#""parallel""#,
        "update.canaries" | "update.max_in_flight" => "1",
        "update.canary_watch_time" | "update.update_watch_time" => r#""1000 - 2000""#,
        "lifecycle" => r#""service""#,
        "env.bosh.agent.settings.dns" => r#""10.0.0.10""#,
        "ports[].internal" => "80",
        "ports[].protocol" => r#""UDP""#,
        "run.healthcheck.*.readiness" => r#"{"exec": {"command": ["true"]}}"#,
        "azs" => r#"["z1"]"#,
        "releases[].stemcell" => r#"{"os": "o", "version": "1"}"#,
        "sharePackages" | "env.bosh.agent.settings.sharePackages" => r#""all""#,
        "releases[].credentials" => r#"{"username": "u", "password": "p"}"#,
        "vm_resources" => r#"{"cpu": 1, "ram": 1, "ephemeral_disk_size": 1}"#,
        "jobs" if kind == Type::Array => r#"[{"name": "j", "release": "r"}]"#,
        _ if path.starts_with("features.") => "true",
        _ => match kind {
            Type::String => r#""x""#,
            Type::Integer | Type::Number => "1",
            Type::Boolean => "true",
            Type::Hash | Type::Any => "{}",
            Type::Array => "[]",
        },
    };
    json::parse(text).unwrap()
}

/// What must be beside a key.
fn siblings(path: &str) -> &'static [(&'static str, &'static str)] {
    match path {
        "persistent_disk_type" => &[("/persistent_disk", "1")],
        _ if path.starts_with("vm_resources.") => {
            &[("/vm_resources", r#"{"cpu": 1, "ram": 1, "ephemeral_disk_size": 1}"#)]
        }
        _ if path.starts_with("stemcells[].") => &[("/stemcells", r#"[{"alias": "x", "os": "o", "version": "1"}]"#)],
        _ if path.starts_with("releases[].credentials.") => {
            &[("/releases/0/credentials", r#"{"username": "u", "password": "p"}"#)]
        }
        _ if path.starts_with("ports[].") => &[("/ports", r#"[{"name": "x", "internal": 81}]"#)],
        _ if path.starts_with("addons[].") => &[("/addons", r#"[{"name": "a"}]"#)],
        _ => &[],
    }
}

/// Puts a value at a table's path: `[]` is the first item, `*` some name.
fn put(tree: &mut Tree, root: &Pointer, path: &str, value: Tree) -> Pointer {
    let path = path
        .replace("run.healthcheck.*", "run.healthcheck.p")
        .replace('*', "something");
    let tokens = path.split('.').flat_map(|token| match token.strip_suffix("[]") {
        Some(name) => vec![name.to_string(), "0".to_string()],
        None => vec![token.to_string()],
    });
    let at = root.join(&tokens.collect::<Vec<_>>());
    insert(tree, at.tokens(), value);
    at
}

fn insert(tree: &mut Tree, tokens: &[String], value: Tree) {
    let Some((first, rest)) = tokens.split_first() else {
        *tree = value;
        return;
    };
    let next = match (first.parse::<usize>(), &mut *tree) {
        (Ok(index), Tree::Array(items)) => {
            if items.len() <= index {
                items.push(Tree::object());
            }
            &mut items[index]
        }
        _ => {
            if tree.get(first).is_none() {
                let list = rest.first().is_some_and(|token| token == "0");
                tree.set(
                    first.clone(),
                    if list { Tree::Array(Vec::new()) } else { Tree::object() },
                );
            }
            tree.get_mut(first).unwrap()
        }
    };
    insert(next, rest, value);
}

fn check(table: &[Key], root: &str, convert: Convert) {
    for key in table {
        let mut document = json::parse(MINIMAL).unwrap();
        let root = Pointer::parse(root).unwrap();
        for (pointer, value) in siblings(key.path) {
            let at = root.join(Pointer::parse(pointer).unwrap().tokens());
            insert(&mut document, at.tokens(), json::parse(value).unwrap());
        }
        let at = put(&mut document, &root, key.path, sample(key.path, key.kind)).to_string();
        let reported: Vec<Diagnostic> = convert(&document)
            .into_iter()
            .filter(|one| one.pointer_text() == at)
            .collect();
        let severities: Vec<Severity> = reported.iter().map(|one| one.severity).collect();
        let expected = match key.fate {
            Fate::Used => vec![],
            Fate::Warned(_) => vec![Severity::Warning],
            Fate::Refused(_) => vec![Severity::Error],
        };
        assert_eq!(
            severities,
            expected,
            "{} at {at}: {reported:?}\n{}",
            key.path,
            json::to_text(&document)
        );
    }
}

#[test]
fn keys_of_the_manifest_have_their_fates() {
    check(MANIFEST, "", of_manifest);
}

#[test]
fn keys_of_groups_have_their_fates() {
    check(GROUP, "/instance_groups/0", of_group);
}

#[test]
fn keys_of_jobs_have_their_fates() {
    check(JOB, "/instance_groups/0/jobs/0", of_manifest);
    check(QUARKS, "/instance_groups/0/jobs/0/properties/quarks", of_manifest);
}

#[test]
fn values_of_the_wrong_type_have_boshs_words() {
    let cases: [(&str, Convert, &str); 8] = [
        (
            "/releases/0/url",
            of_manifest,
            "Property 'url' value (nil) did not match the required type 'String'",
        ),
        (
            "/stemcells",
            of_manifest,
            "Property 'stemcells' value (nil) did not match the required type 'Array'",
        ),
        (
            "/stemcells/0",
            of_manifest,
            "Object (nil) did not match the required type 'Hash'",
        ),
        (
            "/features",
            of_manifest,
            "Property 'features' value (nil) did not match the required type 'Hash'",
        ),
        (
            "/features/converge_variables",
            of_manifest,
            "Key 'converge_variables' in 'features' expected to be a boolean, but received 'NilClass'",
        ),
        (
            "/instance_groups/0/instances",
            of_group,
            "Property 'instances' value (nil) did not match the required type 'Integer'",
        ),
        (
            "/instance_groups/0/update/serial",
            of_group,
            "Property 'serial' value (nil) did not match the required type 'boolean'",
        ),
        (
            "/instance_groups/0/jobs/0/properties/quarks",
            of_manifest,
            "Object (nil) did not match the required type 'Hash'",
        ),
    ];
    for (pointer, convert, message) in cases {
        let mut document = json::parse(MINIMAL).unwrap();
        insert(&mut document, Pointer::parse(pointer).unwrap().tokens(), Tree::Null);
        let reported = convert(&document);
        let found = reported
            .iter()
            .any(|one| one.pointer_text() == pointer && one.message == message && one.severity == Severity::Error);
        assert!(found, "{pointer}: {reported:?}");
    }
}

#[test]
fn required_keys_and_unknown_keys_are_reported() {
    let reported =
        of_manifest(&json::parse(r#"{"name": "demo", "manifest_version": "v1", "stemcells": [{}]}"#).unwrap());
    let messages: Vec<&str> = reported.iter().map(|one| one.message.as_str()).collect();
    assert!(
        messages.contains(&"Key 'manifest_version' is not known and has no effect"),
        "{messages:?}"
    );
    assert!(
        messages.contains(&"Required property 'alias' was not specified in object ({})"),
        "{messages:?}"
    );
}

/// BOSH's schema of manifests, key by key, and what becomes of each; `!` where it is required (a name of the deployment
/// can be given elsewhere). Written down apart from the tables, from the documentation and the director's parsers.
const SCHEMA: &[(&[Key], &str)] = &[
    (
        MANIFEST,
        "used: name features releases! releases[].name! releases[].version! releases[].url releases[].stemcell releases[].stemcell.os! \
         releases[].stemcell.version! releases[].credentials releases[].credentials.username! releases[].credentials.password! stemcells \
         stemcells[].alias! stemcells[].os stemcells[].version! update update.canaries update.max_in_flight update.canary_watch_time \
         update.update_watch_time update.serial update.vm_strategy instance_groups addons addons[].name! addons[].jobs addons[].properties addons[].include \
         addons[].exclude variables variables[].name variables[].type variables[].options variables[].consumes variables[].update_mode tags \
         features.use_dns_addresses features.converge_variables \
         warned: director_uuid features.use_short_dns_addresses features.use_link_dns_names features.randomize_az_placement \
         features.use_tmpfs_config releases[].sha1 releases[].exported_from stemcells[].name \
         update.initial_deploy_az_update_strategy variables[].update \
         refused: properties vm_types azs disk_types compilation networks disk_pools jobs resource_pools",
    ),
    (
        GROUP,
        "used: networks name! instances! lifecycle jobs azs vm_resources vm_resources.cpu! vm_resources.ram! vm_resources.ephemeral_disk_size! stemcell \
         persistent_disk persistent_disk_type update update.canaries update.max_in_flight update.canary_watch_time update.update_watch_time \
         update.serial update.vm_strategy env env.bosh env.bosh.agent env.bosh.agent.settings tags env.bosh.agent.settings.affinity \
         env.bosh.agent.settings.labels env.bosh.agent.settings.annotations env.bosh.agent.settings.tolerations \
         env.bosh.agent.settings.imagePullSecrets env.bosh.agent.settings.serviceAccountName \
         env.bosh.agent.settings.automountServiceAccountToken env.bosh.agent.settings.disable_log_sidecar \
         env.bosh.agent.settings.ephemeralAsPVC env.bosh.agent.settings.disks env.bosh.agent.settings.jobBackoffLimit \
         env.bosh.agent.settings.injectReplicasEnv env.bosh.agent.settings.terminationGracePeriodSeconds env.bosh.agent.settings.dns \
         env.bosh.agent.settings.preRenderOps env.bosh.agent.settings.preRenderOps.bpm env.bosh.agent.settings.preRenderOps.instanceGroup \
         env.bosh.agent.settings.sharePackages \
         warned: vm_type vm_extensions migrated_from env.persistent_disk_fs env.persistent_disk_mount_options env.bosh.password \
         env.bosh.keep_root_password env.bosh.remove_dev_tools env.bosh.remove_static_libraries env.bosh.swap_size env.bosh.ipv6 \
         env.bosh.job_dir env.bosh.agent.other state instance_states update.initial_deploy_az_update_strategy \
         refused: properties persistent_disks template templates resource_pool persistent_disk_pool",
    ),
    (
        JOB,
        "used: name! release! properties consumes provides custom_provider_definitions",
    ),
    (
        QUARKS,
        "used: ports ports[].name! ports[].protocol ports[].internal! run run.healthcheck run.healthcheck.* run.healthcheck.*.readiness \
         run.healthcheck.*.liveness run.healthcheck.*.startup run.capabilities run.memory run.virtual-cpus run.security_context run.sysctls \
         run.pre_start run.writable_packages bpm envs post_start post_start.condition activePassiveProbes debug consumes instances monit monit_http link_local_dns pre_render_scripts \
         pre_render_scripts.bpm pre_render_scripts.ig_resolver pre_render_scripts.jobs sharePackages warned: run.scaling",
    ),
];

/// The row for a path: its own, or one whose last name is `*`.
fn row(table: &'static [Key], path: &str) -> Option<&'static Key> {
    let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
    let exact = table.iter().find(|key| key.path == path);
    exact.or_else(|| table.iter().find(|key| key.path == format!("{parent}.*")))
}

#[test]
fn no_key_of_boshs_schema_is_without_a_row() {
    for (table, rows) in SCHEMA {
        let mut fate = "";
        for word in rows.split_whitespace() {
            if let Some(next) = word.strip_suffix(':') {
                fate = next;
                continue;
            }
            let path = word.trim_end_matches('!');
            let key = row(table, path).unwrap_or_else(|| panic!("{path} is missing"));
            let found = match key.fate {
                Fate::Used => "used",
                Fate::Warned(_) => "warned",
                Fate::Refused(_) => "refused",
            };
            assert_eq!((found, key.required), (fate, word.ends_with('!')), "{path}");
        }
    }
}

/// Every key of bpm.yml with a value that has an effect, and whether it is dropped with a warning.
const BPM: &[(&str, &str, bool)] = &[
    ("name", r#""q""#, false),
    ("executable", r#""/x""#, false),
    ("args", r#"["a", 1]"#, false),
    ("env", r#"{"A": "b"}"#, false),
    ("workdir", r#""/var/vcap""#, false),
    ("hooks/pre_start", r#""/hook""#, false),
    ("capabilities", r#"["NET_BIND_SERVICE"]"#, false),
    ("limits/memory", r#""1G""#, false),
    ("limits/cpu", r#""500m""#, false),
    ("limits/open_files", "1024", false),
    ("limits/processes", "10", true),
    ("limits/core_file_size", "1", false),
    ("requests", r#"{"memory": "1Mi"}"#, false),
    ("ephemeral_disk", "true", false),
    ("persistent_disk", "true", false),
    ("additional_volumes/0/path", r#""/var/vcap/data/x""#, false),
    ("additional_volumes/0/writable", "true", false),
    ("additional_volumes/0/allow_executions", "true", false),
    ("additional_volumes/0/mount_only", "true", true),
    ("additional_volumes/0/shared", "true", true),
    ("unsafe/privileged", "true", false),
    ("unsafe/unrestricted_volumes/0/path", r#""/var/vcap/data/y""#, false),
    ("unsafe/unrestricted_volumes/0/mount_only", "true", true),
    ("unsafe/host_pid_namespace", "true", true),
    ("shutdown_signal", r#""TERM""#, false),
    ("shutdown_signal", r#""INT""#, false),
    ("bogus", "1", true),
    ("limits/bogus", "1", true),
    ("unsafe/bogus", "1", true),
    ("hooks/bogus", "1", true),
    ("additional_volumes/0/bogus", "1", true),
];

#[test]
fn every_key_of_bpm_yml_has_an_effect_or_a_warning_at_its_place() {
    for (path, value, warned) in BPM {
        let mut bpm = json::parse(r#"{"processes": [{"name": "p", "executable": "/p"}]}"#).unwrap();
        let mut document = json::parse(MINIMAL).unwrap();
        document.get_mut("instance_groups").unwrap().as_array_mut().unwrap()[0].set("persistent_disk", 1_i64);
        if path.contains("volumes/0/") && !path.ends_with("path") {
            let at = format!("/processes/0/{}/path", path.rsplit_once('/').unwrap().0);
            insert(
                &mut bpm,
                Pointer::parse(&at).unwrap().tokens(),
                "/var/vcap/data/z".into(),
            );
        }
        if path.starts_with("hooks/b") {
            insert(
                &mut bpm,
                Pointer::parse("/processes/0/hooks/pre_start").unwrap().tokens(),
                "/h".into(),
            );
        }
        let at = format!("/processes/0/{path}");
        insert(
            &mut bpm,
            Pointer::parse(&at).unwrap().tokens(),
            json::parse(value).unwrap(),
        );
        let reported = of_bpm(&document, bpm);
        let errors: Vec<_> = reported.iter().filter(|one| one.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{path}: {errors:?}");
        let here = reported
            .iter()
            .filter(|one| one.document.as_deref() == Some("b") && one.pointer_text() == at)
            .count();
        assert_eq!(here, usize::from(*warned), "{path}: {reported:?}");
    }
}
