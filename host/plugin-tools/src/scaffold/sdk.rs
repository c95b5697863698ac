//! The crate `boson-plugin`, which each new plugin in Rust has a copy of: it builds without a registry, and with the
//! plugin interface of this host.

use boson_componentize::wit;
use boson_pipeline::Stage;

const MANIFEST: &str = include_str!("../../../../sdk/rust/Cargo.toml");
/// The part of its manifest that a crate inside another one must not have.
const WORKSPACE: &str = "# Not a crate of Boson.\n[workspace]\n";

/// Where its bindings find the interface in the repository, and in the copy.
const REPOSITORY: &str = "\"../../wit/";
const COPY: &str = "\"wit/";

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_str!(concat!("../../../../sdk/rust/", $path)))),*]
    };
}

const FILES: [(&str, &str); 14] = files![
    "README.md",
    "src/lib.rs",
    "src/bpm.rs",
    "src/checks.rs",
    "src/console.rs",
    "src/export.rs",
    "src/links.rs",
    "src/ops.rs",
    "src/plugin.rs",
    "src/render.rs",
    "src/resources.rs",
    "src/types.rs",
    "src/variables.rs",
    "src/wrapper.rs",
];

pub fn files() -> Vec<(String, String)> {
    let manifest = MANIFEST.split(WORKSPACE).next().unwrap_or_default();
    let packages = Stage::ALL.into_iter().map(Stage::name).chain(["types"]);
    let packages = packages.map(|package| {
        let path = format!("boson-plugin/wit/{package}/1.0.0/{package}.wit");
        (path, wit(package).unwrap_or_default().to_string())
    });
    let sources = FILES
        .iter()
        .map(|(path, text)| (format!("boson-plugin/{path}"), text.replace(REPOSITORY, COPY)));
    let manifest = ("boson-plugin/Cargo.toml".to_string(), manifest.to_string());
    sources.chain(packages).chain([manifest]).collect()
}
