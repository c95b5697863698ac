//! Tests of the review: which versions are used, which wait, and which are no longer used.

use super::super::document;
use super::super::registry::{Entry, Good, Key, Plugin, Registry, State};
use super::{Approved, PluginUpdates, Reviewer, version};
use boson_api::{ApprovedVersion, PluginApproval, PluginApprovalSpec};
use boson_pipeline::bundle::{Grant, Permissions};
use boson_pipeline::{Stage, yaml};
use kube::runtime::watcher::Event;
use parking_lot::Mutex;

fn good(more: &str) -> Good {
    let text = format!("name: hook\ndigest: sha256:{}\n{more}", "a1".repeat(32));
    let parsed = yaml::read("plugin.yaml", &text).unwrap();
    let document = document::read(&parsed, Stage::Resources).unwrap();
    Good {
        version: version(&document, None).unwrap(),
        document,
        packed: None,
        warnings: Vec::new(),
        trial: std::sync::Arc::default(),
    }
}

fn key() -> Key {
    Key {
        namespace: "here".into(),
        name: "my-hook".into(),
    }
}

fn approve(approved: &Mutex<Approved>, versions: &[&ApprovedVersion]) {
    let spec = PluginApprovalSpec {
        versions: versions.iter().map(|one| (*one).clone()).collect(),
    };
    let mut approval = PluginApproval::new(&key().name, spec);
    approval.metadata.namespace = Some(key().namespace);
    approved.lock().take(0, None, Event::Apply(approval));
}

fn registry(good: Good, state: State) -> Registry {
    let entry = Entry {
        plugin: Plugin::default(),
        identity: None,
        present: Some(good.document.clone()),
        state,
        good: Some(good),
    };
    Registry {
        entries: [(key(), entry)].into(),
        ..Registry::default()
    }
}

fn reviewer<'a>(approved: &'a Mutex<Approved>, permissions: &'a Permissions) -> Reviewer<'a> {
    Reviewer {
        updates: PluginUpdates::Approve,
        approved,
        permissions,
        operator_namespace: "boson",
    }
}

#[test]
fn only_approved_versions_and_shadows_are_used() {
    let (approved, permissions) = (Mutex::default(), Permissions::default());
    let reviewer = reviewer(&approved, &permissions);
    let (first, wider) = (good("selector: {deployments: [a]}\n"), good(""));
    assert!(reviewer.pending(&key(), &good("shadow: true\n")).is_none());
    assert!(reviewer.pending(&key(), &first).is_some());
    approve(&approved, &[&first.version]);
    assert!(reviewer.pending(&key(), &first).is_none());
    let problem = reviewer.pending(&key(), &wider).unwrap().problem;
    assert_eq!(problem.reason, "PluginNotApproved");
    assert!(
        problem.message.contains("it gains all deployments\n"),
        "{}",
        problem.message
    );
    let automatic = Reviewer {
        updates: PluginUpdates::Automatic,
        ..reviewer
    };
    assert!(automatic.pending(&key(), &wider).is_none());
}

#[test]
fn what_is_allowed_to_the_plugin_is_part_of_the_message() {
    let grants = [
        "hostNetwork",
        "hook:hostPID",
        "here/hook:hostIPC",
        "here/other:privileged",
    ];
    let grants = grants.map(|text| text.parse::<Grant<_>>().unwrap());
    let permissions = Permissions::new(Vec::new(), grants.into()).unwrap();
    let approved = Mutex::default();
    let pending = reviewer(&approved, &permissions).pending(&key(), &good("")).unwrap();
    let message = pending.problem.message;
    assert!(
        message.contains("it may use what is allowed to it: hostNetwork, hostIPC\n"),
        "a name without a namespace is one of the operator's: {message}"
    );
    assert!(
        message.contains("host plugin approve my-hook --namespace here --digest sha256:"),
        "{message}"
    );
}

#[test]
fn a_version_is_used_as_long_as_it_is_approved() {
    let (approved, permissions) = (Mutex::default(), Permissions::default());
    let reviewer = reviewer(&approved, &permissions);
    let (first, second) = (good(""), good("settings: {a: 1}\n"));
    approve(&approved, &[&first.version]);
    let waiting = State::Pending(Box::new(reviewer.pending(&key(), &second).unwrap()));
    let mut registry = registry(first.clone(), waiting);
    let reviewed = reviewer.review(&mut registry);
    assert!(!reviewed.is_changed && reviewed.approved.is_empty());

    approve(&approved, &[&first.version, &second.version]);
    assert_eq!(reviewer.review(&mut registry).approved, [key()]);
    assert!(registry.entries[&key()].good.is_some(), "until the new one is loaded");

    approve(&approved, &[&second.version]);
    let reviewed = reviewer.review(&mut registry);
    assert!(reviewed.is_changed && reviewed.approved == [key()]);
    assert!(registry.entries[&key()].good.is_none());

    let mut registry = self::registry(first, State::Fine);
    assert!(reviewer.review(&mut registry).is_changed);
    let entry = &registry.entries[&key()];
    assert!(entry.good.is_none() && entry.problem().unwrap().message.contains("settings removed: 'a'"));
}
