//! No circles of modules within a crate: the modules of a folder can be read, tested and moved in the order of their
//! imports. A module and its descendants may import each other.
//!
//! Each child of a module stands for its whole folder: if `a/x.rs` imports from `b`, and `b/y.rs` from `a`, then `a`
//! and `b` form a circle. Imports of unit tests do not count.

mod graph;
mod modules;
mod syntax;

use boson_tests::{folders, root};
use graph::{Import, circles};
use modules::Modules;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders with crates.
const FOLDERS: [&str; 3] = ["host", "plugins", "tests"];

/// Directories below `place` that hold the root module of a crate or of a test target.
fn roots(place: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if ["lib.rs", "main.rs"].iter().any(|name| place.join(name).is_file()) {
        found.push(place.to_path_buf());
        return found;
    }
    let mut inside: Vec<PathBuf> = fs::read_dir(place)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && !path.is_symlink())
        .collect();
    inside.sort();
    found.extend(inside.iter().flat_map(|path| roots(path)));
    found
}

/// The imports of a crate from inside it.
fn imports(place: &Path) -> Vec<Import> {
    let mut modules = Modules::default();
    let mut open = vec![place.to_path_buf()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(place).unwrap().with_extension("");
            modules.add(&name.to_string_lossy(), &fs::read_to_string(&path).unwrap());
        }
    }
    modules.imports()
}

#[test]
fn modules_of_a_crate_do_not_import_each_other_in_circles() {
    let mut found = String::new();
    let mut count = 0;
    for place in FOLDERS.iter().flat_map(|folder| roots(&root().join(folder))) {
        let imports = imports(&place);
        count += imports.len();
        let name = place.strip_prefix(root()).unwrap().display().to_string();
        for circle in circles(&imports) {
            found.push_str(&format!("\n{name}: {circle}"));
        }
    }
    assert!(found.is_empty(), "move what both need to a module of its own:{found}");
    assert!(count > 1000, "only {count} imports were found");
}

#[test]
fn every_crate_is_read() {
    for folder in ["host", "plugins", "plugins/lib"] {
        let packages = folders(&root().join(folder)).unwrap();
        for package in packages.iter().filter(|package| package.join("Cargo.toml").is_file()) {
            let source = package.join("src");
            assert_eq!(roots(&source), std::slice::from_ref(&source));
        }
    }
    assert!(!imports(&root().join("tests/src")).is_empty());
}

/// The circles of a crate with these modules.
fn circles_of(sources: &[(&str, &str)]) -> Vec<String> {
    let mut modules = Modules::default();
    for (name, text) in sources {
        modules.add(name, text);
    }
    circles(&modules.imports()).iter().map(ToString::to_string).collect()
}

#[test]
fn a_circle_is_reported_with_the_imported_names() {
    let sources = [
        ("lib", "mod ledger; mod plan; pub use plan::Plan;"),
        ("ledger", "use crate::Plan;\npub enum Class {}"),
        ("plan", "use crate::ledger::{Class, self};\npub struct Plan;"),
    ];
    let circle =
        "ledger, plan\n    ledger imports Plan from plan\n    plan imports ledger\n    plan imports Class from ledger";
    assert_eq!(circles_of(&sources), [circle]);
}

#[test]
fn a_longer_circle_and_paths_in_expressions_are_found() {
    let sources = [
        ("main", "mod a; mod b; mod c;"),
        ("a", "fn x() { crate::b::x() }"),
        ("b", "use super::c::*;\npub fn x() { y() }"),
        ("c", "pub fn y() -> super::a::Z { todo!() }"),
    ];
    assert_eq!(circles_of(&sources).len(), 1);
}

#[test]
fn folders_that_import_from_each_other_are_a_circle() {
    let sources = [
        ("lib", "mod a; mod b;"),
        ("a/mod", "mod x; mod z; pub struct A;"),
        ("a/x", "use crate::b::B;"),
        ("b", "use crate::a::z::Z; pub struct B;"),
        ("a/z", "pub struct Z;"),
    ];
    assert_eq!(circles_of(&sources).len(), 1);
}

#[test]
fn parents_children_and_tests_are_allowed() {
    let sources = [
        ("lib", "mod a; mod b; pub struct Root; use a::A;"),
        ("a/mod", "mod x; use x::X; pub struct A; use crate::Root;"),
        ("a/x", "use super::A; pub struct X; // use crate::b::B;"),
        (
            "b",
            "use crate::a::A; const TEXT: &str = \"use crate::c::C;\"; #[cfg(test)] mod tests;",
        ),
        ("b/tests", "use crate::c::C;"),
        (
            "c",
            "use crate::b::B; pub struct C;\n#[cfg(test)]\nmod tests { use crate::a::A; }",
        ),
    ];
    assert_eq!(circles_of(&sources), Vec::<String>::new());
}
