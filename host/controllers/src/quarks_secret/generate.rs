//! Generates a value from its recipe.

use super::recipe::Recipe;
use boson_credentials::{KeptKey, Request, System, generate};
use boson_document::Tree;

/// The value. `source`: where a new key comes from.
pub(super) fn generated(source: &System, name: &str, recipe: &Recipe) -> Result<Tree, String> {
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
    made.map_err(|error| error.cause.to_string())
}
