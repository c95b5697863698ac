//! Value of a variable of type `ssh`: an RSA key and its public half as `authorized_keys` has it.

use crate::{ErrorKind, KeySize, RsaKey, Source, rsa};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_document::Tree;
use md5::{Digest, Md5};

const KEY_TYPE: &str = "ssh-rsa";

pub(crate) fn value(options: &Tree, source: &dyn Source) -> Result<Tree, ErrorKind> {
    let key = source.key(rsa::wanted_size(options).unwrap_or(KeySize::Rsa2048))?;
    let blob = wire(&key);
    let comment = comment(options).map_or(String::new(), |comment| format!(" {comment}"));
    Ok(Tree::object()
        .with("private_key", key.private_pem())
        .with(
            "public_key",
            format!("{KEY_TYPE} {}{comment}\n", STANDARD.encode(&blob)),
        )
        .with("public_key_fingerprint", fingerprint(&blob)))
}

/// CredHub's option `ssh_comment`; one with a line break is ignored.
pub(crate) fn comment(options: &Tree) -> Option<&str> {
    let comment = options.str("ssh_comment")?;
    (!comment.is_empty() && !comment.contains(char::is_control)).then_some(comment)
}

/// The public key as RFC 4253 section 6.6 writes it.
fn wire(key: &RsaKey) -> Vec<u8> {
    let mut blob = Vec::new();
    for field in [
        KEY_TYPE.as_bytes().to_vec(),
        integer(key.exponent()),
        integer(key.modulus()),
    ] {
        blob.extend(u32::try_from(field.len()).unwrap_or(u32::MAX).to_be_bytes());
        blob.extend(field);
    }
    blob
}

/// A positive integer: a zero byte precedes one whose highest bit is set, which would otherwise be negative.
fn integer(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.first().is_some_and(|byte| byte & 0x80 != 0) {
        bytes.insert(0, 0);
    }
    bytes
}

/// MD5, as OpenSSH showed it before 6.8, without its prefix.
fn fingerprint(blob: &[u8]) -> String {
    let pairs: Vec<String> = Md5::digest(blob).iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(":")
}
