//! What a component says about itself: custom sections that toolchains write, such as cargo and wasm-tools, and the
//! annotations of its image.

use std::collections::BTreeMap;
use wasmparser::{ComponentName, KnownCustom, Parser, Payload};

/// Of one section. An annotation is for people, and every client of a registry reads it.
const MAX_TEXT_BYTES: usize = 4096;
/// Before the name of each annotation that the OCI image specification defines.
pub const PREFIX: &str = "org.opencontainers.image.";
pub const TITLE: &str = "title";
pub const VERSION: &str = "version";
/// Custom sections, each with the annotation of the same meaning.
const SECTIONS: [(&str, &str); 7] = [
    ("authors", "authors"),
    ("description", "description"),
    ("homepage", "url"),
    ("licenses", "licenses"),
    ("revision", "revision"),
    ("source", "source"),
    ("version", VERSION),
];

/// Texts by the name of their annotation, without prefix.
pub type Metadata = BTreeMap<&'static str, String>;

/// The metadata of the component itself. A module or component inside has its own, which says nothing about the whole.
/// Sections that are no text, and those that are too long, are left out.
pub fn of(component: &[u8]) -> Metadata {
    let (mut found, mut depth) = (Metadata::new(), 0_u32);
    for payload in Parser::new(0).parse_all(component) {
        match payload {
            Ok(Payload::ModuleSection { .. } | Payload::ComponentSection { .. }) => depth += 1,
            Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
            Ok(Payload::CustomSection(section)) if depth == 0 => {
                let named = SECTIONS.into_iter().find(|(name, _)| *name == section.name());
                let entry = match (section.as_known(), named) {
                    (KnownCustom::ComponentName(names), _) => name(names).map(|name| (TITLE, name)),
                    (_, Some((_, annotation))) => text(section.data()).map(|text| (annotation, text)),
                    _ => None,
                };
                found.extend(entry);
            }
            Ok(_) => {}
            // It was loaded, so this is not reached.
            Err(_) => break,
        }
    }
    found
}

fn name(names: wasmparser::ComponentNameSectionReader<'_>) -> Option<String> {
    names.into_iter().find_map(|one| match one {
        Ok(ComponentName::Component { name, .. }) => text(name.as_bytes()),
        _ => None,
    })
}

fn text(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    (!text.is_empty() && text.len() <= MAX_TEXT_BYTES).then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(id: u8, name: &str, data: &[u8]) -> Vec<u8> {
        let body = [&[u8::try_from(name.len()).unwrap()], name.as_bytes(), data].concat();
        let mut bytes = vec![id];
        bytes.extend(length(body.len()));
        bytes.extend(body);
        bytes
    }

    /// Of two bytes, also if one is enough.
    fn length(bytes: usize) -> [u8; 2] {
        [(bytes & 0x7f) as u8 | 0x80, u8::try_from(bytes >> 7).unwrap()]
    }

    fn component(sections: &[Vec<u8>]) -> Vec<u8> {
        [b"\0asm\x0d\0\x01\0".to_vec(), sections.concat()].concat()
    }

    #[test]
    fn texts_of_the_component_are_read_and_those_of_its_parts_are_not() {
        let inner = component(&[section(0, "description", b"of a part")]);
        let nested = [&[4_u8][..], &length(inner.len()), &inner].concat();
        let named = [&[0_u8, 7, 6][..], b"labels"].concat();
        let bytes = component(&[
            section(0, "component-name", &named),
            nested,
            section(0, "licenses", b" Apache-2.0\n"),
            section(0, "homepage", b"https://example.com"),
            section(0, "source", b"\xff"),
            section(0, "authors", b""),
            section(0, "revision", &[b'a'; MAX_TEXT_BYTES + 1]),
            section(0, "other", b"x"),
        ]);
        let wanted = [
            ("licenses", "Apache-2.0"),
            ("title", "labels"),
            ("url", "https://example.com"),
        ];
        assert_eq!(of(&bytes), wanted.map(|(name, text)| (name, text.to_string())).into());
        assert_eq!(of(b"no component"), Metadata::new());
    }
}
