//! Tests of the selection of plugins.

use super::approval;
use super::document::{PluginDocument, Selector};
use super::problem::PluginProblem;
use super::registry::{Entry, Good, Key, Registry, State};
use super::selection::{Asking, Selection, select};
use super::{PluginPolicy, Plugins};
use boson_api::PluginUse;
use boson_api::deployment::PluginChoice;
use boson_api::stage::StageName;
use boson_document::{Tree, json};
use boson_pipeline::Stage;
use boson_pipeline::stage::CheckPolicy;
use std::sync::Arc;
use std::time::Instant;

fn document(name: &str, stage: Stage, order: i64) -> PluginDocument {
    PluginDocument {
        name: name.into(),
        stage,
        wraps: false,
        order: (order != 0).then_some(order),
        policy: CheckPolicy::default(),
        is_shadow: false,
        settings: Tree::object().with("a", "plugin").with("b", "plugin"),
        selector: Selector::default(),
        digest: Some(format!("digest-of-{name}")),
        parts: None,
        image: None,
    }
}

fn fine(document: PluginDocument, created: i64) -> Entry {
    Entry {
        created,
        stage: Some(document.stage),
        more: Vec::new(),
        version: String::new(),
        identity: None,
        present: Some(document.clone()),
        state: State::Fine,
        good: Some(Good {
            version: approval::version(&document, None).unwrap(),
            document,
            packed: None,
            warnings: Vec::new(),
        }),
    }
}

fn refused(entry: Entry) -> Entry {
    let problem = PluginProblem {
        reason: "PluginRefused".into(),
        message: "bad".into(),
    };
    Entry {
        state: State::Refused(problem),
        ..entry
    }
}

fn registry(entries: Vec<(&str, &str, Entry)>) -> Registry {
    let key = |namespace: &str, name: &str| Key {
        namespace: namespace.into(),
        name: name.into(),
    };
    let entries = entries
        .into_iter()
        .map(|(namespace, name, entry)| (key(namespace, name), entry));
    Registry {
        covered: ["here".to_string()].into(),
        entries: entries.collect(),
    }
}

fn built_in() -> Vec<PluginUse> {
    let one = |stage, name: &str| PluginUse {
        stage,
        name: name.into(),
        version: "1.0.0".into(),
        digest: "x".into(),
        instance_groups: None,
    };
    vec![one(StageName::Ops, "ops"), one(StageName::Bpm, "bpm")]
}

fn choice(stage: StageName, name: &str, settings: &str) -> PluginChoice {
    serde_json::from_value(serde_json::json!({"stage": stage, "name": name, "settings": serde_json::from_str::<serde_json::Value>(settings).unwrap()})).unwrap()
}

fn used(stage: StageName, name: &str) -> Vec<PluginUse> {
    let mut used = built_in();
    used[0].stage = stage;
    used[0].name = name.into();
    used.truncate(1);
    used
}

fn selected(registry: &Registry, choices: &[PluginChoice], used: &[PluginUse]) -> Selection {
    let asking = Asking {
        namespace: "here",
        name: "nats",
        choices,
        used,
        operator_namespace: "boson",
    };
    select(registry, &asking, &built_in())
}

fn names(selection: &Selection) -> Vec<&str> {
    selection.chosen.iter().map(|pick| pick.chosen.name.as_str()).collect()
}

#[test]
fn a_component_is_unloaded_only_after_its_plugin_was_replaced() {
    let one = |name| registry(vec![("here", "a", fine(document(name, Stage::Resources, 0), 1))]);
    let plugins = Plugins::new("boson", PluginPolicy::default());
    plugins.publish(one("first"), |_| {});
    let before = plugins.now();
    plugins.publish(one("second"), |digests| {
        assert_eq!(digests, &["digest-of-second".to_string()].into());
        // A deployment that is resolved now is known to be resolved again.
        assert_eq!(plugins.now().digests(), *digests);
        assert!(!Arc::ptr_eq(&before, &plugins.now()));
    });
}

#[test]
fn plugins_are_for_their_namespace_except_those_of_the_operators() {
    let hook = |name, order| fine(document(name, Stage::Resources, order), 1);
    let registry = registry(vec![
        ("boson", "a", hook("everywhere", 5)),
        ("here", "b", hook("mine", 1)),
        ("there", "c", hook("theirs", 0)),
    ]);
    assert_eq!(names(&selected(&registry, &[], &[])), ["mine", "everywhere"]);
}

#[test]
fn a_selector_selects_deployments() {
    let mut other = document("other", Stage::Ops, 0);
    other.selector.deployments = Some(vec!["cf".into()]);
    let mut elsewhere = document("elsewhere", Stage::Ops, 0);
    elsewhere.selector.namespaces = Some(vec!["there".into()]);
    let registry = registry(vec![("boson", "a", fine(other, 1)), ("boson", "b", fine(elsewhere, 1))]);
    let selection = selected(&registry, &[], &[]);
    assert!(selection.chosen.is_empty() && selection.plugin_problems.is_empty());
}

#[test]
fn a_wrapper_is_selected_for_its_instance_groups() {
    let mut around = document("around", Stage::Bpm, 1);
    around.wraps = true;
    around.selector.instance_groups = Some(vec!["web".into()]);
    let registry = registry(vec![("boson", "a", fine(around, 1))]);
    let selection = selected(&registry, &[choice(StageName::Bpm, "around", "{}")], &[]);
    let [pick] = selection.chosen.as_slice() else {
        panic!("{selection:?}");
    };
    assert_eq!(pick.chosen.groups, Some(vec!["web".to_string()]));
}

#[test]
fn of_two_for_one_stage_the_older_is_used_and_the_other_refused_unless_one_is_named() {
    let rule = |name, created| fine(document(name, Stage::Ops, 0), created);
    let registry = registry(vec![("boson", "a", rule("young", 9)), ("here", "b", rule("old", 3))]);
    let selection = selected(&registry, &[], &[]);
    assert_eq!(names(&selection), ["old"]);
    assert_eq!(selection.plugin_problems.len(), 1);
    assert_eq!(selection.plugin_problems[0].reason, "PluginConflict");
    assert!(
        selection.plugin_problems[0].message.contains("boson/a"),
        "{:?}",
        selection.plugin_problems
    );
    let named = selected(&registry, &[choice(StageName::Ops, "young", "{}")], &[]);
    assert_eq!(names(&named), ["young"]);
    assert!(named.plugin_problems.is_empty());
}

#[test]
fn wrappers_come_after_the_rule_in_their_order_then_those_that_the_deployment_names() {
    let wrapper = |name, order| {
        let wraps = true;
        fine(
            PluginDocument {
                wraps,
                ..document(name, Stage::Bpm, order)
            },
            1,
        )
    };
    let registry = registry(vec![
        ("here", "a", wrapper("outer", 2)),
        ("here", "b", wrapper("inner", 1)),
        ("here", "c", fine(document("rule", Stage::Bpm, 0), 9)),
    ]);
    assert_eq!(names(&selected(&registry, &[], &[])), ["rule", "inner", "outer"]);
    let choices = [
        choice(StageName::Bpm, "inner", "{}"),
        choice(StageName::Bpm, "bpm", "{}"),
    ];
    assert_eq!(names(&selected(&registry, &choices, &[])), ["bpm", "outer", "inner"]);
}

#[test]
fn the_order_of_resource_plugins_is_explicit_only_where_they_differ() {
    let hook = |name, order| fine(document(name, Stage::Resources, order), 1);
    let registry = registry(vec![
        ("here", "a", hook("without", 0)),
        ("here", "b", hook("same", 1)),
        ("here", "c", hook("too", 1)),
        ("here", "d", hook("own", 2)),
        ("here", "e", hook("named", 0)),
    ]);
    let selection = selected(&registry, &[choice(StageName::Resources, "named", "{}")], &[]);
    let ordered = selection
        .chosen
        .iter()
        .map(|pick| (pick.chosen.name.as_str(), pick.chosen.is_ordered));
    let ordered: Vec<(&str, bool)> = ordered.collect();
    let wanted = [
        ("without", false),
        ("same", false),
        ("too", false),
        ("own", true),
        ("named", true),
    ];
    assert_eq!(ordered, wanted);
}

#[test]
fn a_deployment_names_plugins_and_gives_settings() {
    let hook = |name, order| fine(document(name, Stage::Resources, order), 1);
    let registry = registry(vec![
        ("here", "a", hook("x", 1)),
        ("here", "b", hook("y", 2)),
        ("here", "c", hook("z", 3)),
    ]);
    let choices = [
        choice(StageName::Bpm, "bpm", r#"{"uids": {}}"#),
        choice(StageName::Resources, "y", r#"{"b": 1}"#),
        choice(StageName::Resources, "x", "{}"),
    ];
    let selection = selected(&registry, &choices, &[]);
    assert_eq!(names(&selection), ["bpm", "z", "y", "x"]);
    assert_eq!(
        selection.chosen[0].chosen.digest, None,
        "the built-in one, with other settings"
    );
    assert_eq!(
        json::to_text(&selection.chosen[2].chosen.settings.tree),
        r#"{"a":"plugin","b":1}"#
    );
    let missing = selected(&registry, &[choice(StageName::Resources, "none", "{}")], &[]);
    assert_eq!(missing.errors[0].code, "plugin-not-found");
}

#[test]
fn a_shadow_is_used_for_nothing_else_and_nothing_waits_for_it() {
    let shadow = |name: &str| {
        let mut document = document(name, Stage::Resources, 0);
        document.is_shadow = true;
        fine(document, 5)
    };
    let hook = |name: &str| fine(document(name, Stage::Resources, 0), 1);
    let mut loading = shadow("x");
    loading.good = None;
    loading.state = State::Loading { since: Instant::now() };
    let registry = registry(vec![
        ("here", "a", hook("x")),
        ("here", "b", shadow("x")),
        ("here", "c", shadow("y")),
        ("here", "d", shadow("z")),
        ("here", "e", loading),
        ("there", "f", shadow("theirs")),
    ]);
    let selection = selected(&registry, &[], &used(StageName::Resources, "x"));
    assert_eq!(names(&selection), ["x"]);
    let shadows: Vec<&str> = selection.shadows.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(shadows, ["x", "y"]);
    assert!(selection.waiting.is_empty() && selection.errors.is_empty());
    assert_eq!(selection.plugin_problems.len(), 1, "one shadow is too many");
    assert_eq!(selection.plugin_problems[0].reason, "PluginManyShadows");
}

#[test]
fn the_last_good_version_stays_and_the_fault_is_reported() {
    let registry = registry(vec![("here", "a", refused(fine(document("p", Stage::Ops, 0), 1)))]);
    let selection = selected(&registry, &[], &used(StageName::Ops, "p"));
    assert_eq!((names(&selection), selection.plugin_problems.len()), (vec!["p"], 1));
    assert!(selection.errors.is_empty());
}

#[test]
fn a_lost_plugin_stops_the_conversion_but_a_new_bad_one_does_not() {
    let mut entry = refused(fine(document("p", Stage::Ops, 0), 1));
    entry.good = None;
    let known = registry(vec![("here", "a", entry.clone())]);
    assert_eq!(
        selected(&known, &[], &used(StageName::Ops, "p")).errors[0].code,
        "plugin-lost"
    );
    let new = selected(&known, &[], &used(StageName::Ops, "ops"));
    assert!(new.errors.is_empty() && new.chosen.is_empty());
    assert_eq!(new.plugin_problems.len(), 1);
    entry.present = None;
    let unread = registry(vec![("here", "a", entry)]);
    assert_eq!(selected(&unread, &[], &used(StageName::Ops, "p")).errors.len(), 1);
    assert!(
        selected(&unread, &[], &used(StageName::Bpm, "p")).errors.is_empty(),
        "of another stage"
    );
    assert!(
        selected(&registry(vec![]), &[], &used(StageName::Ops, "p"))
            .errors
            .is_empty(),
        "deleted"
    );
}

#[test]
fn a_deployment_waits_for_a_new_plugin_but_not_for_an_update() {
    let mut entry = fine(document("p", Stage::Ops, 0), 1);
    entry.state = State::Loading { since: Instant::now() };
    let update = selected(&registry(vec![("here", "a", entry.clone())]), &[], &[]);
    assert_eq!((names(&update), update.waiting.len()), (vec!["p"], 0));
    entry.good = None;
    let first = selected(&registry(vec![("here", "a", entry)]), &[], &[]);
    let names: Vec<&str> = first.waiting.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["p"]);
}
