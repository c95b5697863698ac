//! Keyless signatures, with an instance of Sigstore that the test makes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the instance of Sigstore has a clock and uses openssl"
)]

#[path = "../../../tests/src/sigstore.rs"]
mod sigstore;

use boson_signatures::{
    Attached, Envelope, Identities, ImageSignature, Provenance, Reason, SignatureError, Signed, Subject, Trust,
};
use oci_spec::image::Digest;
use serde_json::{Value, json};
use sigstore::{Author, Sigstore};

const WORKFLOW: &str = "https://github.com/team/labels/.github/workflows/release.yml@refs/tags/v1";
const ISSUER: &str = "https://token.actions.githubusercontent.com";
const RULE: &str =
    "https://token.actions.githubusercontent.com=https://github.com/team/*/.github/workflows/release.yml@refs/tags/v*";
const COMPONENT: &[u8] = b"component";
const SIGNATURE: &str = "https://sigstore.dev/cosign/sign/v1";
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";
const ENTRY: &str = "/verificationMaterial/tlogEntries/0";

fn digest(letter: &str) -> Digest {
    format!("sha256:{}", letter.repeat(64)).parse().unwrap()
}

fn image() -> Digest {
    digest("a")
}

fn author() -> Author {
    Author::new(WORKFLOW, ISSUER)
}

fn trust(root: &Value, rules: &[&str]) -> Trust {
    let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    Trust {
        identities: Some(Identities::new(root.to_string().as_bytes(), rules).unwrap()),
        ..Trust::default()
    }
}

/// Why the bundle is no signature of the component; `None`: it is one.
fn signature_error(bundle: &Value, trust: &Trust) -> Option<SignatureError> {
    error_of_text(&bundle.to_string(), trust)
}

fn error_of_text(bundle: &str, trust: &Trust) -> Option<SignatureError> {
    let signed = Signed {
        component: Some(bundle.to_owned()),
        ..Signed::default()
    };
    signed.signer(COMPONENT, trust).err()
}

fn remove(bundle: &mut Value, pointer: &str, name: &str) {
    let parent = bundle.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
    parent.remove(name).unwrap();
}

#[test]
fn a_component_is_signed_by_an_identity_that_a_rule_accepts() {
    let sigstore = Sigstore::new().unwrap();
    let (root, bundle) = (
        sigstore.root().unwrap(),
        sigstore.signature(&author(), COMPONENT).unwrap(),
    );
    let signed = Signed {
        component: Some(bundle.to_string()),
        ..Signed::default()
    };
    let signer = signed
        .signer(COMPONENT, &trust(&root, &["https://other.example=me", RULE]))
        .unwrap();
    assert_eq!(signer.subject, Subject::Component);
    let boson_signatures::Author::Identity(identity) = signer.author else {
        unreachable!("there is no key");
    };
    assert_eq!((identity.name.as_str(), identity.issuer.as_str()), (WORKFLOW, ISSUER));
    // An email address, and an older version of the bundle, with the chain.
    let mut bundle = sigstore
        .signature(&Author::new("me@example.com", "https://mail.example"), COMPONENT)
        .unwrap();
    let certificate = bundle["verificationMaterial"]["certificate"].clone();
    bundle["verificationMaterial"]["x509CertificateChain"] = json!({"certificates": [certificate]});
    remove(&mut bundle, "/verificationMaterial", "certificate");
    bundle["mediaType"] = "application/vnd.dev.sigstore.bundle+json;version=0.2".into();
    let rule = ["https://mail.example=*@example.com"];
    assert_eq!(signature_error(&bundle, &trust(&root, &rule)), None);
}

#[test]
fn an_image_is_signed_by_bundles_of_cosign_3_and_annotations_of_cosign_2() {
    let sigstore = Sigstore::new().unwrap();
    let trust = trust(&sigstore.root().unwrap(), &[RULE]);
    let of = |attached: Attached| Signed {
        image: Some(image()),
        attached,
        ..Signed::default()
    };
    let statement = |about: &Digest, kind: &str, predicate: &Value| {
        let bundle = sigstore.statement(&author(), about.as_ref(), kind, predicate).unwrap();
        let statements = vec![Envelope::read(bundle.to_string().as_bytes()).unwrap()];
        // As the cache of the operator keeps it.
        let attached = Attached {
            statements,
            ..Attached::default()
        };
        of(serde_json::from_str(&serde_json::to_string(&attached).unwrap()).unwrap())
    };
    let subject = |signed: &Signed| signed.signer(b"", &trust).map(|signer| signer.subject);
    assert_eq!(subject(&statement(&image(), SIGNATURE, &json!({}))), Ok(Subject::Image));
    let other = digest("b");
    for no_signature in [
        statement(&other, SIGNATURE, &json!({})),
        statement(&image(), PROVENANCE, &json!({})),
    ] {
        assert_eq!(subject(&no_signature), Err(SignatureError::default()));
    }
    let build = json!({"runDetails": {"builder": {"id": "https://ci.example"}}});
    let built = statement(&image(), PROVENANCE, &build);
    let provenance = |builder: &str| built.provenance(&other, &trust, &[builder.to_owned()]);
    let builder = |found: Provenance| found.builder;
    assert_eq!(
        provenance("https://ci.example").map(builder),
        Ok(Some("https://ci.example".to_owned()))
    );
    assert!(provenance("https://other.example").is_err());

    let payload = |about: &Digest| {
        json!({"critical": {"identity": {"docker-reference": "r.example/p"}, "image": {"docker-manifest-digest": about},
            "type": "cosign container image signature"}, "optional": null})
        .to_string()
    };
    let annotated = |about: &Digest, change: &dyn Fn(&mut String)| {
        let mut payload = payload(about);
        let [signature, certificate, entry] = sigstore.annotations(&author(), payload.as_bytes()).unwrap();
        change(&mut payload);
        let signature = ImageSignature::new(payload, signature).with_certificate(&certificate, &entry);
        of(Attached {
            signatures: vec![signature],
            ..Attached::default()
        })
    };
    assert_eq!(subject(&annotated(&image(), &|_| {})), Ok(Subject::Image));
    assert_eq!(subject(&annotated(&other, &|_| {})), Err(SignatureError::default()));
    let changed = annotated(&other, &|payload| {
        *payload = payload.replace(&other.to_string(), image().as_ref())
    });
    assert_eq!(subject(&changed).unwrap_err().reason, Reason::Invalid);
}

/// A change of a bundle or of the trusted root.
type Change = Box<dyn Fn(&Sigstore, &mut Value, &mut Value)>;

fn bundle(change: impl Fn(&Sigstore, &mut Value) + 'static) -> Change {
    Box::new(move |sigstore, bundle, _| change(sigstore, bundle))
}

fn root(change: impl Fn(&mut Value) + 'static) -> Change {
    Box::new(move |_, _, root| change(root))
}

/// What is wrong, for which reason it is refused, and a part of the message.
fn refusals() -> Vec<(&'static str, Change, Reason, &'static str)> {
    let by = |name: &'static str, issuer: &'static str| {
        bundle(move |sigstore, bundle| *bundle = sigstore.signature(&Author::new(name, issuer), COMPONENT).unwrap())
    };
    let without = |pointer: &'static str, name: &'static str| bundle(move |_, bundle| remove(bundle, pointer, name));
    let at = |seconds: i64| bundle(move |sigstore, bundle| sigstore.set_time(bundle, seconds).unwrap());
    let of_other = |pointer: &'static str| {
        bundle(move |_, bundle| {
            let other = Sigstore::new().unwrap().signature(&author(), COMPONENT).unwrap();
            *bundle.pointer_mut(pointer).unwrap() = other.pointer(pointer).unwrap().clone();
        })
    };
    let root_of_other = |pointer: &'static str| {
        root(move |root| {
            let other = Sigstore::new().unwrap().root().unwrap();
            *root.pointer_mut(pointer).unwrap() = other.pointer(pointer).unwrap().clone();
        })
    };
    let ended = |pointer: &'static str| {
        root(move |root| root.pointer_mut(pointer).unwrap()["validFor"]["end"] = "2021-01-01T00:00:00Z".into())
    };
    let many = |pointer: &'static str, count: usize| {
        bundle(move |_, bundle| {
            let list = bundle.pointer_mut(pointer).unwrap().as_array_mut().unwrap();
            list.resize(count, list[0].clone());
        })
    };
    vec![
        (
            "identity",
            by(
                "https://github.com/evil/labels/.github/workflows/release.yml@refs/tags/v1",
                ISSUER,
            ),
            Reason::Identity,
            "evil",
        ),
        (
            "branch",
            by(
                "https://github.com/team/labels/.github/workflows/release.yml@refs/heads/v1",
                ISSUER,
            ),
            Reason::Identity,
            "heads",
        ),
        (
            "issuer",
            by(WORKFLOW, "https://evil.example"),
            Reason::Issuer,
            "evil.example",
        ),
        ("before the certificate", at(-3600), Reason::Certificate, "chain"),
        (
            "after the certificate",
            bundle(|sigstore, bundle| {
                let author = Author {
                    valid_seconds: [-300, -100],
                    ..author()
                };
                *bundle = sigstore.signature(&author, COMPONENT).unwrap();
            }),
            Reason::Certificate,
            "chain",
        ),
        ("in the future", at(3600), Reason::Log, "in the future"),
        (
            "another authority",
            root_of_other("/certificateAuthorities"),
            Reason::Certificate,
            "chain",
        ),
        (
            "an authority that has ended",
            ended("/certificateAuthorities/0"),
            Reason::Certificate,
            "no trusted certificate authority",
        ),
        (
            "another log of certificates",
            root_of_other("/ctlogs"),
            Reason::Certificate,
            "timestamp",
        ),
        (
            "no timestamp of the log of certificates",
            bundle(|sigstore, bundle| {
                let author = Author {
                    is_logged: false,
                    ..author()
                };
                *bundle = sigstore.signature(&author, COMPONENT).unwrap();
            }),
            Reason::Certificate,
            "timestamp",
        ),
        ("another log", root_of_other("/tlogs"), Reason::Log, "log"),
        ("a log that has ended", ended("/tlogs/0/publicKey"), Reason::Log, "log"),
        (
            "no entry",
            without("/verificationMaterial", "tlogEntries"),
            Reason::Log,
            "inclusion proof",
        ),
        (
            "no proof",
            without(ENTRY, "inclusionProof"),
            Reason::Log,
            "inclusion proof",
        ),
        ("no time", without(ENTRY, "inclusionPromise"), Reason::Log, "timestamp"),
        (
            "no checkpoint",
            without("/verificationMaterial/tlogEntries/0/inclusionProof", "checkpoint"),
            Reason::Log,
            "checkpoint",
        ),
        (
            "the checkpoint of another log",
            of_other("/verificationMaterial/tlogEntries/0/inclusionProof/checkpoint"),
            Reason::Log,
            "checkpoint",
        ),
        (
            "the time of another log",
            of_other("/verificationMaterial/tlogEntries/0/inclusionPromise"),
            Reason::Log,
            "SET",
        ),
        (
            "the entry of another signature",
            bundle(|sigstore, bundle| {
                let other = sigstore.signature(&author(), b"other").unwrap();
                bundle["verificationMaterial"]["tlogEntries"] = other["verificationMaterial"]["tlogEntries"].clone();
            }),
            Reason::Invalid,
            "hash mismatch",
        ),
        (
            "another signature",
            of_other("/messageSignature/signature"),
            Reason::Invalid,
            "signature",
        ),
        (
            "another component",
            bundle(|sigstore, bundle| *bundle = sigstore.signature(&author(), b"other").unwrap()),
            Reason::Invalid,
            "digest",
        ),
        (
            "a statement",
            bundle(|sigstore, bundle| {
                *bundle = sigstore
                    .statement(&author(), image().as_ref(), SIGNATURE, &json!({}))
                    .unwrap();
                bundle["messageSignature"] = json!({"signature": "AAAA"});
            }),
            Reason::Invalid,
            "",
        ),
        (
            "entries",
            many("/verificationMaterial/tlogEntries", 9),
            Reason::Invalid,
            "more than 8",
        ),
        (
            "hashes",
            many("/verificationMaterial/tlogEntries/0/inclusionProof/hashes", 65),
            Reason::Invalid,
            "more than 64",
        ),
        (
            "white space",
            bundle(|_, bundle| {
                let path = "/verificationMaterial/tlogEntries/0/inclusionProof/checkpoint/envelope";
                let envelope = bundle.pointer_mut(path).unwrap();
                *envelope = format!("{}\u{c}", envelope.as_str().unwrap().trim_end()).into();
            }),
            Reason::Invalid,
            "white space",
        ),
        (
            "size",
            bundle(|_, bundle| bundle["more"] = "x".repeat(256 << 10).into()),
            Reason::Invalid,
            "more than 256 KiB",
        ),
        (
            "version",
            bundle(|_, bundle| bundle["mediaType"] = "application/vnd.dev.sigstore.bundle.v9+json".into()),
            Reason::Invalid,
            "media type",
        ),
    ]
}

#[test]
fn everything_that_is_wrong_is_refused_for_its_own_reason() {
    let sigstore = Sigstore::new().unwrap();
    let mut wrong = Vec::new();
    for (name, change, reason, part) in refusals() {
        let (mut bundle, mut root) = (
            sigstore.signature(&author(), COMPONENT).unwrap(),
            sigstore.root().unwrap(),
        );
        change(&sigstore, &mut bundle, &mut root);
        match signature_error(&bundle, &trust(&root, &[RULE])) {
            Some(error) if error.reason == reason && error.detail.contains(part) => {}
            other => wrong.push(format!("{name}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // A bundle without a certificate is none of a trusted key.
    let mut bundle = sigstore.signature(&author(), COMPONENT).unwrap();
    remove(&mut bundle, "/verificationMaterial", "certificate");
    bundle["verificationMaterial"]["publicKey"] = json!({"hint": ""});
    assert_eq!(
        signature_error(&bundle, &trust(&sigstore.root().unwrap(), &[RULE])),
        Some(SignatureError::default())
    );
}

#[test]
fn the_trusted_root_decides_what_a_signature_needs() {
    let sigstore = Sigstore::new().unwrap();
    let mut root = sigstore.root().unwrap();
    let mut bundle = sigstore.signature(&author(), COMPONENT).unwrap();
    // Beside the entry of the log, which stays necessary.
    sigstore.add_timestamp(&mut bundle).unwrap();
    assert_eq!(signature_error(&bundle, &trust(&root, &[RULE])), None);
    remove(&mut bundle, "/verificationMaterial", "tlogEntries");
    let without = signature_error(&bundle, &trust(&root, &[RULE])).unwrap();
    assert_eq!(without.reason, Reason::Log, "{without:?}");
    // Without a log, a timestamp is enough, but not one of another authority.
    root["tlogs"] = json!([]);
    assert_eq!(signature_error(&bundle, &trust(&root, &[RULE])), None);
    let other = Sigstore::new().unwrap();
    other.add_timestamp(&mut bundle).unwrap();
    let of_other = signature_error(&bundle, &trust(&root, &[RULE])).unwrap();
    assert_eq!(of_other.reason, Reason::Log, "{of_other:?}");
    // Without a log of certificates, a certificate needs no timestamp of one.
    let mut root = sigstore.root().unwrap();
    let author = Author {
        is_logged: false,
        ..author()
    };
    let bundle = sigstore.signature(&author, COMPONENT).unwrap();
    root["ctlogs"] = json!([]);
    assert_eq!(signature_error(&bundle, &trust(&root, &[RULE])), None);
    for (name, value) in [("certificateAuthorities", json!([])), ("tlogs", json!([7]))] {
        let mut wrong = root.clone();
        wrong[name] = value;
        assert!(
            Identities::new(wrong.to_string().as_bytes(), Vec::new()).is_err(),
            "{name}"
        );
    }
    root["tlogs"] = json!([]);
    root["timestampAuthorities"] = json!([]);
    assert!(Identities::new(root.to_string().as_bytes(), Vec::new()).is_err());
}

/// Where a change may have no effect on what is verified: the version may be missing, names of algorithms are read in
/// upper and lower case, `messageDigest` repeats what is signed, a key of a log is found by its number and not by its
/// name, and of the number of entries only the path to the root counts.
const WITHOUT_EFFECT: [&str; 4] = [
    r#"{"mediaType":"#,
    r#""messageDigest":{"algorithm":"SHA2_256","digest""#,
    "\u{2014} log.example ",
    r#""treeSize":"3""#,
];

#[test]
fn no_byte_of_a_bundle_can_be_changed() {
    let sigstore = Sigstore::new().unwrap();
    let trust = trust(&sigstore.root().unwrap(), &[RULE]);
    let text = sigstore.signature(&author(), COMPONENT).unwrap().to_string();
    assert_eq!(error_of_text(&text, &trust), None);
    let without_effect = WITHOUT_EFFECT.map(|part| {
        let start = text.find(part).unwrap();
        start..start + part.len()
    });
    let bits = (0..text.len()).flat_map(|at| (0..7).map(move |bit| (at, bit)));
    let accepted = bits.filter(|(at, bit)| {
        let mut bytes = text.clone().into_bytes();
        bytes[*at] ^= 1 << bit;
        let is_without_effect = without_effect.iter().any(|part| part.contains(at));
        !is_without_effect && String::from_utf8(bytes).is_ok_and(|text| error_of_text(&text, &trust).is_none())
    });
    let around = |at: usize| at.saturating_sub(20)..text.len().min(at + 20);
    let accepted = accepted.map(|(at, bit)| (bit, String::from_utf8_lossy(&text.as_bytes()[around(at)]).into_owned()));
    assert_eq!(accepted.collect::<Vec<_>>(), Vec::new());
}
