//! A plugin as files of limited size: `plugin.wasm`, or compressed `plugin.wasm.zst`, or either of them split into
//! parts `plugin.wasm.0`, `plugin.wasm.1`, ... ConfigMaps hold components in this form, and pods mount them in it.

pub const COMPONENT: &str = "plugin.wasm";
/// Suffix of a compressed component.
pub const COMPRESSED: &str = ".zst";
/// Limit on a packed component, in bytes: all operators, pods and the API server have to store or transfer it.
pub const MAX_PACKED_BYTES: usize = 32 << 20;
/// Limit on a component, in bytes. CRuby has 46 MB.
pub const MAX_COMPONENT_BYTES: usize = 96 << 20;
/// The file with the cases of a plugin, beside `plugin.yaml`.
pub const CASES: &str = "cases.json.zst";
/// Limit on the packed cases of a plugin, in bytes: they share a ConfigMap of 1 MiB with a part of the component.
pub const MAX_PACKED_CASES_BYTES: usize = 512 << 10;
/// Limit on the cases of a plugin as text, in bytes: a value takes about ten times the size of its text in memory.
pub const MAX_CASES_BYTES: usize = 4 << 20;
/// Limit on the number of cases of a plugin.
pub const MAX_CASES: usize = 64;
/// Limit on the parts of a component: more than `MAX_PACKED_BYTES` fills.
pub const MAX_PARTS: usize = 256;

/// Which files make up the component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// In order.
    pub files: Vec<String>,
    /// Whether they are one zstd stream.
    pub compressed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// `None`: it is the whole component.
    pub number: Option<usize>,
    pub compressed: bool,
}

/// The part that a file of this name is, if it is one.
pub fn part(name: &str) -> Option<Part> {
    let rest = name.strip_prefix(COMPONENT)?;
    let (rest, compressed) = rest.strip_prefix(COMPRESSED).map_or((rest, false), |rest| (rest, true));
    if rest.is_empty() {
        return Some(Part {
            number: None,
            compressed,
        });
    }
    let digits = rest.strip_prefix('.')?;
    let number: usize = digits.parse().ok()?;
    // `01` and `+1` would be second names of the same part.
    (number.to_string() == digits && number < MAX_PARTS).then_some(Part {
        number: Some(number),
        compressed,
    })
}

/// The name of a part, or of the whole if there is only one.
pub fn name(part: usize, parts: usize, compressed: bool) -> String {
    let end = if compressed { COMPRESSED } else { "" };
    match parts {
        1 => format!("{COMPONENT}{end}"),
        _ => format!("{COMPONENT}{end}.{part}"),
    }
}

/// The layout of these files; other files than parts of a component are ignored.
///
/// # Errors
/// A sentence: no component, a missing part, or two mixed forms.
pub fn layout<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Layout, String> {
    let found = names.into_iter().filter_map(|name| Some((part(name)?, name)));
    let mut found: Vec<(Part, &str)> = found.collect();
    found.sort_unstable();
    let Some((first, _)) = found.first().copied() else {
        return Err(format!(
            "there is no '{COMPONENT}', '{COMPONENT}{COMPRESSED}' or '{COMPONENT}.0'"
        ));
    };
    let is_mixed = found.iter().any(|(part, _)| part.compressed != first.compressed);
    if is_mixed || (first.number.is_none() && found.len() > 1) {
        return Err("the component exists in several forms; keep one".to_string());
    }
    for (wanted, (Part { number, .. }, _)) in found.iter().enumerate().filter(|_| first.number.is_some()) {
        if *number != Some(wanted) {
            return Err(match found.get(wanted.wrapping_sub(1)) {
                Some((before, _)) if before.number == *number => format!("part {} exists twice", number.unwrap_or(0)),
                _ => format!("part {wanted} is missing"),
            });
        }
    }
    Ok(Layout {
        files: found.into_iter().map(|(_, name)| name.to_string()).collect(),
        compressed: first.compressed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_the_order_of_their_numbers() {
        let names: Vec<String> = (0..12).rev().map(|part| name(part, 12, true)).collect();
        let layout = layout(names.iter().map(String::as_str).chain(["plugin.yaml"])).unwrap();
        assert!(layout.compressed);
        assert_eq!(layout.files.len(), 12);
        assert_eq!(layout.files[10], "plugin.wasm.zst.10");
    }

    #[test]
    fn files_that_cannot_be_joined_are_reported() {
        for (names, why) in [
            (&["plugin.yaml"][..], "there is no"),
            (&["plugin.wasm.0", "plugin.wasm.2"], "part 1 is missing"),
            (&["plugin.wasm.1"], "part 0 is missing"),
            (&["plugin.wasm.0", "plugin.wasm.0"], "part 0 exists twice"),
            (&["plugin.wasm", "plugin.wasm.0"], "several forms"),
            (&["plugin.wasm", "plugin.wasm.zst"], "several forms"),
        ] {
            let error = layout(names.iter().copied()).unwrap_err();
            assert!(error.contains(why), "{names:?}: {error}");
        }
        assert_eq!(layout(["plugin.wasm"]).unwrap().files, ["plugin.wasm"]);
        assert_eq!(part("plugin.wasm.01"), None);
        assert_eq!(part("plugin.wasm.300"), None);
    }
}
