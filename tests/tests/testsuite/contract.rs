//! The packages of `wit/`: their form, and what a later version of one may change. `versions` holds the released ones
//! to what they were.

use boson_pipeline::Stage;
use boson_tests::wit_changes::{self, Items};
use std::fs;
use wit_parser::Resolve;

/// The items of a package with this text.
fn items(text: &str) -> Items {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("x.wit", text).unwrap();
    wit_changes::items(&resolve, package)
}

#[test]
fn a_breaking_change_of_the_interface_is_reported_with_its_item() {
    let text = |record: &str, functions: &str, world: &str, more: &str| {
        items(&format!(
            "package x:y@1.0.0; interface i {{ record r {{ {record} }} enum e {{ a }} {functions} }} {more} world w {{ {world} }}"
        ))
    };
    let (functions, world) = ("f: func(a: r) -> result<e, string>;", "export i;");
    let old = text("b: string", functions, world, "");
    for (new, wanted) in [
        (
            text(
                "b: string",
                functions,
                world,
                "interface j { g: func(); } world v { export j; }",
            ),
            vec![],
        ),
        (
            text("b: string, c: u8", functions, world, ""),
            vec!["'i.r' changes from `record { b: string }` to `record { b: string, c: u8 }`"],
        ),
        (
            text("b: string", "f: func(a: r, b: e) -> result<e, string>;", world, ""),
            vec!["'i.f' changes from `func(a: r) -> result<e, string>` to `func(a: r, b: e) -> result<e, string>`"],
        ),
        (
            text("b: string", &format!("{functions} g: func();"), world, ""),
            vec!["'i.g' is added, and plugins do not have it"],
        ),
        (
            text("b: string", functions, "import i; export i;", ""),
            vec!["'world w imports x:y/i' is added, and plugins do not have it"],
        ),
        (
            text("b: string", functions, "", ""),
            vec!["'world w exports x:y/i' is removed"],
        ),
    ] {
        assert_eq!(wit_changes::breaking(&old, &new), wanted);
    }
}

/// Versions of packages beside each other, the older one first.
#[test]
fn later_versions_of_a_package_break_no_plugin() {
    let wit = boson_tests::root().join("wit");
    let mut compared = 0;
    for (package, _) in packages() {
        let mut versions: Vec<String> = fs::read_dir(wit.join(&package))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        versions.sort_by_key(|version| {
            let numbers = version.split('.').map(|number| number.parse::<u32>().unwrap());
            numbers.collect::<Vec<u32>>()
        });
        let all: Vec<Items> = versions
            .iter()
            .map(|version| {
                let mut resolve = Resolve::default();
                if package != "types" {
                    resolve.push_dir(wit.join("types/1.0.0")).unwrap();
                }
                let (id, _) = resolve.push_dir(wit.join(&package).join(version)).unwrap();
                wit_changes::items(&resolve, id)
            })
            .collect();
        compared += all.len();
        assert!(all.iter().all(|items| items.len() > 2), "{package}");
        for (items, names) in all.windows(2).zip(versions.windows(2)) {
            assert_eq!(
                wit_changes::breaking(&items[0], &items[1]),
                [""; 0],
                "{package} {names:?}"
            );
        }
    }
    assert!(compared >= 8);
}

/// The text of each package of version 1.0.0.
fn packages() -> Vec<(String, String)> {
    let mut stages: Vec<&str> = Stage::ALL.into_iter().map(Stage::name).collect();
    stages.push("types");
    let read = |package: &str| {
        let file = boson_tests::root().join(format!("wit/{package}/1.0.0/{package}.wit"));
        (package.to_string(), fs::read_to_string(file).unwrap())
    };
    stages.into_iter().map(read).collect()
}

#[test]
fn every_package_has_version_1_0_0() {
    for (package, text) in packages() {
        assert!(
            text.contains(&format!("package boson:{package}@1.0.0;")),
            "wit/{package}"
        );
    }
}

#[test]
fn every_item_says_since_which_version_it_exists() {
    let items = [
        "interface ",
        "world ",
        "type ",
        "record ",
        "enum ",
        "variant ",
        "use ",
        "import ",
        "export ",
    ];
    for (package, text) in packages() {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for pair in lines.windows(2) {
            let is_item = items.iter().any(|item| pair[1].starts_with(item)) || pair[1].contains(": func(");
            assert!(
                !is_item || pair[0] == "@since(version = 1.0.0)",
                "wit/{package}: {}",
                pair[1]
            );
        }
    }
}

#[test]
fn the_reference_page_is_current() {
    let file = boson_tests::root().join("docs/reference/plugin-interface.md");
    let page = boson_tests::wit_reference::page().unwrap();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, &page).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == page,
        "run with BLESS=1: docs/reference/plugin-interface.md differs from wit/"
    );
}
