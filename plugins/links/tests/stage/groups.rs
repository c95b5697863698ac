//! Groups, jobs and addons: what the resolved document holds, and what is refused.

use crate::deployment::{Case, at, group, quarks};
use boson_links::Ids;
use boson_manifest::instances::Spread;
use serde_json::json;

#[test]
fn the_document_holds_one_group_and_what_it_uses() {
    let mut web = group(
        "web",
        json!([{"name": "nginx", "release": "r", "properties": {"b": {"x": 1}}, "consumes": {}}]),
    );
    web["stemcell"] = json!("jammy");
    web["update"] = json!({"canaries": 2});
    web["env"] = json!({"bosh": {}});
    let case = Case::new(json!([web, group("db", json!([{"name": "pg", "release": "q"}]))]))
        .key("releases", json!([{"name": "r", "version": 1.10, "url": "u"}, {"name": "q", "version": "2"}]))
        .key("stemcells", json!([{"alias": "jammy", "os": "ubuntu-jammy", "version": "1"}, {"alias": "old", "os": "o", "version": "1"}]))
        .key("update", json!({"canaries": 1, "max_in_flight": 3}))
        .key("tags", json!({"team": "t"}))
        .key("variables", json!([]))
        .job("nginx", json!({"properties": {"b.x": {}, "a": {"default": [1]}}}))
        .job_of("q", "pg", json!({}));
    let resolved = case.resolved();
    assert_eq!(
        resolved.groups.iter().map(|g| g.name.as_str()).collect::<Vec<_>>(),
        ["web", "db"]
    );
    for (pointer, expected) in [
        ("/name", "\"dep\""),
        ("/releases", r#"[{"name":"r","version":1.1,"url":"u"}]"#),
        ("/stemcells", r#"[{"alias":"jammy","os":"ubuntu-jammy","version":"1"}]"#),
        ("/update", r#"{"canaries":1,"max_in_flight":3}"#),
        ("/tags", r#"{"team":"t"}"#),
        ("/variables", "(absent)"),
        ("/instance_groups/1", "(absent)"),
        ("/instance_groups/0/update", r#"{"canaries":2,"max_in_flight":3}"#),
        ("/instance_groups/0/env", r#"{"bosh":{}}"#),
        ("/instance_groups/0/jobs/0/consumes", "(absent)"),
        ("/instance_groups/0/jobs/0/properties/b", r#"{"x":1}"#),
        ("/instance_groups/0/jobs/0/properties/a", "[1]"),
        (
            "/instance_groups/0/jobs/0/properties/quarks/release",
            r#"{"name":"r","version":"1.1"}"#,
        ),
    ] {
        assert_eq!(at(&resolved, "web", pointer), expected, "{pointer}");
    }
}

#[test]
fn an_instance_has_the_spec_that_templates_see() {
    let web = json!({"name": "web", "instances": 2, "azs": ["z1", "z2"], "persistent_disk": 10240, "jobs": [{"name": "nginx", "release": "r"}]});
    let resolved = Case::new(json!([web])).job("nginx", json!({})).resolved();
    let expected = concat!(
        r#"{"name":"web","index":1,"id":"web-1","az":"z2","address":"dep-web-1.ns.svc.cluster.local","bootstrap":false,"#,
        r#""ip":"$(POD_IP)","deployment":"dep","job":{"name":"web"},"networks":{"default":{"type":"dynamic","ip":"$(POD_IP)","#,
        r#""default":["dns","gateway"],"dns_record_name":"dep-web-1.ns.svc.cluster.local"}},"dns_domain_name":"svc.cluster.local","#,
        r#""persistent_disk":10240,"properties_need_filtering":true}"#
    );
    assert_eq!(quarks(&resolved, "web", "/instances/1"), expected);
    assert_eq!(quarks(&resolved, "web", "/instances/2"), "(absent)");
}

#[test]
fn networks_have_the_names_of_the_manifest_and_the_zone_is_null_without_azs() {
    let mut web = group("web", json!([{"name": "nginx", "release": "r"}]));
    web["networks"] = json!([
        {"name": "front", "default": ["dns"]}, {"name": "back", "default": ["gateway", "addressable"]}
    ]);
    let case = Case::new(json!([web])).job(
        "nginx",
        json!({"provides": [{"name": "http", "type": "http"}], "consumes": [{"name": "http", "type": "http"}]}),
    );
    let resolved = case.resolved();
    for (pointer, expected) in [
        ("/instances/0/networks/front/default", r#"["dns"]"#),
        ("/instances/0/networks/back/default", r#"["gateway","addressable"]"#),
        ("/instances/0/networks/default", "(absent)"),
        ("/instances/0/az", "null"),
        ("/consumes/http/default_network", "\"back\""),
        ("/consumes/http/instances/0/az", "null"),
    ] {
        assert_eq!(quarks(&resolved, "web", pointer), expected, "{pointer}");
    }
}

#[test]
fn all_jobs_of_an_instance_have_one_id_unless_the_setting_asks_for_one_of_each() {
    let jobs = json!([{"name": "rep", "release": "r"}, {"name": "route_emitter", "release": "r"}]);
    let mut case = Case::new(json!([group("diego-cell", jobs)]))
        .job("rep", json!({"provides": [{"name": "cell", "type": "cell"}]}))
        .job("route_emitter", json!({"consumes": [{"name": "cell", "type": "cell"}]}));
    let seen = |case: &Case| {
        let resolved = case.resolved();
        let ids = [0, 1].map(|job| {
            let spec = format!("/instance_groups/0/jobs/{job}/properties/quarks/instances/0");
            [
                at(&resolved, "diego-cell", &format!("{spec}/id")),
                at(&resolved, "diego-cell", &format!("{spec}/name")),
            ]
        });
        let link = "/instance_groups/0/jobs/1/properties/quarks/consumes/cell/instances/0/id";
        (ids, at(&resolved, "diego-cell", link))
    };
    let (ids, link) = seen(&case);
    assert_eq!(
        ids,
        [[r#""diego-cell-0""#, r#""diego-cell""#]; 2].map(|both| both.map(String::from))
    );
    assert_eq!(link, r#""diego-cell-0""#);
    case.ids = Ids::Job;
    let (ids, link) = seen(&case);
    assert_eq!(ids[0], [r#""diego-cell-0-rep""#, r#""diego-cell-rep""#]);
    assert_eq!(
        ids[1],
        [r#""diego-cell-0-route_emitter""#, r#""diego-cell-route_emitter""#]
    );
    assert_eq!(link, r#""diego-cell-0-rep""#);
}

#[test]
fn instances_are_spread_over_the_zones_or_repeated_in_each() {
    let web = json!({"name": "web", "instances": 3, "azs": ["z1", "z2"], "jobs": [{"name": "j", "release": "r"}]});
    let mut case = Case::new(json!([web])).job("j", json!({}));
    let azs = |case: &Case| {
        let resolved = case.resolved();
        let az = |nth| quarks(&resolved, "web", &format!("/instances/{nth}/az"));
        (0..7)
            .map(az)
            .take_while(|az| az != "(absent)")
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(azs(&case), r#""z1" "z2" "z1""#);
    case.spread = Spread::PerZone;
    assert_eq!(azs(&case), r#""z1" "z1" "z1" "z2" "z2" "z2""#);
}

#[test]
fn groups_without_zones_or_instances_and_errands_resolve() {
    let job = || json!([{"name": "j", "release": "r"}]);
    let groups = json!([
        {"name": "none", "instances": 0, "jobs": job()},
        {"name": "smoke", "instances": 1, "lifecycle": "errand", "jobs": job()},
        {"name": "empty", "instances": 1, "jobs": []},
    ]);
    let resolved = Case::new(groups).job("j", json!({})).resolved();
    assert_eq!(quarks(&resolved, "none", "/instances"), "[]");
    assert_eq!(quarks(&resolved, "smoke", "/instances/0/az"), "null");
    assert_eq!(quarks(&resolved, "smoke", "/instances/0/bootstrap"), "true");
    assert_eq!(at(&resolved, "empty", "/instance_groups/0/jobs"), "[]");
}

#[test]
fn deprecated_properties_reach_only_jobs_without_their_own() {
    let mut web = group(
        "web",
        json!([{"name": "j", "release": "r"}, {"name": "k", "release": "r", "properties": {}}]),
    );
    web["properties"] = json!({"a": {"y": 2}});
    let spec = || json!({"properties": {"a": {}}});
    let case = Case::new(json!([web]))
        .key("properties", json!({"a": {"x": 1, "y": 1}}))
        .job("j", spec())
        .job("k", spec());
    let resolved = case.resolved();
    assert_eq!(
        at(&resolved, "web", "/instance_groups/0/jobs/0/properties/a"),
        r#"{"x":1,"y":2}"#
    );
    assert_eq!(at(&resolved, "web", "/instance_groups/0/jobs/1/properties/a"), "null");
    // The group keeps the key, so that the bpm stage can refuse it.
    assert_eq!(
        at(&resolved, "web", "/instance_groups/0/properties"),
        r#"{"a":{"y":2}}"#
    );
}

#[test]
fn what_bosh_refuses_is_refused_in_its_words() {
    let job = json!([{"name": "j", "release": "r"}]);
    for (groups, place, message) in [
        (
            json!([{"instances": 1, "jobs": []}]),
            "",
            "Required property 'name' was not specified in object ({\"instances\" => 1, \"jobs\" => []})",
        ),
        (
            json!([{"name": "g", "instances": "two", "jobs": []}]),
            "/instances",
            "Property 'instances' value (\"two\") did not match the required type 'Integer'",
        ),
        (
            json!([{"name": "g", "instances": null, "jobs": []}]),
            "/instances",
            "Property 'instances' value (nil) did not match the required type 'Integer'",
        ),
        (
            json!([{"name": "g", "instances": 1}]),
            "",
            "Instance group 'g' does not specify jobs key",
        ),
        (
            json!([{"name": "g", "instances": 1, "jobs": [], "azs": null}]),
            "/azs",
            "Property 'azs' value (nil) did not match the required type 'Array'",
        ),
        (
            json!([{"name": "g", "instances": 1, "jobs": [], "azs": []}]),
            "/azs",
            "Instance group 'g' has empty availability zones",
        ),
        (
            json!([{"name": "g", "instances": 1, "jobs": [], "azs": [1]}]),
            "/azs/0",
            "Instance group 'g' has invalid availability zone '1', string expected",
        ),
        (
            json!([{"name": "-g", "instances": 1, "jobs": []}]),
            "/name",
            "Invalid DNS canonical name '-g', cannot start with a hyphen",
        ),
        (
            json!([{"name": "g", "instances": 1, "jobs": ["x"]}]),
            "/jobs/0",
            "Object (...) did not match the required type 'Hash'",
        ),
        (
            json!([group("g", json!([{"name": "j", "release": "x"}]))]),
            "/jobs/0/release",
            "Job 'j' (instance group 'g') references an unknown release 'x'",
        ),
        (
            json!([group("g", json!([{"name": "k", "release": "r"}]))]),
            "/jobs/0/name",
            "Job 'k' not found in release 'r'",
        ),
        (
            json!([group("g", json!([job[0], job[0]]))]),
            "/jobs/1",
            "Colocated job 'j' is already added to the instance group 'g'",
        ),
        (
            json!([group("g", json!([{"name": "j", "release": "r", "properties": null}]))]),
            "/jobs/0/properties",
            "Property 'properties' value (nil) did not match the required type 'Hash'",
        ),
        (
            json!([group("g", json!([{"name": "j", "release": "r", "consumes": "s3cret"}]))]),
            "/jobs/0/consumes",
            "Property 'consumes' value (...) did not match the required type 'Hash'",
        ),
        (
            json!([group(
                "g",
                json!([{"name": "j", "release": "r", "properties": {"a": "s3cret"}}])
            )]),
            "/jobs/0/properties/a",
            "Property 'a.b' expects a hash, but received 'String'",
        ),
    ] {
        let errors = Case::new(groups).job("j", json!({"properties": {"a.b": {}}})).errors();
        assert_eq!(errors, [(format!("/instance_groups/0{place}"), message.to_string())]);
    }
}

#[test]
fn what_bosh_refuses_of_releases_and_addons_is_refused_in_its_words() {
    for (key, value, place, message) in [
        (
            "releases",
            json!(null),
            "",
            "Property 'releases' value (nil) did not match the required type 'Array'",
        ),
        (
            "releases",
            json!([null]),
            "/0",
            "Object (nil) did not match the required type 'Hash'",
        ),
        (
            "releases",
            json!([{"name": null, "version": "1"}]),
            "/0/name",
            "Property 'name' value (nil) did not match the required type 'String'",
        ),
        (
            "releases",
            json!([{"version": "1"}]),
            "/0",
            "Required property 'name' was not specified in object ({\"version\" => \"1\"})",
        ),
        (
            "addons",
            json!([{"name": "a", "jobs": {}}]),
            "/0/jobs",
            "Property 'jobs' value ({}) did not match the required type 'Array'",
        ),
        (
            "addons",
            json!([{"name": "a", "include": []}]),
            "/0/include",
            "Property 'include' value ([]) did not match the required type 'Hash'",
        ),
    ] {
        let case = Case::new(json!([])).key(key, value);
        assert_eq!(case.errors(), [(format!("/{key}{place}"), message.to_string())]);
    }
    let message = "Required property 'releases' was not specified in object ({\"name\" => \"manifest\", \"instance_groups\" => []})";
    let case = Case::new(json!([])).without("releases");
    assert_eq!(case.errors(), [(String::new(), message.to_string())]);
}

#[test]
fn names_of_groups_and_releases_are_unique() {
    let groups = json!([group("a_b", json!([])), group("A-b", json!([]))]);
    let case = Case::new(groups).key(
        "releases",
        json!([{"name": "r", "version": "1"}, {"name": "r", "version": "2"}]),
    );
    assert_eq!(
        case.errors(),
        [
            ("/releases/1/name".to_string(), "Duplicate release name 'r'".to_string()),
            (
                "/instance_groups/1/name".into(),
                "Invalid instance group name 'A-b', canonical name already taken".into()
            ),
        ]
    );
}

#[test]
fn a_wrong_job_spec_is_reported_with_its_own_document() {
    for (spec, place, message) in [
        (
            json!({"name": "x"}),
            "/name",
            "Inconsistent name for job 'j'(exptected: 'j', got: 'x')",
        ),
        (json!({"logs": []}), "/logs", "Job 'j' has invalid logs spec format"),
        (
            json!({"packages": {}}),
            "/packages",
            "Job 'j' has invalid package spec format",
        ),
        (
            json!({"properties": []}),
            "/properties",
            "Job 'j' has invalid properties spec format",
        ),
        (
            json!({"properties": {"a": null}}),
            "/properties/a",
            "Job 'j' has invalid properties spec format",
        ),
        (
            json!({"provides": {}}),
            "/provides",
            "Job 'j' has invalid spec format: 'provides' must be an array of hashes with name and type",
        ),
        (
            json!({"consumes": "x"}),
            "/consumes",
            "Job 'j' has invalid spec format: 'consumes' must be an array of hashes with name and type",
        ),
        (
            json!({"consumes": ["x"]}),
            "/consumes/0",
            "Consumes section in the release spec must be a list of hashes",
        ),
        (
            json!({"provides": [{"name": "a"}]}),
            "/provides/0",
            "Each provides item in the provides section of the release spec must contain 'name' and 'type'",
        ),
        (
            json!({"provides": [{"name": "a", "type": "t", "optional": true}]}),
            "/provides/0/optional",
            "Link 'a' of type 't' is a provides link, not allowed to have 'optional' key",
        ),
        (
            json!({"consumes": [{"name": "a", "type": "t"}, {"name": "a", "type": "u"}]}),
            "/consumes/1",
            "Job 'j' specifies duplicate consumes link with name 'a'",
        ),
        (
            json!({"properties": {"a": {"default": 7}, "a.b": {}}}),
            "/properties/a.b",
            "Property 'a.b' expects a hash, but received 'Integer'",
        ),
    ] {
        let case = Case::new(json!([group("g", json!([{"name": "j", "release": "r"}]))])).job("j", spec);
        assert_eq!(case.errors(), [(format!("r/jobs/j/spec#{place}"), message.to_string())]);
    }
}

#[test]
fn undeclared_properties_are_warned_about() {
    let given = json!({"a": 1, "typo": {"deep": "s3cret"}, "quarks": {"ports": []}, "whole": {"x": 1}});
    let case = Case::new(json!([group(
        "g",
        json!([{"name": "j", "release": "r", "properties": given}])
    )]))
    .job(
        "j",
        json!({"properties": {"a": {}}, "provides": [{"name": "l", "type": "t", "properties": ["whole"]}]}),
    );
    let place = "/instance_groups/0/jobs/0/properties/typo".to_string();
    assert_eq!(
        case.warnings(),
        [(
            place,
            "Property 'typo' is not declared by job 'j' of release 'r'".to_string()
        )]
    );
}

#[test]
fn a_job_that_declares_a_property_of_our_name_keeps_its_own_value() {
    let case = Case::new(json!([group(
        "g",
        json!([{"name": "j", "release": "r", "properties": {"quarks": {"x": 1}}}])
    )]))
    .job("j", json!({"properties": {"quarks.x": {}, "quarks.y": {"default": 2}}}));
    let resolved = case.resolved();
    assert_eq!(quarks(&resolved, "g", "/declared"), r#"{"x":1,"y":2}"#);
    assert_eq!(quarks(&resolved, "g", "/instances/0/index"), "0");
}

#[test]
fn quarks_has_two_names_and_computed_members() {
    let given = json!({"quarks": {"ports": [1], "instances": []}, "bosh_containerization": {"ports": [2], "envs": []}});
    let case = Case::new(json!([group(
        "g",
        json!([{"name": "j", "release": "r", "properties": given}])
    )]))
    .job("j", json!({}));
    let resolved = case.resolved();
    assert_eq!(quarks(&resolved, "g", "/ports"), "[1]");
    assert_eq!(quarks(&resolved, "g", "/envs"), "[]");
    assert_eq!(quarks(&resolved, "g", "/instances/0/index"), "0");
    let places: Vec<_> = case.warnings().into_iter().map(|(place, _)| place).collect();
    let properties = "/instance_groups/0/jobs/0/properties";
    assert_eq!(
        places,
        [
            format!("{properties}/quarks/instances"),
            format!("{properties}/bosh_containerization")
        ]
    );
}

#[test]
fn properties_of_an_addon_serve_its_jobs_and_are_not_reported_as_undeclared() {
    let addons =
        json!([{"name": "a", "properties": {"x": 1, "other": 2}, "jobs": [{"name": "agent", "release": "r"}]}]);
    let case = Case::new(json!([group("web", json!([]))]))
        .key("addons", addons)
        .job("agent", json!({"properties": {"x": {}}}));
    assert_eq!(
        at(&case.resolved(), "web", "/instance_groups/0/jobs/0/properties/x"),
        "1"
    );
    assert_eq!(case.warnings(), []);
}

// --- addons ---

fn addon(filters: serde_json::Value) -> serde_json::Value {
    let mut addon = json!({"name": "extra", "jobs": [{"name": "agent", "release": "r", "properties": {"a": 1}}]});
    addon
        .as_object_mut()
        .unwrap()
        .extend(filters.as_object().unwrap().clone());
    json!([addon])
}

#[test]
fn jobs_of_addons_join_the_groups_and_link_like_others() {
    let groups = json!([
        group("web", json!([{"name": "j", "release": "r"}])),
        group("db", json!([]))
    ]);
    let case = Case::new(groups)
        .key("addons", addon(json!({"include": {"instance_groups": ["web"]}})))
        .job("j", json!({"consumes": [{"name": "l", "type": "t"}]}))
        .job(
            "agent",
            json!({"properties": {"a": {}}, "provides": [{"name": "l", "type": "t", "properties": ["a"]}]}),
        );
    let resolved = case.resolved();
    assert_eq!(at(&resolved, "web", "/instance_groups/0/jobs/1/name"), "\"agent\"");
    assert_eq!(at(&resolved, "db", "/instance_groups/0/jobs"), "[]");
    assert_eq!(quarks(&resolved, "web", "/consumes/l/properties"), r#"{"a":1}"#);
}

#[test]
fn addons_are_placed_one_after_the_other() {
    let mut second = addon(json!({"include": {"jobs": [{"name": "agent", "release": "r"}]}}));
    second[0]["jobs"][0]["name"] = json!("late");
    let addons = json!([addon(json!({"exclude": {"lifecycle": "errand"}}))[0], second[0]]);
    let groups =
        json!([group("web", json!([])), {"name": "smoke", "instances": 1, "lifecycle": "auto-errand", "jobs": []}]);
    let spec = || json!({"properties": {"a": {}}});
    let resolved = Case::new(groups)
        .key("addons", addons)
        .job("agent", spec())
        .job("late", spec())
        .resolved();
    assert_eq!(at(&resolved, "web", "/instance_groups/0/jobs/1/name"), "\"late\"");
    assert_eq!(at(&resolved, "smoke", "/instance_groups/0/jobs"), "[]");
}

#[test]
fn addons_know_the_system_of_a_group_or_of_its_releases() {
    let mut web = group("web", json!([{"name": "j", "release": "r"}]));
    web["stemcell"] = json!("default");
    let groups = json!([
        web,
        group("db", json!([{"name": "j", "release": "r"}])),
        group("none", json!([]))
    ]);
    let case = Case::new(groups)
        .key(
            "stemcells",
            json!([{"alias": "default", "os": "jammy", "version": "1"}]),
        )
        .key(
            "releases",
            json!([{"name": "r", "version": "1", "stemcell": {"os": "jammy", "version": "1"}}]),
        )
        .key("addons", addon(json!({"include": {"stemcell": [{"os": "jammy"}]}})))
        .job("j", json!({}))
        .job("agent", json!({"properties": {"a": {}}}));
    let resolved = case.resolved();
    let count = |group: &str| {
        resolved
            .groups
            .iter()
            .find(|g| g.name == group)
            .unwrap()
            .document
            .items("instance_groups")[0]
            .items("jobs")
            .len()
    };
    assert_eq!((count("web"), count("db"), count("none")), (2, 2, 0));
}

#[test]
fn wrong_addons_are_reported_once_each() {
    let web = || group("web", json!([{"name": "agent", "release": "r"}]));
    for (addons, place, message) in [
        (
            json!([{"name": "a", "jobs": [{"name": "agent", "release": "x"}]}]),
            "/addons/0/jobs/0/release",
            "Manifest specifies job 'agent' which is defined in 'x', but 'x' is not listed in the deployment releases section.",
        ),
        (
            json!([{"name": "a", "jobs": [{"name": "gone", "release": "r"}]}]),
            "/addons/0/jobs/0/name",
            "Can't find job 'gone'",
        ),
        (
            addon(json!({})),
            "/addons/0/jobs/0",
            "Colocated job 'agent' is already added to the instance group 'web'",
        ),
        (
            addon(json!({"include": {"deployments": ["d"]}, "exclude": {"instance_groups": ["web"]}})),
            "/addons/0/include/deployments",
            "Deployment filter is not allowed for deployment level addons.",
        ),
        (
            json!({}),
            "/addons",
            "Property 'addons' value ({}) did not match the required type 'Array'",
        ),
        (
            json!([{"jobs": []}]),
            "/addons/0",
            "Required property 'name' was not specified in object ({\"jobs\" => []})",
        ),
    ] {
        let case = Case::new(json!([web()]))
            .key("addons", addons)
            .job("agent", json!({"properties": {"a": {}}}));
        assert_eq!(case.errors(), [(place.to_string(), message.to_string())]);
    }
}

#[test]
fn jobs_of_bosh_dns_never_run_and_each_group_knows_the_names_that_lead_to_it() {
    let properties =
        json!({"aliases": {"one.internal": ["*.web.default.dep.bosh"], "two.internal": ["*.other.default.dep.bosh"]}});
    let addons =
        json!([{"name": "dns", "jobs": [{"name": "bosh-dns", "release": "bosh-dns", "properties": properties}]}]);
    let jobs = json!([{"name": "bosh-dns-aliases", "release": "bosh-dns-aliases", "properties": {}}]);
    let case = Case::new(json!([group("web", jobs), group("other", json!([]))]))
        .key("addons", addons)
        .key("releases", json!([{"name": "bosh-dns", "version": "1"}]));
    assert_eq!(case.warnings(), []);
    let resolved = case.resolved();
    assert_eq!(at(&resolved, "web", "/instance_groups/0/jobs"), "[]");
    let aliases = |group: &str| at(&resolved, group, "/dns/aliases");
    assert_eq!(aliases("web"), r#"{"one.internal":["*.web.default.dep.bosh"]}"#);
    assert_eq!(aliases("other"), r#"{"two.internal":["*.other.default.dep.bosh"]}"#);
    assert_eq!(at(&resolved, "web", "/dns/groups/0/name"), "\"web\"");
    let without = Case::new(json!([group("web", json!([]))])).resolved();
    assert_eq!(at(&without, "web", "/dns"), "(absent)");
}

#[test]
fn the_credentials_of_a_release_stay_out_of_what_pods_mount() {
    let release = json!({"name": "r", "version": "1", "credentials": {"username": "u", "password": "hunter2"}});
    let case = Case::new(json!([group("web", json!([{"name": "app", "release": "r"}]))]))
        .key("releases", json!([release]))
        .job("app", json!({}));
    let resolved = case.resolved();
    assert_eq!(at(&resolved, "web", "/releases/0/credentials"), "{}");
    assert!(!format!("{resolved:?}").contains("hunter2"));
}

#[test]
fn a_group_without_instances_tells_what_its_first_would_be() {
    let groups = json!([{"name": "web", "instances": 0, "jobs": [{"name": "app", "release": "r"}]}]);
    let resolved = Case::new(groups).job("app", json!({})).resolved();
    assert_eq!(quarks(&resolved, "web", "/instances"), "[]");
    assert_eq!(quarks(&resolved, "web", "/hypothetical/id"), "\"web-0\"");
    let some = Case::new(json!([group("web", json!([{"name": "app", "release": "r"}]))])).job("app", json!({}));
    assert_eq!(quarks(&some.resolved(), "web", "/hypothetical"), "(absent)");
}

#[test]
fn an_addon_that_applies_nowhere_is_a_warning() {
    let addon = |include: serde_json::Value| json!([{"name": "agent", "jobs": [{"name": "app", "release": "r"}], "include": include}]);
    let case = |include: serde_json::Value| {
        Case::new(json!([group("web", json!([]))]))
            .key("addons", addon(include))
            .job("app", json!({}))
    };
    let message = "The addon 'agent' applies to no instance group: its jobs run nowhere";
    assert_eq!(
        case(json!({"instance_groups": ["wbe"]})).warnings(),
        [("/addons/0".to_string(), message.to_string())]
    );
    assert_eq!(case(json!({"instance_groups": ["web"]})).warnings(), []);
}
