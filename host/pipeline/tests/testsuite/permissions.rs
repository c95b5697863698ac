//! What an administrator allows plugins: kinds, privileges, labels and annotations, to all or to some.

use boson_document::{Tree, json};
use boson_manifest::instances::Spread;
use boson_pipeline::bundle::privileges::GrantedPrivileges;
use boson_pipeline::bundle::{Bundle, Grant, Permissions, Writer};
use boson_pipeline::stage::{Deployment, Edit, ObjectReference};
use boson_pipeline::{Author, Diagnostic, Installer};

const SECRET: &str = r#"{"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": {"name": "s"},
    "spec": {"secretStoreRef": {"name": "vault"}}}"#;
const KIND: &str = "external-secrets.io/v1/ExternalSecret";

fn tree(text: &str) -> Tree {
    json::parse(text).unwrap()
}

fn of_namespace(name: &str, namespace: &str) -> Author {
    Author {
        called: format!("plugin '{name}', sha256:0123456789ab"),
        names: vec![name.into()],
        installer: Installer::Namespace {
            name: namespace.into(),
            is_of_operator: namespace == "boson-system",
        },
    }
}

fn grants<T: std::str::FromStr<Err = String>>(texts: &[&str]) -> Vec<Grant<T>> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// These kinds and privileges are allowed.
fn allowing(kinds: &[&str], privileges: &[&str]) -> Permissions {
    Permissions::new(grants(kinds), grants(privileges)).unwrap()
}

fn bundle(permissions: &Permissions, manifest: &str) -> Bundle {
    let deployment = Deployment {
        name: "dep".into(),
        namespace: "ns".into(),
        cluster_domain: "cluster.local".into(),
        operator_image: "host".into(),
        registry: None,
        spread: Spread::Total,
    };
    Bundle::with_rules(&deployment, GrantedPrivileges::default(), permissions, &tree(manifest))
}

/// The only error, with its help.
fn error(result: Result<impl Sized, Vec<Diagnostic>>) -> String {
    let errors = result.err().unwrap();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let help = errors[0].help.clone().unwrap_or_default();
    format!("{}: {} | {help}", errors[0].code, errors[0].message)
}

fn merge(object: &str, patch: &str) -> Vec<Edit> {
    let object = tree(object);
    let reference = ObjectReference {
        api_version: object.str("apiVersion").unwrap().into(),
        kind: object.str("kind").unwrap().into(),
        name: object.get("metadata").unwrap().str("name").unwrap().into(),
    };
    vec![Edit::MergePatch(reference, tree(patch))]
}

fn edit(bundle: &mut Bundle, author: &Author, edits: Vec<Edit>) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    bundle.edit(
        edits,
        Writer {
            author,
            is_ordered: true,
        },
    )
}

#[test]
fn a_custom_resource_needs_a_permission_that_the_message_names() {
    let (trusted, user) = (of_namespace("vault", "boson-system"), of_namespace("vault", "team"));
    for (kinds, to_trusted, to_user) in [
        (&[][..], false, false),
        (&[KIND], true, true),
        (&["vault:external-secrets.io/v1/ExternalSecret"], true, false),
        (&["other:external-secrets.io/v1/ExternalSecret"], false, false),
        (&["team/vault:external-secrets.io/v1/ExternalSecret"], false, true),
        (&["external-secrets.io/v1beta1/ExternalSecret"], false, false),
    ] {
        let permissions = allowing(kinds, &[]);
        for (author, is_allowed) in [(&trusted, to_trusted), (&user, to_user)] {
            let added = bundle(&permissions, "{}").add(vec![tree(SECRET)], author.clone());
            assert_eq!(added.is_ok(), is_allowed, "{kinds:?} {author:?}");
        }
    }
    let nothing = allowing(&[], &[]);
    let refused = |author: &Author| error(bundle(&nothing, "{}").add(vec![tree(SECRET)], author.clone()));
    assert_eq!(
        refused(&user),
        "bundle-kind-not-allowed: ExternalSecret 's': objects of apiVersion 'external-secrets.io/v1' and this kind are \
         not allowed (made by plugin 'vault', sha256:0123456789ab) | an administrator can allow it with \
         --allow-kind team/vault:external-secrets.io/v1/ExternalSecret"
    );
    assert!(refused(&trusted).ends_with("--allow-kind vault:external-secrets.io/v1/ExternalSecret"));
    let role = r#"{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "s"}}"#;
    let refused = error(bundle(&nothing, "{}").add(vec![tree(role)], user));
    assert!(
        refused.contains("| no option allows it: only custom resources"),
        "{refused}"
    );
}

#[test]
fn a_plugin_without_the_permission_cannot_change_the_custom_resource_of_another() {
    let permissions = allowing(&["vault:external-secrets.io/v1/ExternalSecret"], &[]);
    let (vault, other) = (
        of_namespace("vault", "boson-system"),
        of_namespace("labels", "boson-system"),
    );
    let mut bundle = bundle(&permissions, "{}");
    edit(&mut bundle, &vault, vec![Edit::Add(tree(SECRET))]).unwrap();
    for edits in [
        merge(SECRET, r#"{"metadata": {"labels": {"a": "b"}}}"#),
        merge(SECRET, r#"{"spec": null}"#),
        match merge(SECRET, "{}").remove(0) {
            Edit::MergePatch(reference, _) => vec![Edit::Remove(reference)],
            other => vec![other],
        },
    ] {
        let refused = error(edit(&mut bundle, &other, edits));
        assert!(
            refused.ends_with("--allow-kind labels:external-secrets.io/v1/ExternalSecret"),
            "{refused}"
        );
    }
    edit(
        &mut bundle,
        &vault,
        merge(SECRET, r#"{"metadata": {"labels": {"a": "b"}}}"#),
    )
    .unwrap();
}

#[test]
fn a_custom_resource_gets_no_more_privileges_than_other_objects() {
    let permissions = allowing(&["example.com/v1/Rollout"], &[]);
    let author = of_namespace("p", "team");
    for (spec, field) in [
        (
            r#"{"template": {"spec": {"hostNetwork": true}}}"#,
            "'hostNetwork' in spec.template.spec.hostNetwork",
        ),
        (
            r#"{"steps": [{"name": "a", "securityContext": {"privileged": true}}]}"#,
            "'privileged' in spec.steps.0.securityContext.privileged",
        ),
        (
            r#"{"podTemplate": {"volumes": [{"hostPath": {"path": "/etc"}}]}}"#,
            "'hostPath=/etc' in spec.podTemplate.volumes.0",
        ),
        (
            r#"{"auth": {"serviceAccountRef": {"name": "admin"}}}"#,
            "'serviceAccountName=admin' in spec.auth.serviceAccountRef.name",
        ),
        (
            r#"{"labels": {"quarks.cloudfoundry.org/plugin": "ops"}}"#,
            "'quarks.cloudfoundry.org/plugin' is reserved",
        ),
        (
            r#"{"target": {"template": {"metadata": {"labels": {"quarks.cloudfoundry.org/plugin": "ops"}}}}}"#,
            "'quarks.cloudfoundry.org/plugin' is reserved",
        ),
    ] {
        let object = format!(
            r#"{{"apiVersion": "example.com/v1", "kind": "Rollout", "metadata": {{"name": "r"}}, "spec": {spec}}}"#
        );
        let refused = error(bundle(&permissions, "{}").add(vec![tree(&object)], author.clone()));
        assert!(refused.contains(field), "{spec}: {refused}");
    }
    let foreign =
        r#"{"apiVersion": "example.com/v1", "kind": "Rollout", "metadata": {"name": "r", "namespace": "kube-system"}}"#;
    let refused = error(bundle(&permissions, "{}").add(vec![tree(foreign)], author));
    assert!(refused.starts_with("bundle-foreign-object"), "{refused}");
}

/// A Deployment whose pods use the network of their node.
const ON_HOST: &str = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "proxy"},
    "spec": {"template": {"spec": {"hostNetwork": true, "containers": [{"name": "c", "image": "proxy"}]}}}}"#;

#[test]
fn a_privilege_of_one_plugin_cannot_be_used_by_another() {
    let permissions = allowing(&[], &["proxy:hostNetwork"]);
    let (proxy, other) = (
        of_namespace("proxy", "boson-system"),
        of_namespace("labels", "boson-system"),
    );
    let refused = error(bundle(&permissions, "{}").add(vec![tree(ON_HOST)], other.clone()));
    assert!(
        refused.contains("for 'hostNetwork' in spec.template.spec.hostNetwork")
            && refused.contains("(made by plugin 'labels', sha256:0123456789ab)")
            && refused.ends_with("--allow-privilege labels:hostNetwork"),
        "{refused}"
    );
    let mut bundle = bundle(&permissions, "{}");
    edit(&mut bundle, &proxy, vec![Edit::Add(tree(ON_HOST))]).unwrap();
    let labels = r#"{"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 2, "template": {"metadata": {"labels": {"a": "b"}}}}}"#;
    edit(&mut bundle, &other, merge(ON_HOST, labels)).unwrap();
    let image = r#"{"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "evil"}]}}}}"#;
    let refused = error(edit(&mut bundle, &other, merge(ON_HOST, image)));
    assert!(refused.ends_with("--allow-privilege labels:hostNetwork"), "{refused}");
    edit(&mut bundle, &proxy, merge(ON_HOST, image)).unwrap();
}

/// A Service with a label that the manifest sets.
const SERVICE: &str =
    r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "labels": {"tier": "web"}}}"#;

#[test]
fn only_allowed_labels_and_annotations_are_set() {
    let manifest = r#"{"tags": {"cost": "7"}, "instance_groups": [{"jobs": [{"properties": {"labels": {"secret": "x"}}}],
        "env": {"bosh": {"agent": {"settings": {"labels": {"tier": "web"}}}}}}]}"#;
    let permissions = allowing(&[], &[]).with_keys(
        Some(grants(&["example.com/*", "labels:team"])),
        Some(grants(&["example.com/owner"])),
    );
    let (labels, user) = (of_namespace("labels", "boson-system"), of_namespace("labels", "team"));
    let set = |author: &Author, metadata: &str| {
        let mut bundle = bundle(&permissions, manifest);
        bundle.add(vec![tree(SERVICE)], "bpm").unwrap();
        edit(
            &mut bundle,
            author,
            merge(SERVICE, &format!(r#"{{"metadata": {metadata}}}"#)),
        )
    };
    for fine in [
        r#"{"labels": {"example.com/a": "x"}}"#,
        r#"{"labels": {"team": "x", "tier": "db"}}"#,
        r#"{"annotations": {"example.com/owner": "x", "cost": "8"}}"#,
        r#"{"labels": {"tier": null}}"#,
    ] {
        set(&labels, fine).unwrap();
    }
    for (author, metadata, expected) in [
        (
            &labels,
            r#"{"annotations": {"example.com/other": "x"}}"#,
            "it sets the annotation 'example.com/other' in metadata.annotations (made by plugin 'labels', \
             sha256:0123456789ab) | an administrator can allow it with --allow-annotation labels:example.com/other",
        ),
        (
            &user,
            r#"{"labels": {"team": "x"}}"#,
            "it sets the label 'team' in metadata.labels (made by plugin 'labels', sha256:0123456789ab) | \
             an administrator can allow it with --allow-label team/labels:team",
        ),
        (
            &user,
            r#"{"labels": {"secret": "x"}}"#,
            "--allow-label team/labels:secret",
        ),
    ] {
        let refused = error(set(author, metadata));
        assert!(
            refused.starts_with("bundle-key-not-allowed: Service 's': "),
            "{refused}"
        );
        assert!(refused.ends_with(expected), "{refused}");
    }
    // Without the options, any key but those of the operator.
    let mut free = bundle(&Permissions::default(), manifest);
    free.add(vec![tree(SERVICE)], "bpm").unwrap();
    edit(
        &mut free,
        &user,
        merge(SERVICE, r#"{"metadata": {"labels": {"any": "x"}}}"#),
    )
    .unwrap();
}

#[test]
fn two_kinds_of_one_name_cannot_be_allowed() {
    let conflict = Permissions::new(grants(&[KIND, "example.com/v1/ExternalSecret"]), Vec::new()).unwrap_err();
    assert_eq!(
        conflict.to_string(),
        "'external-secrets.io/v1/ExternalSecret' and 'example.com/v1/ExternalSecret' have the same name: only one of them \
         can be allowed"
    );
    let twice = allowing(&[KIND, "vault:external-secrets.io/v1/ExternalSecret"], &[]);
    assert_eq!(twice.kinds().len(), 1);
}
