//! Generates a value from its recipe.

use super::recipe::Recipe;
use boson_cluster::client::ErrorKind;
use boson_credentials::{KeptKey, Request, System, concatenated, generate};
use boson_document::Tree;

/// The value. `source`: where a new key comes from.
pub fn generated(source: &System, name: &str, recipe: &Recipe) -> Result<Tree, String> {
    let request = Request {
        name,
        kind: recipe.kind,
        options: &recipe.options,
        signer: recipe.signer.as_ref(),
    };
    let made = match recipe
        .kept_key
        .as_deref()
        .and_then(|pem| KeptKey::new(pem, System::new()))
    {
        Some(kept) => generate(&request, &kept),
        None => generate(&request, source),
    };
    let mut made = made.map_err(|error| error.kind.to_string())?;
    if let Some(trusted) = &recipe.trusted {
        let both = concatenated([member(&made, "ca")?.as_str(), trusted]);
        made.set("ca", both);
    }
    Ok(made)
}

/// A text in a generated value.
///
/// # Errors
/// It is missing: a defect. An empty text in its place would be a Secret that does not work.
pub(crate) fn member(value: &Tree, key: &str) -> Result<String, String> {
    let flawed = || format!("'{key}' of the generated value: {}", ErrorKind::Flawed("is missing"));
    value.str(key).map(str::to_string).ok_or_else(flawed)
}

/// The text that a generated password is.
///
/// # Errors
/// It is no text: a defect.
pub fn text(value: &Tree) -> Result<String, String> {
    let flawed = || format!("the generated password: {}", ErrorKind::Flawed("is no text"));
    value.as_str().map(str::to_string).ok_or_else(flawed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_value_without_a_part_is_a_defect_and_not_empty() {
        let value = Tree::object().with("certificate", "c");
        assert_eq!(member(&value, "certificate").as_deref(), Ok("c"));
        let error = member(&value, "private_key").unwrap_err();
        assert!(
            error.contains("'private_key'") && error.contains("operator-flawed-object"),
            "{error}"
        );
    }
}
