//! Checks of the objects and edits that plugins return.

use boson_document::{Tree, json};
use boson_manifest::instances::Spread;
use boson_pipeline::Author;
use boson_pipeline::bundle::patch::{self, Budget};
use boson_pipeline::bundle::{Bundle, Writer, kinds};
use boson_pipeline::stage::{Deployment, Edit, ObjectReference};

fn tree(text: &str) -> Tree {
    json::parse(text).unwrap()
}

fn bundle() -> Bundle {
    let text = |text: &str| text.to_string();
    let (name, namespace, cluster_domain) = (text("My_dep"), text("ns"), text("cluster.local"));
    Bundle::new(&Deployment {
        name,
        namespace,
        cluster_domain,
        operator_image: text("host"),
        registry: None,
        spread: Spread::Total,
    })
}

fn object(kind: &str, name: &str) -> Tree {
    let version = kinds::KINDS
        .iter()
        .find(|known| known.kind == kind)
        .map_or("v1", |known| known.api_version);
    Tree::object()
        .with("apiVersion", version)
        .with("kind", kind)
        .with("metadata", Tree::object().with("name", name))
}

fn writer(author: &Author) -> Writer<'_> {
    Writer {
        author,
        is_ordered: true,
    }
}

fn refusal(object: Tree) -> String {
    let mut bundle = bundle();
    let errors = bundle.add(vec![object], "the bpm plugin").unwrap_err();
    assert!(bundle.objects().is_empty());
    assert!(errors[0].message.ends_with("(made by the bpm plugin)"));
    format!("{}: {}", errors[0].code, errors[0].message)
}

#[test]
fn every_object_becomes_the_deployments() {
    let mut bundle = bundle();
    let mut labeled = object("Secret", "b");
    labeled
        .get_mut("metadata")
        .unwrap()
        .set("labels", Tree::object().with("mine", "1"))
        .set("namespace", "ns");
    bundle.add(vec![object("Service", "a"), labeled], "x").unwrap();
    let metadata: Vec<_> = bundle
        .objects()
        .iter()
        .map(|object| json::to_text(object.get("metadata").unwrap()))
        .collect();
    let ours = r#""quarks.cloudfoundry.org/deployment-name":"my-dep","app.kubernetes.io/managed-by":"boson","app.kubernetes.io/part-of":"my-dep""#;
    assert_eq!(
        metadata[0],
        format!(r#"{{"name":"a","namespace":"ns","labels":{{{ours}}}}}"#)
    );
    assert_eq!(
        metadata[1],
        format!(r#"{{"name":"b","namespace":"ns","labels":{{"mine":"1",{ours}}}}}"#)
    );
}

#[test]
fn kinds_that_grant_permissions_are_refused() {
    for text in [
        r#"{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "x"}}"#,
        r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}"#,
        r#"{"apiVersion": "evil/v1", "kind": "Secret", "metadata": {"name": "x"}}"#,
        r#"{"apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment", "metadata": {"name": "x"}}"#,
        r#"{"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": {"name": "x"}}"#,
        r#"[]"#,
    ] {
        assert!(refusal(tree(text)).starts_with("bundle-kind-not-allowed"), "{text}");
    }
}

#[test]
fn objects_of_other_deployments_are_refused() {
    for metadata in [
        r#"{"name": "x", "namespace": "kube-system"}"#,
        r#"{"name": "x", "namespace": 7}"#,
        r#"{"name": "x", "labels": {"quarks.cloudfoundry.org/deployment-name": "other"}}"#,
        r#"{"name": "x", "ownerReferences": []}"#,
        r#"{"name": "x", "finalizers": ["f"]}"#,
    ] {
        let refusal = refusal(object("Secret", "x").with("metadata", tree(metadata)));
        assert!(refusal.starts_with("bundle-foreign-object"), "{metadata}: {refusal}");
    }
}

#[test]
fn names_obey_the_rules_of_their_kind() {
    let (label, long) = ("n".repeat(63), "n".repeat(64));
    for (kind, name, good) in [
        ("Secret", "a.b-c", true),
        ("Secret", "a..b", false),
        ("Secret", "A", false),
        ("Secret", "", false),
        ("Secret", &"n".repeat(254), false),
        ("Secret", &long, true),
        ("Service", "a-1", true),
        ("Service", "1-a", false),
        ("Service", "a.b", false),
        ("Service", &label, true),
        ("Service", &long, false),
        ("StatefulSet", &"n".repeat(52), true),
        ("StatefulSet", &"n".repeat(53), false),
        ("Job", &label, true),
        ("Job", &long, false),
        ("Job", "-a", false),
        ("QuarksSecret", "dep.var-x", true),
    ] {
        let mut bundle = bundle();
        let answer = bundle.add(vec![object(kind, name)], "x");
        assert_eq!(answer.is_ok(), good, "{kind} {name}: {answer:?}");
    }
    assert!(refusal(object("StatefulSet", &long)).contains("64 characters, and names of this kind have at most 52"));
}

#[test]
fn size_limits_are_those_of_kubernetes() {
    let full = Tree::object().with("k", "x".repeat(1 << 20));
    let mut bundle = bundle();
    bundle
        .add(vec![object("ConfigMap", "fits").with("data", full.clone())], "x")
        .unwrap();
    for (object, code) in [
        (
            object("ConfigMap", "x")
                .with("data", full.clone())
                .with("binaryData", tree(r#"{"b": "eA=="}"#)),
            "bundle-object-too-large",
        ),
        (
            object("Secret", "x").with("stringData", full.with("l", "y")),
            "bundle-object-too-large",
        ),
        (
            object("Service", "x").with("spec", "y".repeat(1_500_000)),
            "bundle-object-too-large",
        ),
        (
            object("Secret", "x").with("data", tree(r#"{"k": "not base64!"}"#)),
            "bundle-invalid-data",
        ),
        (
            object("Secret", "x").with("data", tree(r#"{"k": 7}"#)),
            "bundle-invalid-data",
        ),
        (
            object("ConfigMap", "x").with("data", tree(r#"{"a/b": ""}"#)),
            "bundle-invalid-data",
        ),
        (
            object("Service", "x").with("spec", tree(r#"{"\u00007": 1}"#)),
            "bundle-not-json",
        ),
        (
            object("Service", "x").with("spec", tree(r#"{"selectors": {}}"#)),
            "bundle-invalid-field",
        ),
    ] {
        assert!(refusal(object).starts_with(code), "{code}");
    }
}

#[test]
fn labels_and_annotations_obey_kubernetes() {
    for (member, entries, good) in [
        ("labels", r#"{"a.b/c_D": "v1.2_x", "e": ""}"#, true),
        ("labels", r#"{"a": "b c"}"#, false),
        ("labels", r#"{"a": 1}"#, false),
        ("labels", r#"{"-a": ""}"#, false),
        ("labels", r#"{"A/b": ""}"#, false),
        ("labels", r#"{"a/b/c": ""}"#, false),
        ("annotations", r#"{"a": "b c"}"#, true),
        ("annotations", r#"{"a": true}"#, false),
        ("annotations", r#"{"": ""}"#, false),
    ] {
        let mut object = object("Secret", "x");
        object.get_mut("metadata").unwrap().set(member, tree(entries));
        let answer = bundle().add(vec![object], "x");
        assert_eq!(answer.is_ok(), good, "{entries}: {answer:?}");
    }
}

#[test]
fn two_objects_of_one_name_are_an_error_and_nothing_is_added() {
    let mut bundle = bundle();
    bundle.add(vec![object("Secret", "a")], "x").unwrap();
    let errors = bundle
        .add(
            vec![
                object("Secret", "b"),
                object("Secret", "a"),
                object("Secret", "b"),
                object("Service", "a"),
            ],
            "y",
        )
        .unwrap_err();
    assert_eq!(
        errors.iter().map(|error| error.code.as_str()).collect::<Vec<_>>(),
        ["bundle-duplicate-object"; 2]
    );
    assert_eq!(bundle.objects().len(), 1);
    bundle.add(vec![object("Secret", "b")], "y").unwrap();
}

fn reference(kind: &str, name: &str) -> ObjectReference {
    let api_version = kinds::KINDS
        .iter()
        .find(|known| known.kind == kind)
        .unwrap()
        .api_version
        .to_string();
    ObjectReference {
        api_version,
        kind: kind.into(),
        name: name.into(),
    }
}

#[test]
fn hooks_patch_remove_and_add() {
    let mut bundle = bundle();
    bundle
        .add(["a", "b", "c"].map(|name| object("Service", name)).to_vec(), "x")
        .unwrap();
    let patch = tree(r#"[{"op": "add", "path": "/spec", "value": {"type": "ClusterIP", "clusterIP": "None"}}]"#);
    let merge = tree(r#"{"spec": {"type": "NodePort", "clusterIP": null, "ports": [{"port": 1}]}}"#);
    let edits = vec![
        Edit::JsonPatch(reference("Service", "c"), patch),
        Edit::MergePatch(reference("Service", "c"), merge),
        Edit::Remove(reference("Service", "a")),
        Edit::Add(object("Service", "a")),
        Edit::Add(object("NetworkPolicy", "n")),
    ];
    assert_eq!(bundle.edit(edits, writer(&"hook".into())).unwrap(), []);
    let names: Vec<_> = bundle
        .objects()
        .iter()
        .map(|object| object.get("metadata").unwrap().str("name").unwrap())
        .collect();
    assert_eq!(names, ["b", "c", "a", "n"]);
    let spec = bundle.objects()[1].get("spec").unwrap();
    assert_eq!(json::to_text(spec), r#"{"type":"NodePort","ports":[{"port":1}]}"#);
}

#[test]
fn hooks_cannot_do_more_than_plugins_and_fail_as_a_whole() {
    let one = |path: &str, value: &str| tree(&format!(r#"[{{"op": "add", "path": "{path}", "value": {value}}}]"#));
    for (patch, code) in [
        (one("/metadata/name", r#""z""#), "bundle-identity-changed"),
        (one("/kind", r#""Pod""#), "bundle-identity-changed"),
        (one("/metadata/namespace", r#""z""#), "bundle-foreign-object"),
        (one("/metadata/ownerReferences", "[]"), "bundle-foreign-object"),
        (one("/spec/x/y", "1"), "bundle-patch-failed"),
        (tree("{}"), "bundle-patch-failed"),
    ] {
        let mut bundle = bundle();
        bundle
            .add(vec![object("Service", "a"), object("Service", "b")], "x")
            .unwrap();
        let before = bundle.objects().to_vec();
        let edits = vec![
            Edit::Remove(reference("Service", "b")),
            Edit::JsonPatch(reference("Service", "a"), patch),
        ];
        let errors = bundle.edit(edits, writer(&"hook".into())).unwrap_err();
        assert_eq!(errors[0].code, code, "{}", errors[0].message);
        assert_eq!(bundle.objects(), before);
    }
    for edits in [
        vec![Edit::Remove(reference("Service", "a"))],
        // Edits apply in order.
        vec![
            Edit::Add(object("Service", "a")),
            Edit::Remove(reference("Service", "a")),
            Edit::MergePatch(reference("Service", "a"), tree("{}")),
        ],
    ] {
        let errors = bundle().edit(edits, writer(&"hook".into())).unwrap_err();
        assert_eq!((errors.len(), errors[0].code.as_str()), (1, "bundle-no-such-object"));
    }
}

#[test]
fn unordered_plugins_that_depend_on_their_order_are_refused() {
    let reference = || reference("Service", "a");
    let json = |text: &str| Edit::JsonPatch(reference(), tree(text));
    let merge = |text: &str| Edit::MergePatch(reference(), tree(text));
    let port = |name: &str, port: u32| {
        format!(r#"[{{"op": "add", "path": "/spec/ports/-", "value": {{"name": "{name}", "port": {port}}}}}]"#)
    };
    for (first, second, message) in [
        // Each adds an item with another name, or sets another field: their order does not matter.
        (json(&port("x", 1)), json(&port("y", 2)), None),
        (
            merge(r#"{"spec": {"healthCheckNodePort": 1}}"#),
            merge(r#"{"spec": {"publishNotReadyAddresses": true}}"#),
            None,
        ),
        (
            merge(r#"{"spec": {"healthCheckNodePort": 1}}"#),
            merge(r#"{"spec": {"healthCheckNodePort": 1}}"#),
            None,
        ),
        (
            merge(r#"{"spec": {"externalIPs": ["1"]}}"#),
            merge(r#"{"spec": {"externalIPs": ["0", "1"]}}"#),
            None,
        ),
        (
            merge(r#"{"spec": {"healthCheckNodePort": 1}}"#),
            merge(r#"{"spec": {"healthCheckNodePort": 2}}"#),
            Some("Service 'a': one and two set '/spec/healthCheckNodePort' to different values"),
        ),
        (
            json(&port("x", 1)),
            json(r#"[{"op": "replace", "path": "/spec/ports/1/port", "value": 7}]"#),
            Some("Service 'a': one and two set '/spec/ports/name=x/port' to different values"),
        ),
        (
            json(&port("x", 1)),
            merge(r#"{"spec": null}"#),
            Some("set '/spec/ports/name=x/name' to different values"),
        ),
        (
            merge(r#"{"spec": {"externalIPs": ["1"]}}"#),
            merge(r#"{"spec": {"externalIPs": ["2"]}}"#),
            Some("set '/spec/externalIPs' to different values"),
        ),
        (
            merge(r#"{"spec": {"healthCheckNodePort": 1}}"#),
            Edit::Remove(reference()),
            Some("Service 'a': one sets fields of it, two removes it"),
        ),
        (
            Edit::Remove(reference()),
            Edit::Add(object("Service", "a")),
            Some("Service 'a': one removes it, two adds it"),
        ),
    ] {
        let mut bundle = bundle();
        let spec = tree(r#"{"ports": [{"name": "z", "port": 9}]}"#);
        bundle
            .add(
                vec![object("Service", "a").with("spec", spec), object("Service", "other")],
                "bpm",
            )
            .unwrap();
        let [one, two] = ["one", "two"].map(Author::built_in);
        let unordered = |author| Writer {
            author,
            is_ordered: false,
        };
        assert_eq!(bundle.edit(vec![first], unordered(&one)).unwrap(), []);
        let before = bundle.objects().to_vec();
        let reported = bundle.edit(vec![second], unordered(&two));
        match message {
            None => assert_eq!(reported, Ok(Vec::new())),
            Some(message) => {
                let errors = reported.unwrap_err();
                assert_eq!(errors[0].code, "bundle-field-conflict");
                assert!(errors[0].message.contains(message), "{message}: {}", errors[0].message);
                assert_eq!(bundle.objects(), before, "all or nothing");
            }
        }
    }
}

#[test]
fn two_ordered_plugins_that_set_one_field_differently_are_both_named() {
    let mut bundle = bundle();
    let text = r#"{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a", "labels": {"team": "ours"}},
                   "spec": {"template": {"metadata": {"labels": {"team": "ours"}}}}}"#;
    bundle.add(vec![tree(text)], "bpm").unwrap();
    let mut set = |place: &str, value: &str, hook: &str| {
        let patch = format!(r#"[{{"op": "add", "path": "{place}", "value": "{value}"}}]"#);
        let edits = vec![Edit::JsonPatch(reference("StatefulSet", "a"), tree(&patch))];
        let warnings = bundle.edit(edits, writer(&hook.into())).unwrap();
        assert!(
            warnings
                .iter()
                .all(|one| one.code == "bundle-field-conflict" && !one.is_error())
        );
        warnings.into_iter().map(|one| one.message).collect::<Vec<_>>()
    };
    let none: [String; 0] = [];
    let (label, inner) = ("/metadata/labels/team", "/spec/template/metadata/labels/team");
    assert_eq!(
        set(label, "x", "first"),
        none,
        "another value than the rule's is what hooks are for"
    );
    assert_eq!(set(inner, "y", "second"), none, "another label");
    assert_eq!(set(label, "x", "second"), none, "the same value");
    let expected = "StatefulSet 'a': first and third set '/metadata/labels/team' to different values; third wins";
    assert_eq!(set(label, "y", "third"), [expected]);
    assert_eq!(set(label, "z", "third"), none, "its own");
    let expected =
        "StatefulSet 'a': second and third set '/spec/template/metadata/labels/team' to different values; third wins";
    assert_eq!(set(inner, "z", "third"), [expected]);
}

#[test]
fn patches_follow_rfc_6902() {
    for (document, operations, wanted) in [
        (
            r#"{"a":1}"#,
            r#"[{"op":"add","path":"/b","value":1.10}]"#,
            r#"{"a":1,"b":1.10}"#,
        ),
        (
            r#"{"a":[1,2]}"#,
            r#"[{"op":"add","path":"/a/1","value":9},{"op":"add","path":"/a/-","value":3}]"#,
            r#"{"a":[1,9,2,3]}"#,
        ),
        (
            r#"{"a":1,"b":2,"c":3}"#,
            r#"[{"op":"remove","path":"/a"}]"#,
            r#"{"b":2,"c":3}"#,
        ),
        (r#"[1,2]"#, r#"[{"op":"remove","path":"/0"}]"#, "[2]"),
        (
            r#"{"a":1}"#,
            r#"[{"op":"replace","path":"/a","value":{"x":[]}}]"#,
            r#"{"a":{"x":[]}}"#,
        ),
        (
            r#"{"a":{"b":1},"c":{}}"#,
            r#"[{"op":"move","from":"/a/b","path":"/c/d"}]"#,
            r#"{"a":{},"c":{"d":1}}"#,
        ),
        (
            r#"{"a":[1,2,3]}"#,
            r#"[{"op":"move","from":"/a/0","path":"/a/2"}]"#,
            r#"{"a":[2,3,1]}"#,
        ),
        (
            r#"{"a":{"b":1}}"#,
            r#"[{"op":"copy","from":"/a","path":"/c"},{"op":"test","path":"/c","value":{"b":1.0}}]"#,
            r#"{"a":{"b":1},"c":{"b":1}}"#,
        ),
        (
            r#"{"a/b":1,"m~n":2}"#,
            r#"[{"op":"test","path":"/a~1b","value":1},{"op":"remove","path":"/m~0n"}]"#,
            r#"{"a/b":1}"#,
        ),
        (r#"{"":1}"#, r#"[{"op":"replace","path":"","value":7}]"#, "7"),
        (
            r#"{"a":{"x":1,"y":2}}"#,
            r#"[{"op":"test","path":"/a","value":{"y":2,"x":1}}]"#,
            r#"{"a":{"x":1,"y":2}}"#,
        ),
    ] {
        let mut document_tree = tree(document);
        patch::apply(&mut document_tree, &tree(operations), &mut Budget::default()).unwrap();
        assert_eq!(json::to_text(&document_tree), wanted, "{document} {operations}");
    }
}

#[test]
fn operations_that_do_not_apply_say_which_and_why() {
    for (operation, reason) in [
        (
            r#"{"op":"add","path":"/a/3","value":1}"#,
            "the list has no such position",
        ),
        (
            r#"{"op":"add","path":"/a/01","value":1}"#,
            "the list has no such position",
        ),
        (
            r#"{"op":"add","path":"/x/y","value":1}"#,
            "there is no value at this place",
        ),
        (
            r#"{"op":"add","path":"/b/y","value":1}"#,
            "the parent of this place is neither an object nor a list",
        ),
        (r#"{"op":"add","path":"/b"}"#, "it has no value"),
        (r#"{"op":"remove","path":"/a/-"}"#, "there is no value at this place"),
        (
            r#"{"op":"remove","path":""}"#,
            "the whole object can't be removed by a patch",
        ),
        (
            r#"{"op":"replace","path":"/x","value":1}"#,
            "there is no value at this place",
        ),
        (
            r#"{"op":"test","path":"/b","value":"1"}"#,
            "the test failed: the value differs",
        ),
        (
            r#"{"op":"move","from":"/a","path":"/a/0"}"#,
            "a value cannot be moved into itself",
        ),
        (r#"{"op":"copy","path":"/a"}"#, "its 'from' is not a JSON pointer"),
        (r#"{"op":"remove","path":"a"}"#, "its path is not a JSON pointer"),
        (r#"{"op":"remove","path":"/a~2"}"#, "its path is not a JSON pointer"),
        (
            r#"{"op":"merge","path":"/a"}"#,
            "its 'op' is not one of add, remove, replace, move, copy and test",
        ),
    ] {
        let error = patch::apply(
            &mut tree(r#"{"a":[1,2],"b":1}"#),
            &tree(&format!(r#"[{{"op":"test","path":"/b","value":1}},{operation}]"#)),
            &mut Budget::default(),
        )
        .unwrap_err();
        assert_eq!((error.operation, error.reason), (1, reason), "{operation}");
    }
}

#[test]
fn a_patch_cannot_grow_without_bound() {
    let double = r#"{"op":"copy","from":"/a","path":"/a/-"}"#;
    let patch = tree(&format!("[{}]", vec![double; 60].join(",")));
    let error = patch::apply(&mut tree(r#"{"a":["0123456789"]}"#), &patch, &mut Budget::default()).unwrap_err();
    assert!(
        error.reason.contains("too large") || error.reason.contains("too deeply"),
        "{error}"
    );
    let wide = r#"{"op":"copy","from":"","path":"/b"},{"op":"copy","from":"","path":"/c"}"#;
    let patch = tree(&format!("[{}]", vec![wide; 60].join(",")));
    assert!(patch::apply(&mut tree(r#"{"a":"0123456789"}"#), &patch, &mut Budget::default()).is_err());
}

#[test]
fn a_million_edits_that_fail_are_a_hundred_short_errors() {
    let mut bundle = bundle();
    let big = object("ConfigMap", "big").with("data", Tree::object().with("a", "x".repeat(1 << 20)));
    bundle.add(vec![big], "x").unwrap();
    // Each would copy the object before it fails.
    let patch = tree(r#"[{"op": "remove", "path": "/nothing"}]"#);
    let edits = vec![Edit::JsonPatch(reference("ConfigMap", "big"), patch); 1_000_000];
    let errors = bundle.edit(edits, writer(&"a".into())).unwrap_err();
    assert_eq!(errors.len(), 100);
    let missing = reference("Service", &"n".repeat(1 << 20));
    let errors = bundle
        .edit(vec![Edit::Remove(missing.clone())], writer(&"a".into()))
        .unwrap_err();
    assert!(errors[0].message.len() < 3000, "{}", errors[0].message.len());
    assert!(errors[0].message.ends_with("nnn... (made by a)"));
    let named = vec![object("Service", &missing.name)];
    assert!(bundle.add(named, "a").unwrap_err()[0].message.len() < 3000);
}

#[test]
fn patches_cannot_work_without_bound() {
    let items = vec!["1"; 100_000].join(",");
    let patch = tree(&format!(
        "[{}]",
        vec![r#"{"op":"remove","path":"/0"}"#; 10_000].join(",")
    ));
    let error = patch::apply(&mut tree(&format!("[{items}]")), &patch, &mut Budget::default()).unwrap_err();
    assert_eq!(error.reason, "the patches need too much computation");
}

#[test]
fn a_patch_of_what_is_made_later_names_the_object_to_patch() {
    let mut bundle = bundle();
    let objects = [
        ("QuarksStatefulSet", "nats-broker"),
        ("QuarksJob", "smoke"),
        ("Service", "nats"),
    ];
    let objects = objects.map(|(kind, name)| object(kind, name)).to_vec();
    bundle.add(objects, "x").unwrap();
    for (kind, name, help) in [
        (
            "StatefulSet",
            "nats-broker-z0-v1",
            "change QuarksStatefulSet 'nats-broker' of quarks.cloudfoundry.org/v1alpha1, whose `spec.template` is the \
             StatefulSet",
        ),
        (
            "Job",
            "smoke",
            "change QuarksJob 'smoke' of quarks.cloudfoundry.org/v1alpha1, whose `spec.template` is the Job",
        ),
        ("Service", "natz", "did you mean 'nats'?"),
    ] {
        let edits = vec![Edit::MergePatch(reference(kind, name), tree("{}"))];
        let errors = bundle.edit(edits, writer(&"hook".into())).unwrap_err();
        assert_eq!(errors[0].help.as_deref(), Some(help), "{kind}");
    }
}

#[test]
fn a_plugin_that_removes_all_objects_is_named() {
    let mut bundle = bundle();
    bundle
        .add(["a", "b"].map(|name| object("Service", name)).to_vec(), "x")
        .unwrap();
    let remove = |name| vec![Edit::Remove(reference("Service", name))];
    assert_eq!(bundle.edit(remove("a"), writer(&"hook".into())).unwrap(), []);
    let reported = bundle.edit(remove("b"), writer(&"hook".into())).unwrap();
    assert_eq!(reported[0].code, "bundle-all-removed");
    assert!(
        reported[0].message.ends_with("(made by hook)"),
        "{}",
        reported[0].message
    );
}
