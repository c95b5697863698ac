//! A QuarksSecret for each variable that the manifest defines: the cluster generates its value.

use crate::codes;
use crate::metadata::Metadata;
use crate::object::{compact, object};
use crate::request::Variable;
use boson_document::{Place, Report, Tree, ruby};
use boson_manifest::labels;
use boson_manifest::names::{NameClaims, NameError, Names, label_value};
use boson_manifest::redacted;

/// BOSH's types and the predecessor's.
const TYPES: [&str; 10] = [
    "password",
    "certificate",
    "rsa",
    "ssh",
    "user",
    "tls",
    "basic-auth",
    "dockerconfigjson",
    "templatedconfig",
    "copy",
];

/// Options of certificates: ours, the name in `request.certificate`.
const CERTIFICATE: [(&str, &str); 15] = [
    ("common_name", "commonName"),
    ("alternative_names", "alternativeNames"),
    ("is_ca", "isCA"),
    ("organization", "organization"),
    ("organization_unit", "organizationUnit"),
    ("country", "country"),
    ("state", "state"),
    ("locality", "locality"),
    ("self_sign", "selfSign"),
    ("key_usage", "keyUsage"),
    ("duration", "duration"),
    ("key_length", "keyLength"),
    ("extended_key_usage", "usages"),
    ("signer_type", "signerType"),
    ("activateEKSWorkaroundForSAN", "activateEKSWorkaroundForSAN"),
];

/// What CredHub takes as `key_usage`.
const KEY_USAGES: [&str; 9] = [
    "digital_signature",
    "non_repudiation",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
];

/// Update mode: an existing value stays.
const NO_OVERWRITE: &str = "no-overwrite";

/// Member that means the default if it is not positive; the custom resource takes no negative one.
const KEY_LENGTH: &str = "keyLength";

const MAX_PASSWORD_LENGTH: i64 = 65_536;

/// Options of all types that go beside the request.
const COMMON: [&str; 1] = ["copies"];

/// The QuarksSecret of a variable, with this update mode; `None` after an error, which is in the report.
pub fn object(
    variable: &Variable,
    mode: Option<&str>,
    names: &Names,
    metadata: &Metadata,
    claims: &mut NameClaims,
    place: &Place,
    report: &mut Report,
) -> Option<Tree> {
    let name = name(variable, names, claims, place, report)?;
    if !TYPES.contains(&variable.kind.as_str()) {
        let text = format!(
            "Variable '{}' has the type '{}', which cannot be generated",
            variable.name, variable.kind
        );
        report
            .error(codes::VARIABLE, place.at("type"), text)
            .suggest(&variable.kind, TYPES);
        return None;
    }
    let mut annotated = metadata.clone().annotate(labels::VARIABLE, variable.name.as_str());
    if let Some(mode) = mode {
        annotated = annotated.annotate(labels::UPDATE_MODE, mode);
    }
    let mut secret_annotations = metadata.annotations.clone();
    secret_annotations.insert(labels::VARIABLE.into(), variable.name.as_str().into());
    let secret_labels = object! { labels::DEPLOYMENT_NAME => names.deployment() };
    let spec = compact(object! {
        "type" => variable.kind.as_str(),
        "secretName" => name.as_str(),
        "request" => request(variable, names, place, report),
        "copies" => variable.options.get("copies").cloned().unwrap_or_default(),
        "secretLabels" => secret_labels,
        "secretAnnotations" => secret_annotations,
    });
    let annotated = annotated.label(labels::VARIABLE_NAME, label_value(&variable.name));
    Some(object! {
        "apiVersion" => labels::API_VERSION,
        "kind" => "QuarksSecret",
        "metadata" => annotated.named(&name),
        "spec" => spec,
    })
}

/// The update mode of a variable, if it is not `converge`, which is the default of QuarksSecrets. `converges`:
/// `features.converge_variables`. Unlike in BOSH, certificates converge by default: they hold no secret that a user or
/// a database knows, and names that are added to them have to work.
pub fn update_mode(variable: &Variable, converges: Option<bool>) -> Option<&str> {
    variable.update_mode.as_deref().or(match variable.kind.as_str() {
        "password" | "user" | "rsa" | "ssh" | "basic-auth" if converges != Some(true) => Some(NO_OVERWRITE),
        "certificate" | "tls" if converges == Some(false) => Some(NO_OVERWRITE),
        _ => None,
    })
}

/// Name of QuarksSecret and Secret, claimed.
fn name(
    variable: &Variable,
    names: &Names,
    claims: &mut NameClaims,
    place: &Place,
    report: &mut Report,
) -> Option<String> {
    let by = format!("variable '{}'", variable.name);
    let name = names
        .variable(&variable.name)
        .and_then(|name| claims.claim("Secret", &name, &by).map(|()| name));
    name.map_err(|error| {
        let conflict = matches!(error, NameError::Conflict { .. });
        let code = if conflict { codes::NAME_CONFLICT } else { codes::NAME };
        report.error(code, place.at("name"), error.to_string());
    })
    .ok()
}

/// Options of the other types: ours, the name in `request.<type>`.
fn options_of(kind: &str) -> &'static [(&'static str, &'static str)] {
    match kind {
        "password" => &[("length", "length")],
        "user" => &[("username", "username"), ("length", "length")],
        "rsa" => &[("key_length", "keyLength")],
        "ssh" => &[("key_length", "keyLength"), ("ssh_comment", "comment")],
        "basic-auth" => &[("username", "username")],
        _ => &[],
    }
}

/// `request`: one member, named like the type.
fn request(variable: &Variable, names: &Names, place: &Place, report: &mut Report) -> Tree {
    let (options, kind) = (&variable.options, variable.kind.as_str());
    let (member, known, tree) = match kind {
        "certificate" | "tls" => (
            "certificate",
            &CERTIFICATE[..],
            certificate(options, names, place, report),
        ),
        // The predecessor's own: their request is written as it is.
        "dockerconfigjson" | "templatedconfig" | "copy" => return options.clone(),
        kind => {
            check_length(options, place, report);
            (kind, options_of(kind), pick(options, options_of(kind)))
        }
    };
    for (key, _) in options.as_object().into_iter().flatten() {
        let special =
            COMMON.contains(&key.as_str()) || (member == "certificate" && matches!(key.as_str(), "ca" | "serviceRef"));
        if !special && known.iter().all(|(name, _)| name != key) {
            let text = format!(
                "Option '{key}' of variable '{}' has no effect in the cluster",
                variable.name
            );
            report
                .warning(codes::UNKNOWN_KEY, place.at("options").at(key), text)
                .suggest(key, known.iter().map(|(name, _)| *name));
        }
    }
    compact(object! { member => tree })
}

fn pick(options: &Tree, keys: &[(&str, &str)]) -> Tree {
    let given = keys
        .iter()
        .filter_map(|(from, to)| Some((*to, options.get(from)?.clone())));
    let is_default = |name: &str, value: &Tree| {
        value.is_null() || name == KEY_LENGTH && value.as_i64().is_some_and(|number| number <= 0)
    };
    given.filter(|(name, value)| !is_default(name, value)).collect()
}

fn certificate(options: &Tree, names: &Names, place: &Place, report: &mut Report) -> Tree {
    let mut out = pick(options, &CERTIFICATE);
    check_credhub(options, place, report);
    let usages = options.texts("extended_key_usage");
    let usages: Vec<String> = usages.map(|usage| usage.replace('_', " ")).collect();
    if !usages.is_empty() {
        // Kubernetes' words: `client auth`, `server auth`.
        out.set("usages", usages);
    }
    if let Some(ca) = ruby::member(options, "ca").filter(|ca| !ca.is_empty()) {
        match names.variable(&ca) {
            Ok(secret) => {
                out.set("CARef", object! { "name" => secret.as_str(), "key" => "certificate" });
                out.set("CAKeyRef", object! { "name" => secret, "key" => "private_key" });
            }
            Err(error) => {
                report.error(codes::NAME, place.at("options").at("ca"), error.to_string());
            }
        }
    }
    let services: Vec<Tree> = options.items("serviceRef").to_vec();
    if !services.is_empty() {
        out.set("serviceRef", services);
    }
    out
}

/// Errors of BOSH for the length of a password.
fn check_length(options: &Tree, place: &Place, report: &mut Report) {
    let text = match options.i64("length") {
        Some(length) if length < 0 => "Failed to generate password, 'length' param cannot be negative".to_string(),
        Some(length) if length > MAX_PASSWORD_LENGTH => {
            format!("Failed to generate password, 'length' param cannot be greater than {MAX_PASSWORD_LENGTH}")
        }
        _ => return,
    };
    report.error(codes::VARIABLE, place.at("options").at("length"), text);
}

/// Errors that CredHub reports for its options, with its messages: the cluster would refuse the QuarksSecret without a
/// place in the manifest.
fn check_credhub(options: &Tree, place: &Place, report: &mut Report) {
    let place = place.at("options");
    // CredHub takes ten years at most; manifests that were written for the bosh command line may have more.
    if options.i64("duration").is_some_and(|days| days < 1) {
        let text = "Invalid duration specified. The supported duration values are whole numbers between 1-3650.";
        report.error(codes::VARIABLE, place.at("duration"), text);
    }
    for (index, usage) in options.items("key_usage").iter().enumerate() {
        let known = usage.as_str().is_some_and(|usage| KEY_USAGES.contains(&usage));
        if !known {
            let (most, last) = KEY_USAGES.split_at(KEY_USAGES.len() - 1);
            let text = format!(
                "The provided key usage '{}' is not supported. Valid values include '{}' and '{}'.",
                redacted::name(usage).trim_matches('"'),
                most.join("', '"),
                last.concat()
            );
            report.error(codes::VARIABLE, place.at("key_usage").at(index), text);
        }
    }
    let signed = ruby::member(options, "ca").is_some_and(|ca| !ca.is_empty());
    if signed && options.get("self_sign").and_then(Tree::as_bool) == Some(true) {
        let text =
            "The parameters 'ca' and 'self-sign' cannot be used in combination. Please update and retry your request.";
        report.error(codes::VARIABLE, place.at("self_sign"), text);
    }
}
