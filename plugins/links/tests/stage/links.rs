//! Links: matching of providers and consumers, exposed properties, and errors.

use crate::deployment::{Case, group, quarks};
use boson_links::{Addresses, Consumed};
use serde_json::{Value, json};

/// A group `app` whose job `web` consumes the link `db` of type `pg`, with this entry in the manifest, and groups with
/// jobs `pg`.
pub fn consumer(optional: bool, consumes: Value, providers: &[(&str, Value)]) -> Case {
    let web = json!([{"name": "web", "release": "r", "consumes": consumes}]);
    let provider =
        |(name, provides): &(&str, Value)| group(name, json!([{"name": "pg", "release": "r", "provides": provides}]));
    let groups: Vec<Value> = std::iter::once(group("app", web))
        .chain(providers.iter().map(provider))
        .collect();
    Case::new(groups.into())
        .job("web", json!({"consumes": [{"name": "db", "type": "pg", "optional": optional}]}))
        .job("pg", json!({"provides": [{"name": "pgdb", "type": "pg", "properties": ["port"]}], "properties": {"port": {"default": 5432}}}))
}

#[test]
fn the_provider_is_found_by_boshs_rules() {
    let (none, one) = (json!({}), [("pg1", json!({}))]);
    let two = [("pg1", json!({})), ("pg2", json!({}))];
    let renamed = [("pg1", json!({})), ("pg2", json!({"pgdb": {"as": "main"}}))];
    let hidden = [("pg1", json!({"pgdb": "nil"})), ("pg2", json!({}))];
    for (consumes, providers, expected) in [
        (none.clone(), &one[..], Some("\"pg1\"")),
        (json!({"db": {"from": "pgdb"}}), &one[..], Some("\"pg1\"")),
        (json!({"db": {"from": "other.pgdb"}}), &one[..], Some("\"pg1\"")),
        (
            json!({"db": {"from": "pgdb", "deployment": "dep"}}),
            &one[..],
            Some("\"pg1\""),
        ),
        (
            json!({"db": {"from": "pgdb", "deployment": "manifest"}}),
            &one[..],
            Some("\"pg1\""),
        ),
        (json!({"db": {"from": "main"}}), &renamed[..], Some("\"pg2\"")),
        (json!({"db": {"from": "pgdb"}}), &renamed[..], Some("\"pg1\"")),
        (none.clone(), &hidden[..], Some("\"pg2\"")),
        // Explicit, so by name, and no provider is called `db`.
        (json!({"db": {}}), &one[..], None),
        (none.clone(), &[], None),
        (none, &two[..], None),
        (json!({"db": "nil"}), &one[..], None),
        (json!({"db": {"from": "pgdb"}}), &two[..], None),
    ] {
        let case = consumer(false, consumes.clone(), providers);
        match expected {
            Some(group) => assert_eq!(
                quarks(&case.resolved(), "app", "/consumes/db/instance_group"),
                group,
                "{consumes}"
            ),
            None => assert_eq!(case.errors().len(), 1, "{consumes}"),
        }
    }
}

#[test]
fn an_optional_link_may_be_absent_but_never_ambiguous() {
    let two = [("pg1", json!({})), ("pg2", json!({}))];
    for (consumes, providers, errors) in [
        (json!({}), &[][..], 0),
        (json!({"db": "nil"}), &two[..], 0),
        (json!({"db": {"from": "other"}}), &two[..], 1),
        (json!({}), &two[..], 1),
    ] {
        let case = consumer(true, consumes.clone(), providers);
        if errors == 0 {
            assert_eq!(quarks(&case.resolved(), "app", "/consumes"), "{}", "{consumes}");
        } else {
            assert_eq!(case.errors().len(), errors, "{consumes}");
        }
    }
}

#[test]
fn errors_are_boshs_and_name_the_entry() {
    let app = "/instance_groups/0/jobs/0";
    let two = [("pg1", json!({})), ("pg2", json!({"pgdb": {"as": "pg-two"}}))];
    for (consumes, providers, pointer, message) in [
        (
            json!({}),
            &[][..],
            "",
            "Failed to resolve link 'db' with type 'pg' from job 'web' in instance group 'app'. Details below:\n  - No link providers found",
        ),
        (
            json!({"db": {"from": "main"}}),
            &two[..],
            "/consumes/db",
            "Failed to resolve link 'db' with alias 'main' and type 'pg' from job 'web' in instance group 'app'. Details below:\n  - No link providers found",
        ),
        (
            json!({}),
            &two[..],
            "",
            "Failed to resolve link 'db' with type 'pg' from job 'web' in instance group 'app'. Multiple link providers found:\n  - \
             Link provider 'pgdb' from job 'pg' in instance group 'pg1' in deployment 'dep'\n  - \
             Link provider 'pgdb' with alias 'pg-two' from job 'pg' in instance group 'pg2' in deployment 'dep'",
        ),
        (
            json!({"db": {"from": "pgdb", "deployment": "other"}}),
            &two[..],
            "/consumes/db/deployment",
            "Link 'pgdb' in job 'web' from instance group 'app' consumes from deployment 'other', but the deployment does not exist.",
        ),
        (
            json!({"db": null}),
            &two[..],
            "/consumes/db",
            "Consumer 'db' in job 'web' in instance group 'app' specified in the manifest should only be a hash or string 'nil'",
        ),
        (
            json!({"db": {"instances": [], "from": "x"}}),
            &two[..],
            "/consumes/db/from",
            "Cannot specify both 'instances' and 'from' keys for link 'db' in job 'web' in instance group 'app'.",
        ),
        (
            json!({"db": {"properties": {}}}),
            &two[..],
            "/consumes/db/properties",
            "Cannot specify 'properties' without 'instances' for link 'db' in job 'web' in instance group 'app'.",
        ),
        (
            json!({"db": {"from": "pgdb", "ip_addresses": "yes"}}),
            &two[..],
            "/consumes/db/ip_addresses",
            "Cannot specify non boolean values for 'ip_addresses' field for link 'db' in job 'web' in instance group 'app'.",
        ),
        (
            json!({"db": {"type": "pg"}}),
            &two[..],
            "/consumes/db/type",
            "Cannot specify 'name' or 'type' properties in the manifest for link 'db' in job 'web' in instance group 'app'. \
             Please provide these keys in the release only.",
        ),
    ] {
        let errors = consumer(false, consumes.clone(), providers).errors();
        assert_eq!(errors, [(format!("{app}{pointer}"), message.to_string())], "{consumes}");
    }
}

#[test]
fn a_provider_that_is_set_up_wrongly_is_reported_in_boshs_words() {
    let site = "in job 'pg' in instance group 'pg1'";
    for (provides, custom, pointer, message) in [
        (
            json!({"pgdb": null}),
            json!([]),
            "/provides/pgdb",
            format!("Provider 'pgdb' {site} specified in the manifest should only be a hash or string 'nil'"),
        ),
        (
            json!({"pgdb": {"name": "x"}}),
            json!([]),
            "/provides/pgdb/name",
            format!(
                "Cannot specify 'name' or 'type' properties in the manifest for link 'pgdb' {site}. Please provide these keys in the release only."
            ),
        ),
        (
            json!({}),
            json!([{"name": "", "type": "t"}]),
            "/custom_provider_definitions/0",
            format!("Name for custom link provider definition in manifest {site} must be a valid non-empty string."),
        ),
        (
            json!({}),
            json!([{"name": "pgdb", "type": "t"}]),
            "/custom_provider_definitions/0/name",
            format!("Custom provider 'pgdb' {site} is already defined in release 'r'"),
        ),
        (
            json!({}),
            json!([{"name": "c", "type": "t"}, {"name": "c", "type": "t"}]),
            "/custom_provider_definitions/1/name",
            format!("Custom provider 'c' {site} is defined multiple times in manifest."),
        ),
        (
            json!({}),
            json!([{"name": "c", "type": "t", "properties": ["absent"]}]),
            "/custom_provider_definitions/0/properties",
            "Link property absent in template pg is not defined in release spec".to_string(),
        ),
    ] {
        let job = json!([{"name": "pg", "release": "r", "provides": provides, "custom_provider_definitions": custom}]);
        let case =
            Case::new(json!([group("pg1", job)])).job("pg", json!({"provides": [{"name": "pgdb", "type": "pg"}]}));
        assert_eq!(
            case.errors(),
            [(format!("/instance_groups/0/jobs/0{pointer}"), message)]
        );
    }
}

#[test]
fn all_errors_of_all_groups_come_together() {
    let jobs = || json!([{"name": "web", "release": "r"}]);
    let case = Case::new(json!([group("a", jobs()), group("b", jobs())])).job(
        "web",
        json!({"consumes": [{"name": "x", "type": "x"}, {"name": "y", "type": "y"}]}),
    );
    let places: Vec<String> = case.errors().into_iter().map(|(place, _)| place).collect();
    assert_eq!(places.len(), 4);
    assert_eq!(places[3], "/instance_groups/1/jobs/0");
}

#[test]
fn a_link_shows_the_providers_instances_and_addresses() {
    let db = json!({"name": "db", "instances": 3, "azs": ["z1", "z2"], "jobs": [{"name": "pg", "release": "r"}]});
    let web = group("app", json!([{"name": "web", "release": "r"}]));
    let case = Case::new(json!([web, db]))
        .job("web", json!({"consumes": [{"name": "db", "type": "pg"}]}))
        .job("pg", json!({"provides": [{"name": "pgdb", "type": "pg"}]}));
    let resolved = case.resolved();
    let link = |pointer: &str| quarks(&resolved, "app", &format!("/consumes/db{pointer}"));
    assert_eq!(link("/address"), "\"dep-db.ns.svc.cluster.local\"");
    assert_eq!(link("/properties"), "{}");
    assert_eq!(
        link("/instances/2"),
        r#"{"name":"db","index":2,"id":"db-2","az":"z1","address":"dep-db-2.ns.svc.cluster.local","bootstrap":false}"#
    );
    assert_eq!(link("/instances/3"), "(absent)");
}

#[test]
fn exposed_properties_are_the_manifests_or_the_specs_defaults() {
    let spec = json!({
        "provides": [{"name": "pgdb", "type": "pg", "properties": ["port", "tls.ca", "tls.key", "nothing", "users"]}],
        "properties": {"port": {"default": 1}, "tls.ca": {"default": "ca"}, "tls.key": {"default": "key"}, "nothing": {}, "users.admin": {}}
    });
    let given = json!({"port": null, "tls": {"ca": "mine"}, "users": {"b": 1, "a": 2}, "secret": "s3cret"});
    let groups = json!([
        group("app", json!([{"name": "web", "release": "r"}])),
        group("db", json!([{"name": "pg", "release": "r", "properties": given}])),
    ]);
    let case = Case::new(groups)
        .job("web", json!({"consumes": [{"name": "db", "type": "pg"}]}))
        .job("pg", spec);
    let resolved = case.resolved();
    // An explicit null stays null here, unlike in the job's own properties; what is exposed as a whole keeps the
    // manifest's order.
    let expected = r#"{"port":null,"tls":{"ca":"mine","key":"key"},"nothing":null,"users":{"b":1,"a":2}}"#;
    assert_eq!(quarks(&resolved, "app", "/consumes/db/properties"), expected);
    assert_eq!(
        boson_document::json::to_text(&resolved.providers[0].properties),
        expected
    );
}

#[test]
fn a_manual_link_is_exactly_what_the_manifest_says() {
    for (entry, expected) in [
        (
            json!({"instances": [{"address": "10.0.0.1", "extra": 1}], "properties": {"port": 1}, "address": "a"}),
            r#"{"instances":[{"address":"10.0.0.1","extra":1}],"properties":{"port":1},"address":"a","deployment_name":"dep"}"#,
        ),
        (
            json!({"instances": []}),
            r#"{"instances":[],"properties":null,"address":null,"deployment_name":"dep"}"#,
        ),
        (
            json!({"address": "a"}),
            r#"{"instances":[],"properties":null,"address":"a","deployment_name":"dep"}"#,
        ),
    ] {
        let case = consumer(false, json!({"db": entry}), &[("pg1", json!({}))]);
        assert_eq!(quarks(&case.resolved(), "app", "/consumes/db"), expected);
    }
}

#[test]
fn link_data_in_the_property_quarks_stands_in_for_the_deployments() {
    let given = json!({"quarks": {"ports": [], "consumes": {"db": {"address": "pg.example", "instances": []}}}});
    let groups = json!([group(
        "app",
        json!([{"name": "web", "release": "r", "properties": given}])
    )]);
    let case = Case::new(groups).job("web", json!({"consumes": [{"name": "db", "type": "pg"}]}));
    assert_eq!(
        quarks(&case.resolved(), "app", "/consumes/db/address"),
        "\"pg.example\""
    );
    assert_eq!(quarks(&case.resolved(), "app", "/ports"), "[]");
}

#[test]
fn link_data_of_a_wrong_type_is_reported_without_its_value() {
    for (given, place) in [
        (json!("s3cret"), "/db"),
        (json!({"instances": "s3cret"}), "/db/instances"),
        (json!({"instances": ["s3cret"]}), "/db/instances/0"),
    ] {
        let given = json!({"quarks": {"consumes": {"db": given}}});
        let groups = json!([group(
            "app",
            json!([{"name": "web", "release": "r", "properties": given}])
        )]);
        let errors = Case::new(groups)
            .job("web", json!({"consumes": [{"name": "db", "type": "pg"}]}))
            .errors();
        assert_eq!(
            errors[0].0,
            format!("/instance_groups/0/jobs/0/properties/quarks/consumes{place}")
        );
        assert!(!errors[0].1.contains("s3cret"), "{}", errors[0].1);
    }
}

#[test]
fn a_job_may_consume_its_own_link_and_custom_providers_provide() {
    let job = json!([{"name": "peer", "release": "r", "custom_provider_definitions": [{"name": "c", "type": "ct", "properties": ["p"]}],
        "provides": {"c": {"as": "custom"}}, "consumes": {"mine": {"from": "custom"}}}]);
    let case = Case::new(json!([group("g", job)])).job(
        "peer",
        json!({"provides": [{"name": "peers", "type": "pt"}], "consumes": [{"name": "peers", "type": "pt"}, {"name": "mine", "type": "ct"}],
            "properties": {"p": {"default": 7}}}),
    );
    let resolved = case.resolved();
    assert_eq!(quarks(&resolved, "g", "/consumes/peers/instances/0/id"), "\"g-0\"");
    assert_eq!(quarks(&resolved, "g", "/consumes/mine/properties"), r#"{"p":7}"#);
    let reported: Vec<_> = resolved
        .providers
        .iter()
        .map(|p| (p.name.as_str(), p.kind.as_str(), p.job.as_str()))
        .collect();
    assert_eq!(reported, [("custom", "ct", "peer"), ("peers", "pt", "peer")]);
}

#[test]
fn disks_provide_links_of_their_own_type() {
    let mut db = group("db", json!([{"name": "pg", "release": "r"}]));
    db["persistent_disks"] = json!([{"name": "store", "type": "fast"}]);
    let case = Case::new(json!([db])).job("pg", json!({"consumes": [{"name": "store", "type": "disk"}]}));
    assert_eq!(
        quarks(&case.resolved(), "db", "/consumes/store"),
        r#"{"deployment_name":"dep","instances":[],"properties":{"name":"store"}}"#
    );
}

#[test]
fn what_has_no_effect_is_reported() {
    let consumes = json!({"db": {"from": "pgdb", "network": "n", "ip_addresses": true, "odd": 1}, "unknown": {}});
    let provides = json!({"pgdb": {"shared": true, "aliases": [{"domain": "x"}]}, "unknown": {}});
    let warnings = consumer(false, consumes, &[("pg1", provides)]).warnings();
    let places: Vec<&str> = warnings.iter().map(|(place, _)| place.as_str()).collect();
    let (app, pg) = ("/instance_groups/0/jobs/0", "/instance_groups/1/jobs/0");
    for pointer in [
        format!("{app}/consumes/db/odd"),
        format!("{app}/consumes/db/network"),
        format!("{app}/consumes/db/ip_addresses"),
        format!("{app}/consumes/unknown"),
        format!("{pg}/provides/unknown"),
    ] {
        assert!(places.contains(&pointer.as_str()), "{pointer} {places:?}");
    }
    // Aliases become names of the deployment.
    assert_eq!(places.len(), 5, "{warnings:?}");
}

#[test]
fn false_and_empty_declarations_warn_of_nothing() {
    let case = consumer(
        false,
        json!({"db": {"from": "pgdb", "ip_addresses": false}}),
        &[("pg1", json!({"pgdb": {"shared": false}}))],
    );
    assert_eq!(case.warnings(), []);
}

// --- links of variables ---

pub fn certificate(consumes: Value, instances: Value) -> Case {
    let api = json!([{"name": "api", "instances": instances, "jobs": [{"name": "api", "release": "r", "properties": "((props))",
        "custom_provider_definitions": [{"name": "addr", "type": "address"}], "provides": {"addr": {"as": "api_addr"}}}]}]);
    let variables = json!([{"name": "tls", "type": "certificate", "consumes": consumes, "options": {}}, {"name": "other", "type": "password"}]);
    Case::new(api).key("variables", variables).job("api", json!({}))
}

#[test]
fn variables_get_the_addresses_of_groups_before_placeholders_are_replaced() {
    let tls = |alternative_names: &[&str], common_name: Option<&str>| {
        let consumed = Consumed {
            alternative_names: alternative_names.iter().map(ToString::to_string).collect(),
            common_name: common_name.map(Into::into),
        };
        Addresses::from([("tls".into(), consumed)])
    };
    let address = "dep-api.ns.svc.cluster.local";
    for (consumes, instances, expected) in [
        (
            json!({"alternative_name": {"from": "api_addr"}}),
            json!("((n))"),
            tls(&[address], None),
        ),
        (
            json!({"common_name": {"from": "api_addr"}}),
            json!(1),
            tls(&[], Some(address)),
        ),
        (
            json!({"alternative_name": {"from": "api_addr", "properties": {"wildcard": true}}}),
            json!(1),
            tls(&[address, "dep-api-0.ns.svc.cluster.local"], None),
        ),
        (
            json!({"common_name": {"from": "api_addr", "properties": {"wildcard": true}}}),
            json!(1),
            tls(&[], Some("*.ns.svc.cluster.local")),
        ),
        (json!(null), json!(1), Addresses::new()),
    ] {
        assert_eq!(certificate(consumes, instances).addresses(), Ok(expected));
    }
}

#[test]
fn a_variable_without_its_link_is_reported_in_boshs_words() {
    let message = "Failed to resolve link 'common_name' with alias 'x' and type 'address' from variable 'tls'. Details below:\n  \
                   - No link providers found";
    let place = "/variables/0/consumes/common_name";
    let case = certificate(json!({"common_name": {"from": "x"}}), json!("((n))"));
    assert_eq!(case.addresses(), Err(vec![(place.to_string(), message.to_string())]));
}

#[test]
fn services_that_share_a_name_are_reported_by_the_bpm_stage_alone() {
    let groups = json!([{"name": "web", "instances": 2, "jobs": []}, group("web-1", json!([]))]);
    assert_eq!(Case::new(groups).resolved().groups.len(), 2);
}

#[test]
fn the_errors_of_all_links_are_collected_in_the_directors_words() {
    let jobs = json!([{"name": "web", "release": "r"}]);
    let case = Case::new(json!([group("app", jobs.clone()), group("other", jobs)])).job(
        "web",
        json!({"consumes": [{"name": "db", "type": "pg"}, {"name": "q", "type": "mq"}]}),
    );
    let reported = case.resolve().expect_err("they have no provider");
    let [rest @ .., all] = &reported[..] else {
        panic!("{reported:?}")
    };
    let line = |link: &str, kind: &str, group: &str| {
        let link =
            format!("Failed to resolve link '{link}' with type '{kind}' from job 'web' in instance group '{group}'.");
        format!("\n  - {link} Details below:\n    - No link providers found")
    };
    let expected = [
        ("db", "pg", "app"),
        ("q", "mq", "app"),
        ("db", "pg", "other"),
        ("q", "mq", "other"),
    ];
    let lines: String = expected
        .iter()
        .map(|(link, kind, group)| line(link, kind, group))
        .collect();
    assert_eq!(
        all.message,
        format!("Failed to resolve links from deployment 'dep'. See errors below:{lines}")
    );
    assert_eq!((all.code.name, rest.len()), ("links-failed", 4));
}
