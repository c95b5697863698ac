//! Values as a user gets them: shapes, defaults, encodings, errors; read back by openssl and ssh-keygen.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so")]

mod made;

use boson_credentials::{
    ErrorKind, KeySize, Request, RsaKey, Source, System, check, generate, ignored_options, key_demand, prepare_keys,
    refused_by_bosh, signer_name,
};
use boson_document::{Tree, json};
use made::{make, tool, written};
use std::path::Path;
use std::time::SystemTime;

#[test]
fn passwords_have_bosh_length_and_letters() {
    for (options, length) in [
        ("null", 20),
        ("{}", 20),
        (r#"{"length": 0}"#, 20),
        (r#"{"length": 7}"#, 7),
        (r#"{"length": 300}"#, 300),
    ] {
        let value = make("password", options, None).unwrap();
        let text = value.as_str().unwrap();
        assert_eq!(text.len(), length, "{options}");
        assert!(
            text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()),
            "{text}"
        );
    }
    let options = Tree::Null;
    let request = Request {
        name: "p",
        kind: "password",
        options: &options,
        signer: None,
    };
    let two = [(); 2].map(|()| generate(&request, &System::new()).unwrap());
    assert_ne!(two[0], two[1]);
}

#[test]
fn every_letter_is_as_likely_as_the_others() {
    let options = json::parse(r#"{"length": 360000}"#).unwrap();
    let request = Request {
        name: "p",
        kind: "password",
        options: &options,
        signer: None,
    };
    let value = generate(&request, &System::new()).unwrap();
    let text = value.as_str().unwrap();
    for letter in ('a'..='z').chain('0'..='9') {
        let count = text.chars().filter(|c| *c == letter).count();
        assert!((9_400..10_600).contains(&count), "{letter}: {count}");
    }
}

#[test]
fn errors_are_in_bosh_words_and_come_before_any_key_is_made() {
    struct Keyless;
    impl Source for Keyless {
        fn now(&self) -> SystemTime {
            SystemTime::UNIX_EPOCH
        }
        fn fill(&self, _: &mut [u8]) -> Result<(), ErrorKind> {
            Err(ErrorKind::Entropy)
        }
        fn key(&self, _: KeySize) -> Result<RsaKey, ErrorKind> {
            panic!("a key was made for nothing")
        }
    }
    let certificate = "Failed to generate certificate, parameters are invalid: ";
    for (kind, options, wanted) in [
        (
            "password",
            r#"{"length": -1}"#,
            "Failed to generate password, 'length' param cannot be negative".to_string(),
        ),
        (
            "password",
            r#"{"size": 1}"#,
            "Failed to generate password, parameters are invalid: Unsupported parameter 'size'".into(),
        ),
        (
            "certificate",
            r#"{"self_sign": true, "ca": "x"}"#,
            "The parameters 'ca' and 'self-sign' cannot be used in combination. Please update and retry your request.".into(),
        ),
        (
            "certificate",
            r#"{"is_ca": true, "country": "USA"}"#,
            "The request could not be completed because the country is too long. The max length for country is 2 characters.".into(),
        ),
        (
            "certificate",
            r#"{"organizations": []}"#,
            format!("{certificate}Unsupported parameter 'organizations'"),
        ),
        ("certificate", "null", "Missing required CA name".into()),
        (
            "certificate",
            r#"{"ca": "", "extended_key_usage": ["x"]}"#,
            "Missing required CA name".into(),
        ),
        (
            "certificate",
            r#"{"key_length": 1024}"#,
            "Invalid key_length: 1024.  Must be one of: [2048 3072 4096]".into(),
        ),
        (
            "certificate",
            r#"{"ca": "X"}"#,
            "Loading certificates: Expected to find variable 'X' with a certificate".into(),
        ),
        (
            "certificate",
            r#"{"is_ca": true, "duration": 106752}"#,
            "Invalid duration: 106752.  Must be at most 106751 days".into(),
        ),
        ("user2", "null", "Unsupported value type: user2".into()),
    ] {
        let options = json::parse(options).unwrap();
        let error = generate(
            &Request {
                name: "v",
                kind,
                options: &options,
                signer: None,
            },
            &Keyless,
        )
        .unwrap_err();
        assert_eq!(error.to_string(), format!("Generating variable 'v': {wanted}"));
        let checked = check("v", kind, &options, false).unwrap_err();
        assert_eq!(checked.to_string(), error.to_string(), "before anything is generated");
    }
}

#[test]
fn the_bosh_command_line_refuses_what_only_credhub_makes() {
    let refused = |kind: &str, options: &str| {
        let options = json::parse(options).unwrap();
        refused_by_bosh(kind, &options, None).map(|cause| cause.to_string())
    };
    let unsupported = "Failed to generate certificate, parameters are invalid: Unsupported parameter";
    for (kind, options, wanted) in [
        ("user", "null", Some("Unsupported value type: user".to_string())),
        (
            "certificate",
            r#"{"self_sign": true}"#,
            Some(format!("{unsupported} 'self_sign'")),
        ),
        (
            "certificate",
            r#"{"ca": "x", "key_usage": []}"#,
            Some(format!("{unsupported} 'key_usage'")),
        ),
        (
            "certificate",
            r#"{"ca": "x", "extended_key_usage": ["code_signing"]}"#,
            Some("Unsupported extended key usage value: code_signing".to_string()),
        ),
        (
            "certificate",
            r#"{"is_ca": true, "extended_key_usage": ["code_signing"]}"#,
            None,
        ),
        ("certificate", r#"{"ca": "x", "organization": "o"}"#, None),
        ("rsa", r#"{"key_length": 4096}"#, None),
        ("password", "null", None),
    ] {
        assert_eq!(refused(kind, options), wanted, "{kind} {options}");
    }
}

#[test]
fn rsa_and_ssh_keys_come_in_bosh_encodings() {
    let rsa = make("rsa", r#"{"whatever": 1}"#, None).unwrap();
    assert_eq!(
        rsa.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["private_key", "public_key"]
    );
    assert!(
        rsa.str("public_key")
            .unwrap()
            .starts_with("-----BEGIN PUBLIC KEY-----\n")
    );
    let dir = written(&rsa);
    if let Some(public) = tool("openssl", &["rsa", "-in", "private_key", "-pubout"], dir.path()) {
        assert_eq!(public, rsa.str("public_key").unwrap());
    }
    let ssh = make("ssh", "null", None).unwrap();
    let line = ssh.str("public_key").unwrap();
    assert!(line.starts_with("ssh-rsa AAAAB3NzaC1yc2E") && line.ends_with('\n') && line.split(' ').count() == 2);
    let dir = written(&ssh);
    if let Some(answer) = tool("ssh-keygen", &["-l", "-E", "md5", "-f", "public_key"], dir.path()) {
        let wanted = format!(
            "2048 MD5:{} no comment (RSA)\n",
            ssh.str("public_key_fingerprint").unwrap()
        );
        assert_eq!(answer, wanted);
    }
}

#[test]
fn users_get_a_name_a_password_and_its_hash() {
    let user = make("user", r#"{"username": "admin", "length": 12}"#, None).unwrap();
    assert_eq!(
        (user.str("username"), user.str("password").unwrap().len()),
        (Some("admin"), 12)
    );
    assert_eq!(make("user", "null", None).unwrap().str("username").unwrap().len(), 20);
    let hash = user.str("password_hash").unwrap();
    assert!(hash.starts_with("$6$"), "{hash}");
    let salt = hash.rsplit('$').nth(1).unwrap();
    let args = ["passwd", "-6", "-salt", salt, user.str("password").unwrap()];
    if let Some(answer) = tool("openssl", &args, Path::new("/")) {
        assert_eq!(answer.trim().rsplit('$').next(), hash.rsplit('$').next());
    }
}

#[test]
fn passwords_of_users_have_the_kinds_of_characters_asked_for() {
    let system = System::new();
    let user = |options: &str| {
        let options = json::parse(options).unwrap();
        let request = Request {
            name: "v",
            kind: "user",
            options: &options,
            signer: None,
        };
        generate(&request, &system)
    };
    let kinds = |options: &str| {
        let user = user(options).unwrap();
        let has = |test: fn(&char) -> bool| user.str("password").unwrap().chars().any(|c| test(&c));
        [
            has(char::is_ascii_lowercase),
            has(char::is_ascii_uppercase),
            has(char::is_ascii_digit),
            has(char::is_ascii_punctuation),
        ]
    };
    for (options, wanted) in [
        (r#"{"length": 60}"#, [true, false, true, false]),
        (r#"{"include_special": true, "length": 4}"#, [true, true, true, true]),
        (r#"{"exclude_number": true, "length": 60}"#, [true, true, false, false]),
        (
            r#"{"exclude_lower": true, "exclude_upper": true}"#,
            [false, false, true, false],
        ),
    ] {
        for _ in 0..20 {
            assert_eq!(kinds(options), wanted, "{options}");
        }
    }
    let none = r#"{"exclude_lower": true, "exclude_upper": true, "exclude_number": true}"#;
    let error = user(none).unwrap_err().to_string();
    assert!(error.contains("leaves no character"), "{error}");
    let name = user("null").unwrap().str("username").unwrap().to_string();
    assert!(name.chars().all(|c| c.is_ascii_alphabetic()), "{name}");
}

#[test]
fn keys_are_made_ahead_once_each_and_of_the_right_size() {
    let demand = [KeySize::Rsa2048, KeySize::Rsa3072, KeySize::Rsa2048];
    let keys = prepare_keys(&demand, 2).unwrap();
    assert_eq!(keys.iter().filter(|key| key.size() == KeySize::Rsa2048).count(), 2);
    let system = System::new();
    system.prepare(&[KeySize::Rsa2048]).unwrap();
    let two = [
        system.key(KeySize::Rsa2048).unwrap(),
        system.key(KeySize::Rsa2048).unwrap(),
    ];
    assert_ne!(two[0].private_pem(), two[1].private_pem());
    assert!(!format!("{:?}", two[0]).contains("BEGIN") && RsaKey::from_pem(&two[0].private_pem()).is_some());
    for (kind, options, wanted) in [
        ("ssh", "null", Some(KeySize::Rsa2048)),
        ("certificate", "null", Some(KeySize::Rsa3072)),
        ("certificate", r#"{"key_length": 4096}"#, Some(KeySize::Rsa4096)),
        ("certificate", r#"{"key_length": 1}"#, None),
        ("password", "null", None),
    ] {
        assert_eq!(
            key_demand(kind, &json::parse(options).unwrap()),
            wanted,
            "{kind} {options}"
        );
    }
}

#[test]
fn signers_and_ignored_options_are_known_beforehand() {
    let options = json::parse(r#"{"ca": "root", "is_ca": true, "alternative_names": []}"#).unwrap();
    assert_eq!(signer_name("certificate", &options), Some("root"));
    assert_eq!(signer_name("password", &options), None);
    assert_eq!(ignored_options("certificate", &options), ["alternative_names"]);
    assert_eq!(ignored_options("ssh", &options).len(), 3);
}

#[test]
fn keys_take_credhubs_options_and_no_others() {
    let tree = |text: &str| json::parse(text).unwrap();
    let options = r#"{"key_length": 4096, "ssh_comment": "me@here"}"#;
    let ssh = make("ssh", options, None).unwrap();
    let dir = written(&ssh);
    assert!(ssh.str("public_key").unwrap().ends_with(" me@here\n"));
    if let Some(line) = tool("ssh-keygen", &["-l", "-E", "md5", "-f", "public_key"], dir.path()) {
        assert!(line.starts_with("4096 MD5:") && line.contains("me@here"), "{line}");
    }
    assert_eq!(key_demand("rsa", &tree(options)), Some(KeySize::Rsa4096));
    assert_eq!(ignored_options("rsa", &tree(options)), ["ssh_comment"]);
    assert_eq!(ignored_options("ssh", &tree(options)), Vec::<&str>::new());
    let refused = tree(r#"{"key_length": 1024, "ssh_comment": "two\nlines"}"#);
    assert_eq!(ignored_options("ssh", &refused), ["key_length", "ssh_comment"]);
    assert_eq!(
        key_demand("ssh", &refused),
        Some(KeySize::Rsa2048),
        "as the bosh command line has it"
    );
}
