//! Values of variables of type `rsa`.

use crate::{ErrorKind, KeySize, Source};
use boson_document::Tree;

/// The size that the options of the types `rsa` and `ssh` ask for, if it is supported. CredHub uses `key_length`, the
/// bosh command line ignores all options of these types, so an unsupported size is not an error here.
pub(crate) fn wanted_size(options: &Tree) -> Option<KeySize> {
    KeySize::from_bits(options.get("key_length")?.as_i64()?)
}

/// Value of a variable of type `rsa`.
pub(crate) fn value(options: &Tree, source: &dyn Source) -> Result<Tree, ErrorKind> {
    let key = source.key(wanted_size(options).unwrap_or(KeySize::Rsa2048))?;
    Ok(Tree::object()
        .with("private_key", key.private_pem())
        .with("public_key", key.public_pem()))
}
