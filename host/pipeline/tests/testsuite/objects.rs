//! The step that makes objects: which errors end it.

use boson_document::Tree;
use boson_manifest::instances::Spread;
use boson_manifest::names::Names;
use boson_pipeline::Diagnostic;
use boson_pipeline::bundle::Permissions;
use boson_pipeline::convert::{Group, Making, Target, objects};
use boson_pipeline::schema::SettingsError;
use boson_pipeline::stage::*;

/// A bpm stage that makes one object for the deployment `d` and for each group, and fails for some.
struct Bpm<'a>(&'a [&'a str]);

fn error(message: &str) -> Diagnostic {
    Diagnostic::reported_error("some-error", message)
}

impl Stages for Bpm<'_> {
    fn call(&self, call: Call<'_>) -> Reply<Answer> {
        let name = match call {
            Call::ConvertDeployment(_) => "d",
            Call::ConvertGroup(request) => request.group.str("name").unwrap(),
            other => panic!("{} is not called", other.function()),
        };
        if self.0.contains(&name) {
            return Err(StageError::Input(vec![error(name)]));
        }
        let object = Tree::object()
            .with("apiVersion", "v1")
            .with("kind", "ConfigMap")
            .with("metadata", Tree::object().with("name", name));
        Ok((Answer::Objects(vec![object]), Vec::new()))
    }

    fn info(&self, _: PluginRef<'_>) -> Option<PluginInfo> {
        None
    }

    fn spent_here(&self) -> u64 {
        0
    }

    fn check_properties(&self, _: &Tree, _: &Tree) -> Result<Vec<SettingsError>, String> {
        Ok(Vec::new())
    }
}

/// What the step makes of the groups `a` and `b`: names of objects or errors, and the groups that failed.
fn made(fails: &[&str], earlier: &[&str], is_partial: bool) -> (Result<String, String>, String) {
    let text = |text: &str| text.to_string();
    let deployment = Deployment {
        name: text("d"),
        namespace: text("ns"),
        cluster_domain: text("cluster.local"),
        operator_image: text("host"),
        registry: None,
        spread: Spread::Total,
    };
    let names = Names::new("d", "ns", "cluster.local").unwrap();
    let manifest = Tree::object().with("name", "d");
    let making = Making {
        deployment: &deployment,
        names: &names,
        manifest: Named::new("m.yml", &manifest),
        without_values: &manifest,
        variables: &[],
        target: Target::Quarks,
        permissions: &Permissions::default(),
        pod_plugins: &[],
        is_partial,
        threads: 1,
    };
    let resolved = ["a", "b"].map(|name| ResolvedGroup {
        name: name.into(),
        document: Tree::object().with("name", name),
    });
    let groups = resolved.each_ref().map(|resolved| Group {
        resolved,
        secret: String::new(),
        jobs: &[],
    });
    let earlier = earlier.iter().map(|message| error(message)).collect();
    let made = objects(&Bpm(fails), &making, &groups, earlier, &mut Vec::new());
    let name = |object: &Tree| object.get("metadata").unwrap().str("name").unwrap().to_string();
    let result = made
        .result
        .map(|all| all.iter().map(name).collect::<Vec<_>>().join(" "));
    let result = result.map_err(|all| all.into_iter().map(|one| one.message).collect::<Vec<_>>().join(" "));
    let failed: Vec<String> = made.failed.into_iter().map(|(group, _)| group).collect();
    (result, failed.join(" "))
}

#[test]
fn a_group_that_fails_ends_the_step_if_all_are_wanted_or_no_other_is_left() {
    let ok = |objects: &str, failed: &str| (Ok(objects.to_string()), failed.to_string());
    let wrong = |errors: &str| (Err(errors.to_string()), String::new());
    assert_eq!(made(&[], &[], false), ok("d a b", ""));
    assert_eq!(made(&["a"], &[], true), ok("d b", "a"));
    assert_eq!(made(&["a"], &[], false), wrong("a"));
    assert_eq!(made(&["a", "b"], &[], true), wrong("a b"));
}

#[test]
fn errors_of_the_deployment_and_of_earlier_steps_come_with_those_of_groups() {
    let wrong = |errors: &str| (Err(errors.to_string()), String::new());
    assert_eq!(made(&["a", "d"], &["earlier"], true), wrong("d earlier a"));
    assert_eq!(made(&[], &["earlier"], true), wrong("earlier"));
    assert_eq!(made(&["d"], &[], true), wrong("d"));
}
