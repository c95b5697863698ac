//! Value of a variable of type `user`, which CredHub knows and the bosh command line does not.

use crate::options::{Kind, Options};
use crate::{ErrorKind, Source, password};
use boson_document::Tree;
use sha_crypt::{Algorithm, Params, PasswordHasher, ShaCrypt};

/// Names and types of the options, in alphabetical order.
pub(crate) const OPTIONS: &[(&str, Kind)] = &[
    ("exclude_lower", Kind::Bool),
    ("exclude_number", Kind::Bool),
    ("exclude_upper", Kind::Bool),
    ("include_special", Kind::Bool),
    ("length", Kind::Int),
    ("username", Kind::Text),
];

const LOWER_LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER_LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DECIMAL_DIGITS: &str = "0123456789";
const SPECIAL_CHARACTERS: &str = "!#$%&()*,-./:;<=>?@[\\]^_`{|}~";
/// Of the shortest password that can have all kinds of characters, one in fifteen has. A source that repeats itself
/// must not cause an endless loop.
const MAX_DRAWS: usize = 10_000;
/// Letters of a generated name. As with CredHub, it has no digits: some databases accept none at the start.
const USERNAME_LENGTH: usize = 20;

const SALT_BYTES: usize = 12;

pub(crate) fn value(options: &Tree, source: &dyn Source) -> Result<Tree, ErrorKind> {
    let options = Options::read("user", options, OPTIONS)?;
    let length = password::length(&options)?;
    let username = match options.text("username") {
        name if name.is_empty() => {
            let letters = [LOWER_LETTERS, UPPER_LETTERS].concat();
            password::random_from(letters.as_bytes(), USERNAME_LENGTH, source)?
        }
        name => name,
    };
    let password = password(&options, length, source)?;
    let hash = hash(&password, source)?;
    Ok(Tree::object()
        .with("username", username)
        .with("password", password)
        .with("password_hash", hash))
}

pub(crate) fn check(options: &Tree) -> Result<(), ErrorKind> {
    let options = Options::read("user", options, OPTIONS)?;
    password::length(&options)?;
    kinds(&options).map(drop)
}

/// A password of CredHub's kinds of characters, at least one of each, if the options specify them; otherwise as for the
/// type `password`.
fn password(options: &Options<'_>, length: usize, source: &dyn Source) -> Result<String, ErrorKind> {
    let Some(kinds) = kinds(options)? else {
        return password::random(length, source);
    };
    let alphabet = kinds.concat();
    for _ in 0..MAX_DRAWS {
        let password = password::random_from(alphabet.as_bytes(), length, source)?;
        // One that is shorter than there are kinds cannot have all of them.
        let complete = kinds.iter().all(|kind| password.contains(|c| kind.contains(c)));
        if complete || length < kinds.len() {
            return Ok(password);
        }
    }
    Err(ErrorKind::Entropy)
}

/// The kinds of characters that the options allow; `None` if they do not mention any.
fn kinds(options: &Options<'_>) -> Result<Option<Vec<&'static str>>, ErrorKind> {
    let (lower, upper, digits, special) = ("exclude_lower", "exclude_upper", "exclude_number", "include_special");
    if ![lower, upper, digits, special].iter().any(|name| options.flag(name)) {
        return Ok(None);
    }
    let kinds = [
        (LOWER_LETTERS, !options.flag(lower)),
        (UPPER_LETTERS, !options.flag(upper)),
        (DECIMAL_DIGITS, !options.flag(digits)),
        (SPECIAL_CHARACTERS, options.flag(special)),
    ];
    let kinds: Vec<_> = kinds
        .into_iter()
        .filter(|(_, wanted)| *wanted)
        .map(|(kind, _)| kind)
        .collect();
    if kinds.is_empty() {
        return Err(ErrorKind::InvalidOptions {
            kind: "user",
            reason: "The combination of options leaves no character for the password".to_string(),
        });
    }
    Ok(Some(kinds))
}

/// `$6$<salt>$<hash>`, as crypt(3) writes it for SHA-512 with its default number of rounds.
fn hash(password: &str, source: &dyn Source) -> Result<String, ErrorKind> {
    let mut salt = [0; SALT_BYTES];
    source.fill(&mut salt)?;
    let crypt = ShaCrypt::new(Algorithm::Sha512Crypt, Params::default());
    let hash = crypt.hash_password_with_salt(password.as_bytes(), &salt);
    // 5000 rounds are the default without a number; not all readers of such hashes support the parameter.
    hash.map(|hash| hash.to_string().replacen("$rounds=5000$", "$", 1))
        .map_err(|_| ErrorKind::Key("the password can't be hashed"))
}
