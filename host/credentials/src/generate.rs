//! Generates the value for a request.

use crate::options::Options;
use crate::{Error, ErrorKind, KeySize, Source, certificate, password, rsa, ssh, user};
use boson_document::Tree;

/// A variable that needs a value.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Name, for errors.
    pub name: &'a str,
    /// Type: `password`, `rsa`, `ssh`, `certificate` or `user`.
    pub kind: &'a str,
    /// Options, placeholders replaced; null for none.
    pub options: &'a Tree,
    /// Value of the variable that [`signer_name`] names, if there is one.
    pub signer: Option<&'a Tree>,
}

/// Makes a value: a string for passwords, an object for all others.
///
/// # Errors
/// Options that the type does not take, a signer that can't sign, no randomness. Nothing is generated then.
pub fn generate(request: &Request<'_>, source: &dyn Source) -> Result<Tree, Error> {
    let value = match request.kind {
        "password" => password::value(request.options, source),
        "rsa" => rsa::value(request.options, source),
        "ssh" => ssh::value(request.options, source),
        "certificate" => certificate::value(request.options, request.signer, source),
        "user" => user::value(request.options, source),
        other => Err(ErrorKind::UnsupportedType(other.to_string())),
    };
    value.map_err(|cause| cause.of(request.name))
}

/// Checks what [`generate`] checks before it generates anything. `signer`: whether the variable that [`signer_name`]
/// names will have a value.
///
/// # Errors
/// Options that the type does not take, a signer without a value.
pub fn check(name: &str, kind: &str, options: &Tree, signer: bool) -> Result<(), Error> {
    let checked = match kind {
        "password" => password::check(options),
        "rsa" | "ssh" => Ok(()),
        "certificate" => certificate::check(options, signer),
        "user" => user::check(options),
        other => Err(ErrorKind::UnsupportedType(other.to_string())),
    };
    checked.map_err(|cause| cause.of(name))
}

/// The variable that has to have a value before this one can be generated: the CA of a certificate.
pub fn signer_name<'a>(kind: &str, options: &'a Tree) -> Option<&'a str> {
    options
        .str("ca")
        .filter(|name| kind == "certificate" && !name.is_empty())
}

/// The size of key that this variable will ask for, to make it ahead of time ([`crate::System::prepare`]).
pub fn key_demand(kind: &str, options: &Tree) -> Option<KeySize> {
    match kind {
        "rsa" | "ssh" => Some(rsa::wanted_size(options).unwrap_or(KeySize::Rsa2048)),
        "certificate" => {
            let options = Options::read("certificate", options, certificate::OPTIONS).ok()?;
            certificate::key_size(&options).ok()
        }
        _ => None,
    }
}

/// Why the bosh command line does not generate what is asked for, although CredHub does: its types and options are
/// fewer.
pub fn refused_by_bosh(kind: &str, options: &Tree, signer: Option<&Tree>) -> Option<ErrorKind> {
    match kind {
        "user" => Some(ErrorKind::UnsupportedType(kind.into())),
        "certificate" => certificate::refused_by_bosh(options, signer),
        _ => None,
    }
}

/// Why CredHub does not generate what is asked for, although the bosh command line does.
pub fn refused_by_credhub(kind: &str, options: &Tree) -> Option<ErrorKind> {
    let duration = options.get("duration").and_then(Tree::as_i64);
    let is_refused = kind == "certificate" && duration.is_some_and(|days| days < 1);
    is_refused.then_some(ErrorKind::InvalidDuration)
}

/// Options that are accepted and do nothing; worth a warning each.
pub fn ignored_options<'a>(kind: &str, options: &'a Tree) -> Vec<&'a str> {
    let names = options
        .as_object()
        .into_iter()
        .flat_map(|map| map.keys().map(String::as_str));
    let is_ca = options.get("is_ca").and_then(Tree::as_bool).unwrap_or(false);
    let ignored = |name: &&str| match kind {
        "rsa" | "ssh" if *name == "key_length" => rsa::wanted_size(options).is_none(),
        "ssh" if *name == "ssh_comment" => ssh::comment(options).is_none(),
        "rsa" | "ssh" => true,
        "certificate" => is_ca && matches!(*name, "alternative_names" | "extended_key_usage"),
        _ => false,
    };
    names.filter(ignored).collect()
}
