//! Links from outside of the deployment: which of them consumers get, what is shared, and errors.

use crate::deployment::{Case, quarks, tree};
use crate::links::{certificate, consumer};
use boson_document::json::to_text;
use boson_links::{ExternalLink, OtherDeployment};
use serde_json::{Value, json};

fn link(name: &str, kind: &str, origin: &str) -> ExternalLink {
    ExternalLink {
        name: name.into(),
        kind: kind.into(),
        origin: origin.into(),
        content: tree(
            &json!({"instances": [{"address": "10.0.0.1"}], "properties": {"from": origin}, "address": name}),
        ),
    }
}

/// The group `app` with a job that consumes the link `db` of the type `pg`, with these native links.
fn native(consumes: Value, providers: &[(&str, Value)], links: &[(&str, &str)]) -> Case {
    let mut case = consumer(false, consumes, providers);
    let links = links.iter().map(|(name, kind)| link(name, kind, "Secret 'native'"));
    case.external.native = links.collect();
    case
}

/// A case with a deployment `other` that shares these links.
fn shared(consumes: Value, links: &[(&str, &str)]) -> Case {
    let mut case = consumer(false, consumes, &[("pg", json!({}))]);
    let links = links
        .iter()
        .map(|(name, kind)| link(name, kind, "job 'j' in instance group 'g' in deployment 'other'"));
    case.external.deployments = vec![OtherDeployment {
        name: "other".into(),
        links: links.collect(),
    }];
    case
}

fn origin(case: &Case) -> String {
    quarks(&case.resolved(), "app", "/consumes/db/properties/from")
}

#[test]
fn native_links_match_by_the_rules_of_jobs() {
    for (consumes, links) in [
        (json!({}), &[("anything", "pg")][..]),
        (json!({}), &[("db", "pg"), ("db", "mysql")]),
        (json!({"db": {"from": "main"}}), &[("main", "pg"), ("db", "pg")]),
        (json!({"db": {}}), &[("db", "pg"), ("main", "pg")]),
    ] {
        assert_eq!(origin(&native(consumes, &[], links)), r#""Secret 'native'""#);
    }
    // A job is found by its own name, whatever native workloads provide.
    let own = native(json!({"db": {"from": "pgdb"}}), &[("pg", json!({}))], &[("db", "pg")]);
    assert_eq!(quarks(&own.resolved(), "app", "/consumes/db/instance_group"), r#""pg""#);
}

#[test]
fn a_job_and_a_native_workload_with_one_link_are_ambiguous() {
    for consumes in [json!({}), json!({"db": {"from": "pgdb"}})] {
        let case = native(consumes, &[("pg", json!({}))], &[("pgdb", "pg")]);
        let [(_, message)] = &case.errors()[..] else {
            panic!("{:?}", case.errors())
        };
        let wanted = "Multiple link providers found:\n  - Link provider 'pgdb' from job 'pg' in instance group 'pg' in deployment 'dep'\n  - \
                      Link provider 'pgdb' from Secret 'native'";
        assert!(message.ends_with(wanted), "{message}");
    }
}

#[test]
fn a_link_of_another_type_is_suggested_and_never_used() {
    let case = native(json!({"db": {"from": "db"}}), &[], &[("db", "mysql")]);
    let error = case.resolve().unwrap_err().remove(0);
    assert_eq!(error.code.name, "links-unresolved");
    let help = format!("{error:?}");
    assert!(
        help.contains("Secret 'native' provides a link of this name, but of the type 'mysql'"),
        "{help}"
    );
}

#[test]
fn a_link_of_another_deployment_is_used_only_if_the_consumer_names_that() {
    let consumes = json!({"db": {"from": "main", "deployment": "other"}});
    let case = shared(consumes.clone(), &[("main", "pg"), ("main", "mysql")]);
    assert!(origin(&case).contains("deployment 'other'"));
    // Without `deployment`, only links of the own deployment match.
    assert_eq!(
        shared(json!({"db": {"from": "main"}}), &[("main", "pg")])
            .errors()
            .len(),
        1
    );
    let own = shared(json!({}), &[("main", "pg")]);
    assert_eq!(quarks(&own.resolved(), "app", "/consumes/db/instance_group"), r#""pg""#);
    // Links of the own deployment do not match a consumer that names another.
    let error = &shared(json!({"db": {"from": "pgdb", "deployment": "other"}}), &[]).errors()[0];
    assert!(
        error.1.ends_with("Details below:\n  - No link providers found"),
        "{error:?}"
    );
    let two = shared(consumes, &[("main", "pg"), ("main", "pg")]);
    assert!(
        two.errors()[0].1.contains("Multiple link providers found"),
        "{:?}",
        two.errors()
    );
}

#[test]
fn a_shared_link_has_the_content_that_consumers_of_the_deployment_get() {
    let case = consumer(
        false,
        json!({}),
        &[("pg", json!({"pgdb": {"as": "main", "shared": true}}))],
    );
    let resolved = case.resolved();
    let [provided] = &resolved.providers[..] else {
        panic!("{:?}", resolved.providers)
    };
    let shared = provided.shared.as_ref().map(to_text);
    assert_eq!(provided.name, "main");
    assert_eq!(shared, Some(quarks(&resolved, "app", "/consumes/db")));
    assert_eq!(case.warnings(), []);
    let other = consumer(false, json!({}), &[("pg", json!({"pgdb": {"shared": "true"}}))]);
    assert_eq!(other.resolved().providers[0].shared, None);
}

#[test]
fn certificates_get_the_addresses_of_native_links() {
    let consumes = json!({"alternative_name": {"from": "proxy", "properties": {"wildcard": true}}});
    let mut case = certificate(consumes, json!(1));
    case.external.native = vec![link("proxy", "address", "Service 'proxy'")];
    let addresses = case.addresses().unwrap();
    assert_eq!(addresses["tls"].alternative_names, ["proxy", "10.0.0.1"]);
}
