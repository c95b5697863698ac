//! The packages of the contract: as texts, and encoded as registries of WIT packages have them.

use std::collections::BTreeSet;
use wit_parser::{PackageId, Resolve};

/// The contract, compiled in; each package after those that it uses.
pub(crate) const PACKAGES: [(&str, &str); 8] = [
    ("types.wit", include_str!("../../../wit/types/1.0.0/types.wit")),
    ("ops.wit", include_str!("../../../wit/ops/1.0.0/ops.wit")),
    (
        "variables.wit",
        include_str!("../../../wit/variables/1.0.0/variables.wit"),
    ),
    ("links.wit", include_str!("../../../wit/links/1.0.0/links.wit")),
    ("render.wit", include_str!("../../../wit/render/1.0.0/render.wit")),
    ("bpm.wit", include_str!("../../../wit/bpm/1.0.0/bpm.wit")),
    (
        "resources.wit",
        include_str!("../../../wit/resources/1.0.0/resources.wit"),
    ),
    ("checks.wit", include_str!("../../../wit/checks/1.0.0/checks.wit")),
];

/// The text of a package of the contract, version 1.0.0: `types`, or that of a stage.
pub fn wit(package: &str) -> Option<&'static str> {
    let file = |(name, _): &&(&str, &str)| name.strip_suffix(".wit") == Some(package);
    PACKAGES.iter().find(file).map(|(_, text)| *text)
}

/// A package of the contract in WebAssembly's binary encoding of WIT, with its comments.
#[derive(Clone, Debug)]
pub struct Package {
    /// `types`, without the namespace.
    pub name: String,
    pub version: String,
    /// The first paragraph of its comment.
    pub description: String,
    /// The worlds, what they export, and the interfaces, as images of WIT packages list them.
    pub exports: Vec<String>,
    pub bytes: Vec<u8>,
}

/// All packages of the contract, each after those that it uses.
///
/// # Errors
/// A text is not WIT.
pub fn packages() -> Result<Vec<Package>, String> {
    let mut resolve = Resolve::default();
    let encode = |(file, text): (&str, &str)| {
        let encoding_error = |error| format!("{file} cannot be encoded: {error:#}");
        let id = resolve.push_str(file, text).map_err(encoding_error)?;
        let bytes = wit_component::encode(&resolve, id).map_err(encoding_error)?;
        Ok(package(&resolve, id, bytes))
    };
    PACKAGES.into_iter().map(encode).collect()
}

fn package(resolve: &Resolve, id: PackageId, bytes: Vec<u8>) -> Package {
    let package = &resolve.packages[id];
    let comment = package.docs.contents.as_deref().unwrap_or_default();
    let version = package.name.version.as_ref().map(ToString::to_string);
    let mut exports = BTreeSet::new();
    for (name, world) in &package.worlds {
        exports.insert(package.name.interface_id(name));
        let world = &resolve.worlds[*world];
        exports.extend(world.exports.keys().map(|key| resolve.name_world_key(key)));
    }
    exports.extend(package.interfaces.keys().map(|name| package.name.interface_id(name)));
    Package {
        name: package.name.name.clone(),
        version: version.unwrap_or_default(),
        description: comment.split("\n\n").next().unwrap_or_default().replace('\n', " "),
        exports: exports.into_iter().collect(),
        bytes,
    }
}
