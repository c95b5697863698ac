//! The Secret with the resolved document of an instance group, which init containers render templates from.

use crate::Diagnostic;
use crate::object::metadata;
use boson_deployment::labels::{self, secret_kind, secret_type};
use boson_deployment::names::{LABEL_LIMIT, NameError, Names, cut, label};
use boson_document::Tree;

/// Key of the document in the Secret.
pub const KEY: &str = "properties.yaml";

/// The Secret of a group at one version; `text` is the document as YAML.
///
/// # Errors
/// A group without a name that Kubernetes takes, more text than a Secret holds.
pub fn resolved_secret(names: &Names, group: &str, version: u32, text: String) -> Result<Tree, Box<Diagnostic>> {
    let unnamed = |error: NameError| Box::new(Diagnostic::error("plain-no-name", error.to_string()));
    let name = names.resolved(group, Some(version)).map_err(unnamed)?;
    let label = cut(&label(group), "", LABEL_LIMIT);
    let labels = Tree::object()
        .with(labels::DEPLOYMENT_NAME, names.deployment())
        .with(labels::INSTANCE_GROUP_NAME, label)
        .with(labels::SECRET_TYPE, secret_type::RESOLVED)
        .with(labels::SECRET_KIND, secret_kind::VERSIONED)
        .with(labels::SECRET_VERSION, version.to_string());
    let secret = Tree::object()
        .with("apiVersion", "v1")
        .with("kind", "Secret")
        .with("metadata", metadata(&name, None, labels, Tree::object()))
        .with("type", "Opaque")
        // A version never changes: pods of one version see one document.
        .with("immutable", true);
    super::secret::with_data(secret, &[(KEY.into(), text)])
}
