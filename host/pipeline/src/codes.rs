//! The host's own diagnostic codes, for `host explain`. Plugins describe their codes themselves.

pub use boson_document::{Code, codes};

/// One table for each module that has codes.
const TABLES: &[&[&Code]] = &[
    crate::yaml::codes::ALL,
    crate::release::codes::ALL,
    crate::variables::codes::ALL,
    crate::convert::codes::ALL,
    crate::cloud_config::codes::ALL,
    crate::runtime_config::codes::ALL,
    crate::blame::codes::ALL,
    crate::external::codes::ALL,
    crate::bundle::codes::ALL,
    crate::plain::codes::ALL,
    crate::settings::codes::ALL,
];

/// All codes, sorted by name.
pub fn all() -> Vec<&'static Code> {
    let mut codes = TABLES.concat();
    codes.sort_by_key(|code| code.name);
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained_once() {
        let codes = all();
        for pair in codes.windows(2) {
            assert_ne!(pair[0].name, pair[1].name);
        }
        for code in codes {
            assert!(
                code.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'),
                "{}",
                code.name
            );
            assert!(!code.title.is_empty() && !code.title.ends_with('.'), "{}", code.name);
            assert!(code.explanation.trim_end().ends_with(['.', '`']), "{}", code.name);
        }
    }
}
