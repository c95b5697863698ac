//! Every code that the bundle and the plain target give is explained.

#![allow(clippy::unwrap_used, reason = "a test that fails says so")]

use boson_pipeline::codes;
use std::fs;
use std::path::Path;

#[test]
fn codes_in_the_sources_are_in_the_tables() {
    let mut seen = 0;
    for room in ["bundle", "plain"] {
        let folder = Path::new("src").join(room);
        for entry in fs::read_dir(folder).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            let quoted = text
                .split('"')
                .filter(|part| part.strip_prefix(room).is_some_and(|rest| rest.starts_with('-')));
            for code in quoted.filter(|part| part.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')) {
                assert!(codes::find(code).is_some(), "{code} is not explained");
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "only {seen} codes found");
}
