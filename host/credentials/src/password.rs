//! Value of a variable of type `password`.

use crate::options::{Kind, Options};
use crate::{ErrorKind, Source};
use boson_document::Tree;

const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const DEFAULT_LENGTH: usize = 20;
/// The limit of a Secret, so that a typing error cannot exhaust memory.
const MAX_LENGTH: usize = 1 << 20;

/// Names and types of the options.
pub(crate) const OPTIONS: &[(&str, Kind)] = &[("length", Kind::Int)];

pub(crate) fn value(options: &Tree, source: &dyn Source) -> Result<Tree, ErrorKind> {
    let options = Options::read("password", options, OPTIONS)?;
    Ok(random(length(&options)?, source)?.into())
}

pub(crate) fn check(options: &Tree) -> Result<(), ErrorKind> {
    length(&Options::read("password", options, OPTIONS)?).map(drop)
}

/// The length that the options ask for.
pub(crate) fn length(options: &Options<'_>) -> Result<usize, ErrorKind> {
    match options.integer("length") {
        0 => Ok(DEFAULT_LENGTH),
        length if length < 0 => Err(ErrorKind::NegativeLength),
        length => usize::try_from(length)
            .ok()
            .filter(|l| *l <= MAX_LENGTH)
            .ok_or(ErrorKind::ExcessiveLength(MAX_LENGTH)),
    }
}

/// Generates this many letters and digits, all with the same probability.
pub(crate) fn random(length: usize, source: &dyn Source) -> Result<String, ErrorKind> {
    random_from(ALPHABET, length, source)
}

/// Generates this many of these characters, all with the same probability. `alphabet` is ASCII and not empty.
pub(crate) fn random_from(alphabet: &[u8], length: usize, source: &dyn Source) -> Result<String, ErrorKind> {
    // Bytes above the greatest multiple would make the first letters of the alphabet likelier.
    let fair = 256 - 256 % alphabet.len();
    let mut text = String::with_capacity(length);
    let mut bytes = [0; 64];
    while text.len() < length {
        source.fill(&mut bytes)?;
        let letters = bytes
            .iter()
            .map(|byte| usize::from(*byte))
            .filter(|byte| *byte < fair)
            .map(|byte| char::from(alphabet[byte % alphabet.len()]));
        text.extend(letters.take(length - text.len()));
    }
    Ok(text)
}
