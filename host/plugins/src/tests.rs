//! Tests of the selection of plugins.

use super::approval;
use super::canary::Canary;
use super::document::{PluginDocument, Selector};
use super::problem::PluginProblem;
use super::registry::{Entry, Good, Key, Plugin, Registry, State};
use super::selection::{Asking, Selection, select};
use super::stops::StoppedCanaries;
use super::{PluginPolicy, Plugins};
use crate::codes;
use boson_api::PluginUse;
use boson_api::deployment::PluginChoice;
use boson_document::{Tree, json};
use boson_oci::{Digest, short_digest};
use boson_pipeline::Stage;
use boson_pipeline::stage::CheckPolicy;
use std::sync::Arc;
use std::time::Instant;

/// Digests of components are those of these texts.
fn digest_of(name: &str) -> Digest {
    boson_oci::digest(name.as_bytes())
}

fn document(name: &str, stage: Stage, order: i64) -> PluginDocument {
    PluginDocument {
        name: name.into(),
        stage,
        wraps: false,
        order: (order != 0).then_some(order),
        policy: CheckPolicy::default(),
        is_shadow: false,
        canary: None,
        settings: Tree::object().with("a", "plugin").with("b", "plugin"),
        selector: Selector::default(),
        digest: Some(digest_of(name)),
        parts: None,
        image: None,
    }
}

fn fine(document: PluginDocument, created: i64) -> Entry {
    Entry {
        plugin: Plugin {
            created,
            label: document.stage.name().into(),
            ..Plugin::default()
        },
        identity: None,
        present: Some(document.clone()),
        state: State::Fine,
        good: Some(Good {
            version: approval::version(&document, None).unwrap(),
            document,
            packed: None,
            warnings: Vec::new(),
            trial: Arc::default(),
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
        runs: None,
        instance_groups: None,
    };
    vec![one(Stage::Ops, "ops"), one(Stage::Bpm, "bpm")]
}

fn choice(stage: Stage, name: &str, settings: &str) -> PluginChoice {
    serde_json::from_value(serde_json::json!({"stage": stage, "name": name, "settings": serde_json::from_str::<serde_json::Value>(settings).unwrap()})).unwrap()
}

fn used(stage: Stage, name: &str) -> Vec<PluginUse> {
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
        assert_eq!(digests, &[digest_of("second")].into());
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
    let selection = selected(&registry, &[choice(Stage::Bpm, "around", "{}")], &[]);
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
    let named = selected(&registry, &[choice(Stage::Ops, "young", "{}")], &[]);
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
    let choices = [choice(Stage::Bpm, "inner", "{}"), choice(Stage::Bpm, "bpm", "{}")];
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
    let selection = selected(&registry, &[choice(Stage::Resources, "named", "{}")], &[]);
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
        choice(Stage::Bpm, "bpm", r#"{"uids": {}}"#),
        choice(Stage::Resources, "y", r#"{"b": 1}"#),
        choice(Stage::Resources, "x", "{}"),
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
    let missing = selected(&registry, &[choice(Stage::Resources, "none", "{}")], &[]);
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
    let selection = selected(&registry, &[], &used(Stage::Resources, "x"));
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
    let selection = selected(&registry, &[], &used(Stage::Ops, "p"));
    assert_eq!((names(&selection), selection.plugin_problems.len()), (vec!["p"], 1));
    assert!(selection.errors.is_empty());
}

#[test]
fn a_lost_plugin_stops_the_conversion_but_a_new_bad_one_does_not() {
    let mut entry = refused(fine(document("p", Stage::Ops, 0), 1));
    entry.good = None;
    let known = registry(vec![("here", "a", entry.clone())]);
    assert_eq!(
        selected(&known, &[], &used(Stage::Ops, "p")).errors[0].code,
        "plugin-lost"
    );
    let new = selected(&known, &[], &used(Stage::Ops, "ops"));
    assert!(new.errors.is_empty() && new.chosen.is_empty());
    assert_eq!(new.plugin_problems.len(), 1);
    entry.present = None;
    let unread = registry(vec![("here", "a", entry)]);
    assert_eq!(selected(&unread, &[], &used(Stage::Ops, "p")).errors.len(), 1);
    assert!(
        selected(&unread, &[], &used(Stage::Bpm, "p")).errors.is_empty(),
        "of another stage"
    );
    assert!(
        selected(&registry(vec![]), &[], &used(Stage::Ops, "p"))
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

/// A version for the deployments `nats`, of the same component with other settings, or of another one.
fn canary(name: &str, component: &str) -> PluginDocument {
    PluginDocument {
        canary: Some(Canary {
            percent: 0,
            deployments: vec!["nats".into()],
            max_failed_percent: 0,
            min_deployments: 1,
        }),
        digest: Some(digest_of(component)),
        ..document(name, Stage::Resources, 0)
    }
}

fn digests(selection: &Selection) -> Vec<Digest> {
    let digests = selection.chosen.iter().map(|pick| pick.chosen.digest.clone());
    digests.map(Option::unwrap).collect()
}

fn digests_of<const N: usize>(names: [&str; N]) -> [Digest; N] {
    names.map(digest_of)
}

#[test]
fn a_canary_takes_the_place_of_the_first_version_which_runs_beside_it() {
    let hook = |name| fine(document(name, Stage::Resources, 0), 1);
    let entries = |canary: PluginDocument| {
        registry(vec![
            ("here", "a", hook("p")),
            ("here", "b", hook("q")),
            ("here", "z", fine(canary, 5)),
        ])
    };
    let selection = selected(&entries(canary("p", "new")), &[], &used(Stage::Resources, "p"));
    assert_eq!(digests(&selection), digests_of(["new", "q"]), "in the same order");
    let has_trial: Vec<bool> = selection.chosen.iter().map(|pick| pick.trial.is_some()).collect();
    assert_eq!(has_trial, [true, false]);
    let shadows: Vec<Option<Digest>> = selection.shadows.iter().map(|one| one.digest.clone()).collect();
    assert_eq!(shadows, [Some(digest_of("p"))]);
    assert!(selection.plugin_problems.is_empty() && selection.errors.is_empty());

    let mut other = canary("p", "new");
    other.canary.as_mut().unwrap().deployments = vec!["cf".into()];
    let selection = selected(&entries(other), &[], &[]);
    assert_eq!(digests(&selection), digests_of(["p", "q"]));
    assert!(selection.shadows.is_empty() && selection.plugin_problems.is_empty());

    let choices = [choice(Stage::Resources, "p", r#"{"b": 1}"#)];
    let selection = selected(&entries(canary("p", "new")), &choices, &[]);
    assert_eq!(digests(&selection), digests_of(["q", "new"]));
    assert_eq!(
        selection.shadows[0].settings, selection.chosen[1].chosen.settings,
        "both have the settings of the deployment"
    );
}

#[test]
fn a_canary_without_a_first_version_in_its_namespace_is_refused() {
    let hook = |name| fine(document(name, Stage::Resources, 0), 1);
    for first in [("boson", hook("p")), ("here", hook("q"))] {
        let (namespace, entry) = first;
        let registry = registry(vec![
            (namespace, "a", entry),
            ("here", "b", fine(canary("p", "new"), 5)),
        ]);
        let selection = selected(&registry, &[], &[]);
        assert!(!digests(&selection).contains(&digest_of("new")));
        assert_eq!(selection.plugin_problems[0].reason, "PluginCanaryAlone");
    }
    let two = registry(vec![
        ("here", "a", hook("p")),
        ("here", "b", fine(canary("p", "young"), 6)),
        ("here", "c", fine(canary("p", "old"), 5)),
    ]);
    let selection = selected(&two, &[], &[]);
    assert_eq!(
        digests(&selection),
        digests_of(["old"]),
        "a conversion uses one version"
    );
    assert_eq!(selection.plugin_problems.len(), 1);
}

#[test]
fn a_deployment_waits_for_the_canary_that_it_has_used_but_not_for_a_new_one() {
    let waits = |component: &str, used_component: &str| {
        let mut entry = fine(canary("p", component), 5);
        entry.good = None;
        entry.state = State::Loading { since: Instant::now() };
        let first = fine(document("p", Stage::Resources, 0), 1);
        let registry = registry(vec![("here", "a", first), ("here", "b", entry)]);
        let mut used = used(Stage::Resources, "p");
        used[0].digest = digest_of(used_component).digest().to_string();
        let selection = selected(&registry, &[], &used);
        assert_eq!(digests(&selection), digests_of(["p"]));
        !selection.waiting.is_empty()
    };
    assert!(waits("new", "new"), "after a restart");
    assert!(!waits("new", "p"), "a new one");
    assert!(waits("p", "p"), "other settings of the same component");
}

#[test]
fn a_canary_that_was_stopped_is_reported_where_it_was_used_and_the_first_version_is_used() {
    let mut stopped = refused(fine(canary("p", "new"), 5));
    stopped.good = None;
    let entries = |stopped: Entry| {
        let first = fine(document("p", Stage::Resources, 0), 1);
        registry(vec![("here", "a", first), ("here", "b", stopped)])
    };
    let selection = selected(&entries(stopped.clone()), &[], &used(Stage::Resources, "p"));
    assert_eq!(digests(&selection), digests_of(["p"]));
    assert!(selection.errors.is_empty() && selection.shadows.is_empty());
    assert_eq!(selection.plugin_problems.len(), 1);
    let of_others = stopped.present.as_mut().and_then(|present| present.canary.as_mut());
    of_others.unwrap().deployments.clear();
    assert!(selected(&entries(stopped), &[], &[]).plugin_problems.is_empty());
}

#[test]
fn a_canary_that_fails_is_stopped_but_not_another_version_in_its_config_map() {
    let failing = || {
        let entry = fine(canary("p", "new"), 5);
        let trial = &entry.good.as_ref().unwrap().trial;
        trial.note(("here".into(), "nats".into()), Some("PluginTrapped".into()));
        entry
    };
    let newer = Entry {
        state: State::Loading { since: Instant::now() },
        ..failing()
    };
    let mut registry = registry(vec![
        ("here", "a", fine(canary("p", "new"), 5)),
        ("here", "b", failing()),
        ("here", "c", newer),
    ]);
    let mut stops = StoppedCanaries::default();
    assert!(stops.apply(&mut registry));
    let states: Vec<&Entry> = registry.entries.values().collect();
    assert!(
        states[0].good.is_some() && states[0].problem().is_none(),
        "without results"
    );
    assert!(states[1].good.is_none() && states[1].has_failed(codes::PLUGIN_CANARY_STOPPED));
    assert!(states[2].good.is_none() && states[2].is_loading());
    let message = &states[1].problem().unwrap().message;
    assert!(message.starts_with("plugin 'p' (ConfigMap 'here/b'): "), "{message}");
    assert!(!stops.apply(&mut registry), "once");
}

#[test]
fn the_result_of_a_conversion_counts_for_the_canary_that_failed_in_it() {
    let first = document("p", Stage::Resources, 0);
    let mut second = canary("p", "second");
    second.canary.as_mut().unwrap().min_deployments = 2;
    let registry = registry(vec![("here", "a", fine(first, 1)), ("here", "b", fine(second, 5))]);
    let selection = selected(&registry, &[], &[]);
    let good = registry
        .entries
        .values()
        .last()
        .and_then(|entry| entry.good.as_ref())
        .unwrap();
    let plugins = Plugins::new("boson", PluginPolicy::default());
    let failure = |digest: &str| PluginProblem {
        reason: "PluginTrapped".into(),
        message: format!("plugin 'p' stopped with a trap ({digest})"),
    };
    let tried = |name: &str, failures: &[PluginProblem], is_complete: bool| {
        let deployment = ("here".to_string(), name.to_string());
        plugins.tried(&selection.chosen, &deployment, failures, is_complete);
        good.verdict()
    };
    assert_eq!(
        tried("a", &[failure(short_digest(digest_of("second").as_ref()))], false),
        None,
        "one of two deployments"
    );
    assert_eq!(
        tried("b", &[failure("sha256:fedcba987654")], false),
        None,
        "it may not have been called"
    );
    assert!(tried("b", &[], true).unwrap().contains("1 of 2 deployments"));
    assert_eq!(tried("a", &[], true), None);
}
