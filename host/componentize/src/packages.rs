//! The texts of the contract.

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
