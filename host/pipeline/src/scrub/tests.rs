use super::*;
use crate::diagnostic::{Diagnostic, Related};
use crate::yaml;
use boson_document::json::parse;

fn scrubbed(secrets: &Secrets, message: &str) -> String {
    let reported = vec![Diagnostic::reported_error("x", message)];
    secrets.scrub(reported, &Sources::default()).remove(0).message
}

fn values(text: &str) -> Secrets {
    Secrets::of(&parse(text).unwrap())
}

#[test]
fn quoted_values_and_long_numbers_do_not_reach_messages() {
    let secrets = values(r#"{"pw":"a\"b\\c\nd-and-more","pin":12345678,"port":8080}"#);
    assert_eq!(
        scrubbed(&secrets, r#"bad "a\"b\\c\nd-and-more", 12345678, 8080"#),
        r#"bad "<redacted>", <redacted>, 8080"#
    );
}

#[test]
fn values_do_not_reach_messages() {
    let secrets = values(
        r#"{"pw":"s3cret-s3cret","key":{"private_key":"-----BEGIN\nabcdefgh\n-----END\n"},"port":"80","domain":"example.com"}"#,
    );
    assert_eq!(
        scrubbed(&secrets, "bad password s3cret-s3cret on 80: abcdefgh, example.com"),
        "bad password <redacted> on 80: <redacted>, example.com"
    );
}

#[test]
fn a_short_generated_value_is_redacted_whatever_its_variable_is_called() {
    let tree = parse(r#"{"uaa_admin":"abcde"}"#).unwrap();
    let message = "cannot use abcde here";
    assert_eq!(scrubbed(&Secrets::of(&tree), message), message);
    assert_eq!(
        scrubbed(&Secrets::generated(&tree), message),
        "cannot use <redacted> here"
    );
}

#[test]
fn a_lower_case_value_with_dots_is_no_domain_unless_its_variable_says_so() {
    let secrets = values(r#"{"pw":"my.quiet.value","system_domain":"apps.example.com"}"#);
    assert_eq!(
        scrubbed(&secrets, "my.quiet.value at apps.example.com"),
        "<redacted> at apps.example.com"
    );
}

#[test]
fn every_form_of_a_value_and_eight_bytes_of_it_are_found() {
    let secrets = values(
        r#"{"pw":"P@ssw0rd#$tr0ng/+\u001b[1m  ","pem":"-----BEGIN KEY-----\nMIIEpAIBAAKC\nAQEAx0Y2\n-----END KEY-----\n"}"#,
    );
    for (form, left) in [
        ("P@ssw0rd#$tr0ng/+\u{1b}[1m  ", ""),
        ("P@ssw0rd#$tr0ng/+[1m", ""),
        (r"P@ssw0rd\#$tr0ng/+\e[1m  ", ""),
        (r"P@ssw0rd#$tr0ng/+\u001b[1m", ""),
        (r"P@ssw0rd\#\$tr0ng/\+", ""),
        ("P%40ssw0rd%23%24tr0ng%2F%2B", ""),
        ("UEBzc3cwcmQjJHRyMG5nLys=", ""),
        ("eFBAc3N3MHJkIyR0cjBuZy8r", ""),
        ("50407373773072642324747230", ""),
        ("P@SSW0RD#$TR0NG", ""),
        ("p@ssw0rd#$tr0ng", ""),
        ("P@ssw0rd#", ""),
        ("w0rd#$tr", ""),
        ("MIIEpAIBAAKC AQEAx0Y2", ""),
        (r"MIIEpAIBAAKC\nAQEAx0Y2\n", ""),
        ("AAKCAQEA", ""),
        ("w0rd#$t", "w0rd#$t"),
    ] {
        let reported = scrubbed(&secrets, &format!("unexpected token at '{form}' (bad)"));
        assert_eq!(reported.contains("<redacted>"), left.is_empty(), "{form}: {reported}");
        for part in [
            "P@ss", "p@ss", "P@SS", "w0rd#$tr", "MIIE", "AQEA", "%40", "UEBz", "QHNz", "5040",
        ] {
            assert!(!reported.contains(part), "{form}: {reported}");
        }
        assert!(
            reported.starts_with("unexpected token at '") && reported.ends_with("(bad)"),
            "{reported}"
        );
    }
}

#[test]
fn public_texts_are_not_redacted() {
    let mut sources = Sources::default();
    sources.add_document(
        yaml::read("m.yml", "releases: [{name: concourse}]\njobs: {admin-password: x}").unwrap(),
        false,
    );
    sources.add_document(yaml::read("vars.yml", "store: hidden-value").unwrap(), true);
    let secrets = values(
        r#"{"name":"concourse","a":"property-of-mine","b":"admin-password-1","c":"hidden-value","d":"https://quiet.example.com"}"#,
    );
    let reported = vec![
        Diagnostic::reported_error("x", "Release 'concourse' has a 'url'"),
        Diagnostic::reported_error("x", "Can't find property 'admin-password'"),
        Diagnostic::reported_error("x", "hidden-value, property-of-mine, see https://docs.bosh.io")
            .help("use hidden-value in a property of mine"),
    ];
    let reported = secrets.scrub(reported, &sources);
    let messages: Vec<&str> = reported.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "Release 'concourse' has a 'url'",
            "Can't find property 'admin-password'",
            "<redacted>, <redacted>, see https://docs.bosh.io"
        ]
    );
    assert_eq!(
        reported[2].help.as_deref(),
        Some("use <redacted> in a property of mine")
    );
}

#[test]
fn all_parts_of_a_foreign_plugins_diagnostic_are_redacted() {
    let mut reported = Diagnostic::reported_error(format!("resources-{}", "s3cr3tt0k3n"), "no")
        .in_document("s3cr3tt0k3n.yml")
        .at("/data/s3cr3tt0k3n")
        .help("not s3cr3tt0k3n");
    reported.plugin = Some("plugin 'x'".into());
    let reported = values(r#"{"x":"s3cr3tt0k3n"}"#)
        .scrub(vec![reported], &Sources::default())
        .remove(0);
    assert!(!format!("{reported:?}").contains("s3cr3t"), "{reported:?}");
    assert_eq!(reported.place.pointer, None);
}

#[test]
fn a_place_in_a_document_stays_where_its_path_contains_a_secret() {
    let mut sources = Sources::default();
    sources.add_document(
        yaml::read("vars.yml", "users:\n  hunter2-dragon: {uid: 7}").unwrap(),
        true,
    );
    let secrets = values(r#"{"users":{"hunter2-dragon":{"uid":7}}}"#);
    let mut reported = Diagnostic::reported_error("x", "not a number")
        .in_document("vars.yml")
        .at("/users/hunter2-dragon/uid");
    reported.related.push(Related {
        place: reported.place.clone(),
        message: "as hunter2-dragon".into(),
    });
    let cleaned = secrets.scrub(vec![reported], &sources).remove(0);
    assert!(!format!("{cleaned:?}").contains("hunter2"), "{cleaned:?}");
    for place in [&cleaned.place, &cleaned.related[0].place] {
        assert_eq!((place.document.as_deref(), place.line), (Some("vars.yml"), Some(2)));
    }
}

#[test]
fn names_in_values_are_secrets_but_those_of_generated_ones_are_not() {
    let secrets = values(r#"{"tls":{"certificate":"x","private_key":"y"},"users":{"hunter2-dragon":1}}"#);
    assert_eq!(
        scrubbed(&secrets, "certificate, private_key, hunter2-dragon, users"),
        "certificate, private_key, <redacted>, users"
    );
}

#[test]
fn a_short_value_is_redacted_as_a_word_if_its_name_suggests_a_secret() {
    let secrets = values(r#"{"admin_password":"abcde","pin":1234,"db":{"token":"x7z"},"port":8080,"mode":"fast"}"#);
    assert_eq!(
        scrubbed(&secrets, "abcde 'abcde' abcdef 1234 12345 x7z 8080 fast"),
        "<redacted> '<redacted>' abcdef <redacted> 12345 <redacted> 8080 fast"
    );
}

#[test]
fn every_value_among_properties_is_suspected_but_no_name() {
    let document = parse(
        r#"{"instance_groups":[{"name":"brokers","jobs":[{"name":"broker","properties":{
            "a":"s3cr3t0s3cr3t","b":"lower.case.value","c":"brokers","quarks":{"instances":[{"address":"broker-0.svc"}]}}}]}]}"#,
    )
    .unwrap();
    assert_eq!(
        scrubbed(
            &Secrets::of_properties(&document),
            "brokers broker-0.svc s3cr3t0s3cr3t lower.case.value"
        ),
        "brokers broker-0.svc <redacted>"
    );
}

#[test]
fn names_in_the_manifest_are_no_secrets() {
    let mut secrets =
        values(r#"{"deployment_name":"concourse-eu","password":"hidden-in-properties","url":"token-in-url"}"#);
    secrets.except_names(
        &parse(r#"{"name":"concourse-eu","releases":[{"url":"token-in-url"}],"instance_groups":[{"properties":{"name":"hidden-in-properties"}}]}"#)
            .unwrap(),
    );
    assert_eq!(
        scrubbed(&secrets, "concourse-eu hidden-in-properties token-in-url"),
        "concourse-eu <redacted>"
    );
}

#[test]
fn a_document_keeps_its_form_without_its_secrets() {
    let secrets = values(r#"{"pw":"s3cret-s3cret","pin":12345678,"port":8080,"team":"messaging"}"#);
    let mut sources = Sources::default();
    sources.add_text("m.yml", "name: messaging");
    let document = parse(
        r#"{"url":"nats://s3cret-s3cret@10.0.0.1","data":{"b64":"czNjcmV0LXMzY3JldA=="},"pins":[12345678,1.10],
            "s3cret-s3cret":8080,"x-s3cret-s3cret":[],"<redacted>":"messaging"}"#,
    )
    .unwrap();
    let wanted = r#"{"url":"nats://<redacted>@10.0.0.1","data":{"b64":"<redacted>=="},"pins":[0,1.10],"<redacted>":8080,"x-<redacted>":[],"<redacted><redacted>":"messaging"}"#;
    let redacted = secrets.redact(document, &sources);
    assert_eq!(boson_document::json::to_text(&redacted), wanted);
}
