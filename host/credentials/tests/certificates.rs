//! Certificates as a user gets them; read back by another library and by openssl.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so")]

mod made;

use boson_credentials::{Issued, KeptKey, Request, System, generate, refused_by_bosh};
use boson_document::{Tree, json};
use data_encoding::{HEXLOWER, HEXUPPER};
use made::{NOW, make, tool, written};
use std::time::{Duration, SystemTime};
use x509_parser::prelude::*;

fn ca() -> Tree {
    make(
        "certificate",
        r#"{"is_ca": true, "common_name": "root", "key_length": 2048}"#,
        None,
    )
    .unwrap()
}

fn leaf(options: &str, signer: &Tree) -> Tree {
    make("certificate", options, Some(signer)).unwrap()
}

fn with_certificate(value: &Tree, check: impl FnOnce(&X509Certificate<'_>)) {
    let (_, pem) = parse_x509_pem(value.str("certificate").unwrap().as_bytes()).unwrap();
    check(&pem.parse_x509().unwrap());
}

#[test]
fn a_signer_that_can_not_sign_is_distinguished() {
    let good = ca();
    let text = |member: &str| good.str(member).unwrap().to_string();
    let with = |certificate: &str, key: &str| Tree::object().with("certificate", certificate).with("private_key", key);
    let pkcs8 = text("private_key").replace("RSA PRIVATE", "PRIVATE");
    let (certificate, key) = (text("certificate"), text("private_key"));
    let junk = "-----BEGIN X-----\nAAAA\n-----END X-----\n";
    let other = ca();
    for (signer, wanted) in [
        (
            with("", &key),
            "Loading certificates: Certificate did not contain PEM formatted block",
        ),
        (
            with(junk, &key),
            "Loading certificates: Parsing certificate: x509: malformed certificate",
        ),
        (
            with(&certificate, ""),
            "Loading certificates: Private key did not contain PEM formatted block",
        ),
        (
            with(&certificate, junk),
            "Loading certificates: Parsing private key: x509: malformed private key",
        ),
        (
            Tree::from("text"),
            "Loading certificates: Expected variable 'c' to be deserializable: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!str into opts.CertVal",
        ),
        (
            with(&certificate, other.str("private_key").unwrap()),
            "Generating certificate: x509: provided PrivateKey doesn't match parent's PublicKey",
        ),
    ] {
        let error = make("certificate", r#"{"ca": "c", "key_length": 2048}"#, Some(&signer)).unwrap_err();
        assert_eq!(error, format!("Generating variable 'v': {wanted}"));
    }
    // The label does not count, only what is inside, as in BOSH.
    assert!(
        make(
            "certificate",
            r#"{"ca": "c", "key_length": 2048}"#,
            Some(&with(&certificate, &pkcs8))
        )
        .is_ok()
    );
    let dir = written(&good);
    if let Some(real_pkcs8) = tool(
        "openssl",
        &["pkcs8", "-topk8", "-nocrypt", "-in", "private_key"],
        dir.path(),
    ) {
        // CredHub accepts it, the bosh command line does not.
        let signer = with(&certificate, &real_pkcs8);
        assert!(make("certificate", r#"{"ca": "c", "key_length": 2048}"#, Some(&signer)).is_ok());
        let error = refused_by_bosh("certificate", &Tree::object(), Some(&signer))
            .unwrap()
            .to_string();
        assert!(error.ends_with("Parsing private key: x509: failed to parse private key (use ParsePKCS8PrivateKey instead for this key format)"), "{error}");
    }
    if let Some(curve) = tool(
        "openssl",
        &["ecparam", "-genkey", "-noout", "-name", "prime256v1"],
        dir.path(),
    ) {
        let signer = with(&certificate, &curve);
        let error = make("certificate", r#"{"ca": "c"}"#, Some(&signer)).unwrap_err();
        assert!(
            error.ends_with("Key file does not contain an RSA private key"),
            "{error}"
        );
        let error = refused_by_bosh("certificate", &Tree::object(), Some(&signer))
            .unwrap()
            .to_string();
        assert!(error.contains("use ParseECPrivateKey"), "{error}");
    }
}

#[test]
fn a_leaf_may_sign_itself_and_has_what_credhub_puts_into_certificates() {
    let options = r#"{"self_sign": true, "common_name": "app", "country": "DE", "state": "BE", "locality": "Berlin", "organization": "Acme",
        "organization_unit": "Ops", "key_usage": ["digital_signature", "non_repudiation", "decipher_only"],
        "extended_key_usage": ["code_signing", "timestamping", "email_protection"], "alternative_names": ["app"], "key_length": 2048}"#;
    let made = make("certificate", options, None).unwrap();
    assert_eq!(made.str("certificate"), made.str("ca"));
    with_certificate(&made, |parsed| {
        assert_eq!(
            parsed.subject().to_string(),
            "C=DE, O=Acme, OU=Ops, L=Berlin, ST=BE, CN=app"
        );
        assert_eq!(parsed.subject().as_raw(), parsed.issuer().as_raw());
        assert!(!parsed.basic_constraints().unwrap().unwrap().value.ca);
        assert_eq!(parsed.key_usage().unwrap().unwrap().value.flags, 0b1_0000_0011);
        let usage = parsed.extended_key_usage().unwrap().unwrap().value;
        assert!(usage.code_signing && usage.time_stamping && usage.email_protection && !usage.server_auth);
    });
    // A CA has the usage that was asked for, too, and the defaults of the subject are BOSH's.
    let root = r#"{"is_ca": true, "common_name": "root", "key_usage": ["key_cert_sign"], "organization_unit": "PKI", "key_length": 2048}"#;
    with_certificate(&make("certificate", root, None).unwrap(), |parsed| {
        assert_eq!(parsed.subject().to_string(), "C=US, O=Cloud Foundry, OU=PKI, CN=root");
        assert_eq!(parsed.key_usage().unwrap().unwrap().value.flags, 0b10_0000);
    });
    let wrong = make("certificate", r#"{"is_ca": true, "key_usage": ["any"]}"#, None).unwrap_err();
    assert!(
        wrong.contains("The provided key usage 'any' is not supported."),
        "{wrong}"
    );
}

#[test]
fn a_root_signs_itself() {
    let root = ca();
    assert_eq!(root.str("certificate"), root.str("ca"));
    assert!(
        root.str("private_key")
            .unwrap()
            .starts_with("-----BEGIN RSA PRIVATE KEY-----\n")
    );
    assert!(
        root.as_object()
            .unwrap()
            .values()
            .all(|text| text.as_str().unwrap().ends_with("-----\n"))
    );
    with_certificate(&root, |parsed| {
        assert_eq!(parsed.subject().to_string(), "C=US, O=Cloud Foundry, CN=root");
        assert_eq!(parsed.subject().as_raw(), parsed.issuer().as_raw());
        let constraints = parsed.basic_constraints().unwrap().unwrap();
        assert!(constraints.critical && constraints.value.ca && constraints.value.path_len_constraint.is_none());
        let usage = parsed.key_usage().unwrap().unwrap();
        assert!(
            usage.critical && usage.value.flags == 0b110_0000,
            "{:b}",
            usage.value.flags
        );
        assert!(parsed.extended_key_usage().unwrap().is_none() && parsed.subject_alternative_name().unwrap().is_none());
        assert_eq!(parsed.validity().not_before.timestamp(), i64::try_from(NOW).unwrap());
        assert_eq!(
            parsed.validity().not_after.timestamp() - parsed.validity().not_before.timestamp(),
            365 * 86_400
        );
        assert_eq!(
            parsed.raw_serial(),
            [&[0], &(0xf0..=0xff).collect::<Vec<u8>>()[..]].concat()
        );
        assert_eq!(
            parsed.signature_algorithm.algorithm.to_id_string(),
            "1.2.840.113549.1.1.11"
        );
    });
}

#[test]
fn a_leaf_has_what_its_options_say() {
    let root = ca();
    let leaf = leaf(
        r#"{"ca": "root", "common_name": "ü*", "organization": "O", "duration": 30, "key_length": 2048,
            "alternative_names": ["app", "10.0.0.9", "*.app", "::1", "::ffff:1.2.3.4", "010.0.0.9"],
            "extended_key_usage": ["client_auth", "server_auth", "client_auth"]}"#,
        &root,
    );
    assert_eq!(leaf.str("ca"), root.str("certificate"));
    with_certificate(&leaf, |parsed| {
        assert_eq!(parsed.subject().to_string(), "C=US, O=O, CN=ü*");
        assert_eq!(
            parsed.validity().not_after.timestamp() - parsed.validity().not_before.timestamp(),
            30 * 86_400
        );
        let constraints = parsed.basic_constraints().unwrap().unwrap();
        assert!(constraints.critical && !constraints.value.ca);
        let usage = parsed.key_usage().unwrap().unwrap().value;
        assert!(usage.digital_signature() && usage.key_encipherment() && usage.flags.count_ones() == 2);
        let names = &parsed.subject_alternative_name().unwrap().unwrap().value.general_names;
        let names: Vec<_> = names.iter().map(ToString::to_string).collect();
        let wanted = [
            "DNSName(app)",
            "DNSName(*.app)",
            "DNSName(010.0.0.9)",
            "IPAddress(0a:00:00:09)",
            "IPAddress(00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:01)",
            "IPAddress(01:02:03:04)",
        ];
        assert_eq!(names, wanted);
        let raw = parsed
            .get_extension_unique(&oid_registry::OID_X509_EXT_EXTENDED_KEY_USAGE)
            .unwrap()
            .unwrap();
        let (client, server) = (
            b"\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x02",
            b"\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x01",
        );
        assert_eq!(
            raw.value,
            [&b"\x30\x1e"[..], client, server, client].concat(),
            "order and duplicates stay"
        );
    });
}

#[test]
fn key_identifiers_are_sha1_of_the_modulus_and_link_leaf_to_signer() {
    let root = ca();
    let leaf = leaf(r#"{"ca": "root", "key_length": 2048}"#, &root);
    let identifiers = |value: &Tree| {
        let mut found = (Vec::new(), Vec::new());
        with_certificate(value, |parsed| {
            for extension in parsed.extensions() {
                match extension.parsed_extension() {
                    ParsedExtension::SubjectKeyIdentifier(id) => found.0 = id.0.to_vec(),
                    ParsedExtension::AuthorityKeyIdentifier(id) => {
                        found.1 = id.key_identifier.as_ref().unwrap().0.to_vec()
                    }
                    _ => {}
                }
            }
        });
        found
    };
    let (own, authority) = identifiers(&root);
    assert_eq!(own, authority);
    assert_eq!(identifiers(&leaf).1, own);
    let dir = written(&root);
    let Some(modulus) = tool(
        "openssl",
        &["rsa", "-in", "private_key", "-noout", "-modulus"],
        dir.path(),
    ) else {
        return;
    };
    let digits = modulus.trim().trim_start_matches("Modulus=");
    let bytes = HEXUPPER.decode(digits.as_bytes()).unwrap();
    std::fs::write(dir.path().join("modulus"), bytes).unwrap();
    let sum = tool("openssl", &["dgst", "-sha1", "-r", "modulus"], dir.path()).unwrap();
    assert_eq!(sum[..40], HEXLOWER.encode(&own));
}

#[test]
fn openssl_accepts_root_intermediate_and_leaf() {
    let root = ca();
    let middle = leaf(
        r#"{"ca": "root", "is_ca": true, "common_name": "middle", "key_length": 2048, "alternative_names": ["x"]}"#,
        &root,
    );
    let last = leaf(
        r#"{"ca": "middle", "common_name": "last", "alternative_names": ["last"], "duration": 3650, "key_length": 2048}"#,
        &middle,
    );
    assert_eq!(middle.str("ca"), root.str("certificate"));
    assert_eq!(last.str("ca"), middle.str("certificate"), "the direct signer alone");
    let dir = written(&last);
    std::fs::write(dir.path().join("root"), root.str("certificate").unwrap()).unwrap();
    let at = (NOW + 60).to_string();
    let verify = [
        "verify",
        "-x509_strict",
        "-purpose",
        "sslserver",
        "-attime",
        &at,
        "-CAfile",
        "root",
        "-untrusted",
        "ca",
        "certificate",
    ];
    let Some(answer) = tool("openssl", &verify, dir.path()) else {
        return;
    };
    assert_eq!(answer.trim(), "certificate: OK");
    let of = |args: &[&str]| tool("openssl", args, dir.path()).unwrap();
    assert_eq!(
        of(&["rsa", "-in", "private_key", "-noout", "-check"]).trim(),
        "RSA key ok"
    );
    assert_eq!(
        of(&["rsa", "-in", "private_key", "-noout", "-modulus"]),
        of(&["x509", "-in", "certificate", "-noout", "-modulus"])
    );
    assert!(of(&["x509", "-in", "certificate", "-noout", "-text"]).contains("Not After : Dec 31 03:04:05 2035 GMT"));
}

#[test]
fn a_signer_with_a_repeated_attribute_keeps_its_whole_name() {
    let dir = tempfile::tempdir().unwrap();
    let subject = "/C=DE/O=Own/OU=one/OU=two/CN=Corporate CA";
    let args = [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-out", "crt", "-subj", subject, "-days",
        "30",
    ];
    if tool("openssl", &args, dir.path()).is_none() {
        return;
    }
    tool(
        "openssl",
        &["rsa", "-in", "key", "-traditional", "-out", "key"],
        dir.path(),
    )
    .unwrap();
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let signer = Tree::object()
        .with("certificate", read("crt"))
        .with("private_key", read("key"));
    let leaf = leaf(r#"{"ca": "c", "key_length": 2048, "duration": 40000}"#, &signer);
    std::fs::write(dir.path().join("leaf"), leaf.str("certificate").unwrap()).unwrap();
    let answer = tool("openssl", &["verify", "-CAfile", "crt", "leaf"], dir.path()).unwrap();
    assert_eq!(answer.trim(), "leaf: OK");
}

const RENEWED: &str = r#"{"is_ca": true, "common_name": "root", "key_length": 2048, "duration": 10}"#;

#[test]
fn a_certificate_tells_when_it_ends() {
    let value = make("certificate", RENEWED, None).unwrap();
    let issued = Issued::from_pem(value.str("certificate").unwrap()).unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
    assert_eq!(issued.not_before, now);
    assert_eq!(issued.not_after, now + Duration::from_secs(10 * 86_400));
    assert_eq!(issued.fingerprint.len(), 64);
    assert_eq!(Issued::from_pem("no certificate"), None);
    assert_eq!(Issued::from_pem(value.str("private_key").unwrap()), None);
}

#[test]
fn a_renewed_ca_has_its_key_and_no_other_size() {
    let old = make("certificate", RENEWED, None).unwrap();
    let key = old.str("private_key").unwrap();
    let options = json::parse(RENEWED).unwrap();
    let request = |options| Request {
        name: "v",
        kind: "certificate",
        options,
        signer: None,
    };
    let new = generate(&request(&options), &KeptKey::new(key, System::new()).unwrap()).unwrap();
    assert_eq!(new.str("private_key"), Some(key));
    let fingerprint = |value: &Tree| Issued::from_pem(value.str("certificate").unwrap()).unwrap().fingerprint;
    assert_ne!(fingerprint(&new), fingerprint(&old));

    let larger = json::parse(&RENEWED.replace("2048", "3072")).unwrap();
    let refused = generate(&request(&larger), &KeptKey::new(key, System::new()).unwrap()).unwrap_err();
    assert!(refused.kind.to_string().contains("another size"), "{}", refused.kind);
}
