use super::*;
use crate::yaml;

const MANIFEST: &str = "\
name: cf
releases: [{name: app, version: 1.0}]
tags: {team: ours}
addons: [{name: own, jobs: [{name: probe, release: app}]}]
instance_groups:
- {name: web, azs: [z1], stemcell: default, jobs: [{name: web, release: app}]}
- {name: db, azs: ((azs)), jobs: [{name: db, release: app}]}
stemcells: [{alias: default, os: ubuntu-jammy, version: 1}]
";

struct Done {
    manifest: Tree,
    sources: Sources,
    warnings: Vec<Diagnostic>,
}

fn combined(configs: &[&str]) -> Result<Done, Vec<Diagnostic>> {
    let manifest = yaml::read("m.yml", MANIFEST).unwrap();
    let mut sources = Sources::default();
    sources.add_document(manifest.clone(), false);
    let read = |(index, text): (usize, &&str)| yaml::read(&format!("rc{index}.yml"), text).unwrap();
    let configs: Vec<Document> = configs.iter().enumerate().map(read).collect();
    for config in &configs {
        sources.add_document(config.clone(), false);
    }
    let (manifest, warnings) = combine(Named::new("m.yml", &manifest.tree), "cf", &configs, &mut sources)?;
    Ok(Done {
        manifest,
        sources,
        warnings,
    })
}

fn names(manifest: &Tree, key: &str) -> Vec<String> {
    let named = manifest.items(key).iter();
    named
        .map(|one| one.str("name").unwrap_or_default().to_string())
        .collect()
}

/// How many addons come from runtime configs.
fn added(manifest: &Tree) -> i64 {
    manifest.get(RUNTIME_CONFIG).map_or(0, |added| count(added, "addons"))
}

/// Documents and messages of the errors.
fn errors(configs: &[&str]) -> Vec<(String, String)> {
    let errors = combined(configs).err().unwrap_or_default().into_iter();
    errors
        .map(|one| (one.place.document.unwrap_or_default(), one.message))
        .collect()
}

/// A runtime config with one addon.
fn config(release: &str, version: &str, filters: &str) -> String {
    format!(
        "releases: [{{name: {release}, version: {version}}}]\naddons: [{{name: a-{release}, jobs: [{{name: agent, release: {release}}}]{filters}}}]\n"
    )
}

#[test]
fn addons_follow_those_of_the_manifest_and_keep_their_places() {
    let first = config("one", "1.1", "");
    let second = format!(
        "{}variables: [{{name: word, type: password}}]\n",
        config("two", "\"2\"", "")
    );
    let done = combined(&[&first, &second]).unwrap();
    assert_eq!(names(&done.manifest, "addons"), ["own", "a-one", "a-two"]);
    assert_eq!(names(&done.manifest, "releases"), ["app", "one", "two"]);
    assert_eq!(names(&done.manifest, "variables"), ["word"]);
    assert_eq!(added(&done.manifest), 2);
    for (pointer, wanted) in [
        ("/addons/2/jobs/0/release", ("rc1.yml", 2)),
        ("/releases/1/version", ("rc0.yml", 1)),
        ("/variables/0/type", ("rc1.yml", 3)),
        ("/addons/0/name", ("m.yml", 4)),
    ] {
        let about = Diagnostic::reported_error("x", "y").in_document("m.yml").at(pointer);
        let found = done.sources.locate(&about.place);
        assert_eq!(
            (found.file.as_deref(), found.line),
            (Some(wanted.0), Some(wanted.1)),
            "{pointer}"
        );
    }
}

#[test]
fn only_what_may_apply_is_added() {
    for (filters, applies) in [
        (", include: {deployments: [cf]}", true),
        (", include: {deployments: [other]}", false),
        (", exclude: {deployments: [cf]}", false),
        (", include: {stemcell: [{os: windows2019}]}", false),
        (", include: {stemcell: [{os: ubuntu-jammy}]}", true),
        // The zones of one group are a variable.
        (", include: {azs: [z9]}", true),
        (", include: {azs: [z9], instance_groups: [web]}", false),
        (", include: {jobs: [{name: probe, release: app}]}", true),
        (", include: {lifecycle: errand}", false),
    ] {
        let done = combined(&[&config("one", "1", filters)]).unwrap();
        assert_eq!(done.manifest.items("addons").len() == 2, applies, "{filters}");
        assert_eq!(done.manifest.items("releases").len() == 2, applies, "{filters}");
        assert_eq!(added(&done.manifest) == 1, applies, "{filters}");
    }
}

#[test]
fn a_release_has_one_version() {
    let message = |name: &str, version: &str, other: &str| {
        format!(
            "Runtime manifest specifies release '{name}' with version as '{version}'. This conflicts with version '{other}' specified in the deployment manifest."
        )
    };
    let same = config("app", "\"1.0\"", "");
    assert_eq!(errors(&[&same]), []);
    assert_eq!(names(&combined(&[&same]).unwrap().manifest, "releases"), ["app"]);
    let other = config("app", "\"2.0\"", "");
    assert_eq!(errors(&[&other]), [("rc0.yml".into(), message("app", "2.0", "1.0"))]);
    // Its addon does not apply, so its release does not either.
    assert_eq!(
        errors(&[&config("app", "\"2.0\"", ", include: {deployments: [x]}")]),
        []
    );
    let (first, second) = (config("one", "1", ""), config("one", "2", ""));
    assert_eq!(
        errors(&[&first, &second]),
        [("rc1.yml".into(), message("one", "2", "1"))]
    );
    assert_eq!(errors(&[&config("app", "((version))", "")]), []);
    let latest = config("one", "2.latest", "");
    let words = "Runtime manifest contains the release 'one' with version as '2.latest'. Please specify the actual version string.";
    assert_eq!(errors(&[&latest]), [("rc0.yml".into(), words.into())]);
    let unlisted = "addons: [{name: a, jobs: [{name: j, release: app}]}]";
    let words = "Manifest specifies job 'j' which is defined in 'app', but 'app' is not listed in the runtime releases section.";
    assert_eq!(errors(&[unlisted]), [("rc0.yml".into(), words.into())]);
}

#[test]
fn tags_of_the_manifest_override_those_of_one_runtime_config() {
    let done = combined(&["tags: {team: theirs, cost: center}"]).unwrap();
    let tags = Tree::object().with("team", "ours").with("cost", "center");
    assert_eq!(done.manifest.get("tags"), Some(&tags));
    let words = "Runtime config 'tags' key cannot be defined in multiple runtime configs. 'rc0.yml' has it, too";
    assert_eq!(
        errors(&["tags: {a: b}", "tags: {}"]),
        [("rc1.yml".into(), words.into())]
    );
}

#[test]
fn other_shapes_are_refused() {
    for (config, message) in [
        ("- a", "Object (...) did not match the required type 'Hash'"),
        (
            "addons: {}",
            "Property 'addons' value (...) did not match the required type 'Array'",
        ),
        (
            "tags: [a]",
            "Property 'tags' value (...) did not match the required type 'Hash'",
        ),
        (
            "releases: [{name: a}]",
            "Required property 'version' was not specified in object (...)",
        ),
        (
            "addons: [{name: a, include: {stemcell: [{}]}}]",
            "Stemcell {} in runtime config's include section must have an os name.",
        ),
    ] {
        let found = errors(&[config]);
        assert_eq!(found.len(), 1, "{config}: {found:?}");
        assert_eq!(found[0].1.split('(').next(), message.split('(').next(), "{config}");
    }
    let done = combined(&["", "azs: []", "addons: [{name: a, include: {teams: [t]}}]"]).unwrap();
    let found: Vec<_> = done.warnings.iter().map(|one| one.message.as_str()).collect();
    let wanted = [
        "The key 'azs' of a runtime config has no effect",
        "The key 'teams' of an addon's 'include' matches no deployment: deployments have no teams here",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn a_stored_manifest_brings_its_addons() {
    let stored = combined(&[&config("one", "1", "")]).unwrap().manifest;
    let second = yaml::read("rc.yml", &config("two", "1", "")).unwrap();
    let (both, _) = combine(Named::new("m", &stored), "cf", &[second], &mut Sources::default()).unwrap();
    assert_eq!(added(&both), 2);
    let tagged = yaml::read("rc.yml", "tags: {cost: center}\nvariables: [{name: a, type: rsa}]").unwrap();
    let (all, _) = combine(Named::new("m", &both), "cf", &[tagged], &mut Sources::default()).unwrap();
    assert_eq!(without(all), yaml::read("m.yml", MANIFEST).unwrap().tree);
}

#[test]
fn a_manifest_without_tags_has_none_when_those_of_runtime_configs_are_removed() {
    let manifest = yaml::read("m.yml", "name: cf\ninstance_groups: []\n").unwrap();
    for text in ["tags: {cost: center}", "tags: {}"] {
        let config = yaml::read("rc.yml", text).unwrap();
        let document = Named::new("m.yml", &manifest.tree);
        let (combined, _) = combine(document, "cf", &[config], &mut Sources::default()).unwrap();
        assert_eq!(without(combined), manifest.tree, "{text}");
    }
}

#[test]
fn jobs_that_need_a_vm_are_left_out_with_their_releases() {
    let config = "\
releases: [{name: os-conf, version: 22.2.1}, {name: syslog, version: 11.3.2}, {name: one, version: 1}]
addons:
- name: os
  jobs: [{name: sysctl, release: os-conf}, {name: agent, release: one}]
- name: syslog
  jobs: [{name: syslog_forwarder, release: syslog, properties: {syslog: {address: ((syslog_address))}}}]
";
    let done = combined(&[config]).unwrap();
    assert_eq!(names(&done.manifest, "addons"), ["own", "os"]);
    assert_eq!(names(&done.manifest.items("addons")[1], "jobs"), ["agent"]);
    assert_eq!(names(&done.manifest, "releases"), ["app", "one"]);
    let found: Vec<_> = done.warnings.iter().map(|one| one.place.pointer.as_deref()).collect();
    assert_eq!(found, [Some("/addons/0/jobs/0"), Some("/addons/1/jobs/0")]);
    let about = Diagnostic::reported_error("x", "y").in_document("m.yml");
    let found = done.sources.locate(&about.at("/addons/1/jobs/0/release").place);
    assert_eq!((found.line, found.column), (Some(4), Some(67)));
}
