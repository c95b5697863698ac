//! Value of a variable of type `user`, which CredHub knows and the bosh command line does not.

use crate::options::{Kind, Options};
use crate::{Cause, Source, password};
use boson_document::Tree;
use sha_crypt::{Algorithm, Params, PasswordHasher, ShaCrypt};

/// Names and types of the options, in alphabetical order.
pub(crate) const OPTIONS: &[(&str, Kind)] = &[("length", Kind::Int), ("username", Kind::Text)];

const SALT_BYTES: usize = 12;

/// A new user.
pub(crate) fn value(options: &Tree, source: &dyn Source) -> Result<Tree, Cause> {
    let options = Options::read("user", options, OPTIONS)?;
    let length = password::length(&options)?;
    let username = match options.text("username") {
        name if name.is_empty() => password::random(20, source)?,
        name => name,
    };
    let password = password::random(length, source)?;
    let hash = hash(&password, source)?;
    Ok(Tree::object()
        .with("username", username)
        .with("password", password)
        .with("password_hash", hash))
}

/// `$6$<salt>$<hash>`, as crypt(3) writes it for SHA-512 with its default number of rounds.
fn hash(password: &str, source: &dyn Source) -> Result<String, Cause> {
    let mut salt = [0; SALT_BYTES];
    source.fill(&mut salt)?;
    let crypt = ShaCrypt::new(Algorithm::Sha512Crypt, Params::default());
    let hash = crypt.hash_password_with_salt(password.as_bytes(), &salt);
    // 5000 rounds are what no number means; not all readers of such hashes know the word.
    hash.map(|hash| hash.to_string().replacen("$rounds=5000$", "$", 1))
        .map_err(|_| Cause::Key("the password can't be hashed"))
}
