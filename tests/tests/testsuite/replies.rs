//! Replies of foreign plugins: a reply that breaks the contract is refused with the plugin's name; texts of a reply are
//! shown without values.

use boson_document::json;
use boson_pipeline::yaml;
use boson_tests::component::component;
use boson_tests::{Ran, copy, host, root};
use std::fs;
use std::path::Path;

const BASE: u32 = 4096;
const ERROR: u32 = 0;
const WARNING: u32 = 1;
const SECRET: &str = "s3cr3t-t0k3n-v4lue";

/// The memory of a plugin: texts and records by the canonical ABI.
#[derive(Default)]
struct Image {
    bytes: Vec<u8>,
    /// Additional members of the plugin's description.
    more: &'static [(&'static str, &'static str)],
}

// === impl Image ===

impl Image {
    fn place(&mut self, bytes: &[u8]) -> u32 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let at = BASE + u32::try_from(self.bytes.len()).unwrap();
        self.bytes.extend(bytes);
        at
    }

    fn words(&mut self, words: &[u32]) -> u32 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.place(&bytes)
    }

    fn text(&mut self, text: &str) -> [u32; 2] {
        [self.place(text.as_bytes()), u32::try_from(text.len()).unwrap()]
    }

    fn option(&mut self, text: Option<&str>) -> [u32; 3] {
        let [at, length] = text.map_or([0, 0], |text| self.text(text));
        [u32::from(text.is_some()), at, length]
    }

    fn list(&mut self, items: &[Vec<u32>]) -> [u32; 2] {
        [self.words(&items.concat()), u32::try_from(items.len()).unwrap()]
    }

    fn pairs(&mut self, pairs: &[(&str, &str)]) -> [u32; 2] {
        let items: Vec<Vec<u32>> = pairs
            .iter()
            .map(|(a, b)| [self.text(a), self.text(b)].concat())
            .collect();
        self.list(&items)
    }

    /// An option of a place: each case is as long as the longest.
    fn at(&mut self, place: Option<At>) -> Vec<u32> {
        let mut words = match place {
            None => vec![0],
            Some(At::Document(name, pointer)) => [&[1, 0][..], &self.text(name), &self.option(pointer)].concat(),
            Some(At::Object(kind, name)) => {
                let texts = ["v1", kind, name].map(|text| self.text(text));
                [&[1, 2][..], texts.as_flattened(), &[0; 3]].concat()
            }
            Some(At::Setting(pointer)) => [&[1, 3][..], &self.text(pointer)].concat(),
        };
        words.resize(11, 0);
        words
    }

    fn diagnostics(&mut self, said: &[Said]) -> [u32; 2] {
        let items: Vec<Vec<u32>> = said
            .iter()
            .map(|one| {
                let mut record = vec![one.severity];
                record.extend(self.text(one.code));
                record.extend(self.text(one.message));
                record.extend(self.at(one.place));
                record.extend([0, 0]);
                record.extend(self.option(one.help));
                record.extend([0, 0, 0]);
                record.extend(self.pairs(one.more));
                record
            })
            .collect();
        self.list(&items)
    }
}

/// The place of a diagnostic.
#[derive(Clone, Copy)]
enum At {
    Document(&'static str, Option<&'static str>),
    /// Kind and name.
    Object(&'static str, &'static str),
    Setting(&'static str),
}

#[derive(Clone, Copy)]
struct Said {
    severity: u32,
    code: &'static str,
    message: &'static str,
    place: Option<At>,
    help: Option<&'static str>,
    more: &'static [(&'static str, &'static str)],
}

const DIAGNOSTIC: Said = Said {
    severity: WARNING,
    code: "theirs-odd",
    message: "odd",
    place: None,
    help: None,
    more: &[],
};

/// Writes a plugin of a stage whose function always gives the same reply. `functions`: name, words of the result.
fn write(folder: &Path, stage: &str, interface: &str, mut image: Image, functions: &[(&str, Vec<u32>)]) {
    let mut text = String::new();
    let mut function = |interface: &str, name: &str, parameters: usize, at: u32| {
        let parameters = "i32 ".repeat(parameters);
        text.push_str(&format!(
            "(func (export \"boson:{interface}@1.0.0#{name}\") (param {parameters}) (result i32) (i32.const {at}))\n"
        ));
    };
    let described = ["theirs", "1.2.3", "{}"].map(|text| image.text(text)).concat();
    let more = image.pairs(image.more);
    let described = image.words(&[&described[..], &[0, 0], &more].concat());
    function("types/about", "describe", 0, described);
    for (name, words) in functions {
        let at = image.words(words);
        // The address of the request and the context.
        function(&format!("{stage}/{interface}"), name, 1, at);
    }
    let bytes: String = image.bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let module = format!(
        "(module (memory (export \"memory\") 64) (global $top (mut i32) (i32.const 131072))
            (data (i32.const {BASE}) \"{bytes}\")
            (func (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32)
                (global.get $top)
                (global.set $top (i32.and (i32.add (i32.add (global.get $top) (local.get 3)) (i32.const 15)) (i32.const -16))))
            {text})"
    );
    fs::write(folder.join("theirs.wasm"), component(&module, stage).unwrap()).unwrap();
}

fn deployment() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = root().join("tests/fixtures");
    copy(&fixtures.join("releases/demo"), &folder.path().join("release")).unwrap();
    let manifest = fs::read_to_string(fixtures.join("manifests/demo.yml")).unwrap();
    assert!(manifest.contains("example.com"), "{manifest}");
    fs::write(
        folder.path().join("manifest.yml"),
        manifest.replace("example.com", "((domain))"),
    )
    .unwrap();
    fs::write(folder.path().join("vars.yml"), format!("domain: {SECRET}\n")).unwrap();
    fs::write(folder.path().join("ops.yml"), "[]\n").unwrap();
    folder
}

/// The manifest as JSON.
fn manifest() -> String {
    let folder = deployment();
    let text = fs::read_to_string(folder.path().join("manifest.yml")).unwrap();
    let document = yaml::read("manifest.yml", &text).unwrap();
    json::to_text(&document.tree)
}

/// Adds a variable that consumes a link to the manifest.
fn consume_link(folder: &Path) {
    let manifest = folder.join("manifest.yml");
    let variable = "variables:\n- {name: tls, type: certificate, consumes: {common_name: {from: web}}}\n";
    fs::write(&manifest, fs::read_to_string(&manifest).unwrap() + variable).unwrap();
}

fn convert(folder: &Path, stage: &str) -> Ran {
    convert_with(folder, stage, &[])
}

fn convert_with(folder: &Path, stage: &str, more: &[&str]) -> Ran {
    let plugin = format!("{stage}=theirs.wasm");
    let mut arguments = vec!["convert", "manifest.yml", "--release", "release"];
    arguments.extend(["-l", "vars.yml", "-o", "ops.yml", "--plugin", &plugin]);
    arguments.extend(more);
    let ran = host(folder, arguments).unwrap();
    assert!(!ran.stderr.contains(SECRET), "{}", ran.stderr);
    ran
}

#[track_caller]
fn malformed(folder: &Path, stage: &str, words: &str) {
    let ran = convert(folder, stage);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("error[plugin-malformed-reply]"), "{}", ran.stderr);
    assert!(ran.stderr.contains("plugin 'theirs.wasm' "), "{}", ran.stderr);
    assert!(ran.stderr.contains("(sha256:"), "{}", ran.stderr);
    assert!(ran.stderr.contains(words), "no {words:?} in {}", ran.stderr);
}

#[test]
fn a_render_plugin_gives_one_file_for_each_template_by_its_name() {
    // One of the job's two templates is rendered with the pod's address and one without: each is alone in its call.
    let folder = deployment();
    for (files, words) in [
        (&[][..], "it has 0 files where there should be 1"),
        (
            &["app/app.conf.erb", "app/app.conf.erb"],
            "it has 2 files where there should be 1",
        ),
        (&["app/other.erb"], "its files have another name"),
    ] {
        let mut image = Image::default();
        let files: Vec<Vec<u32>> = files
            .iter()
            .map(|name| [image.text(name), image.text("x")].concat())
            .collect();
        let files = image.list(&files);
        let result = [&[0][..], &files, &[0, 0, 0, 0]].concat();
        write(folder.path(), "render", "templates", image, &[("render", result)]);
        malformed(folder.path(), "render", words);
    }
}

#[test]
fn a_links_plugin_gives_each_group_of_the_manifest() {
    let folder = deployment();
    for (groups, words) in [
        (&[][..], "it has 0 groups where there should be 1"),
        (&["other"], "in the place of 'web', its groups have another name"),
        (&["web", "web"], "it has 2 groups where there should be 1"),
    ] {
        let mut image = Image::default();
        let groups: Vec<Vec<u32>> = groups
            .iter()
            .map(|name| [&image.text(name)[..], &image.text("{}"), &[0, 0]].concat())
            .collect();
        let groups = image.list(&groups);
        let resolved = [&[0][..], &groups, &[0; 6]].concat();
        let functions = [("resolve", resolved), ("addresses", vec![0; 7])];
        write(folder.path(), "links", "resolution", image, &functions);
        malformed(folder.path(), "links", words);
    }
}

#[test]
fn a_links_plugin_gives_addresses_of_the_manifests_variables_once() {
    let folder = deployment();
    consume_link(folder.path());
    for (variables, words) in [
        (
            &["other"][..],
            "entry 0 of `variables` names a variable that does not exist",
        ),
        (&["tls", "tls"], "entry 1 of `variables` repeats a variable"),
    ] {
        let mut image = Image::default();
        let variables: Vec<Vec<u32>> = variables
            .iter()
            .map(|name| [&image.text(name)[..], &[0; 7]].concat())
            .collect();
        let variables = image.list(&variables);
        let addresses = [&[0][..], &variables, &[0; 4]].concat();
        let functions = [("resolve", vec![0; 9]), ("addresses", addresses)];
        write(folder.path(), "links", "resolution", image, &functions);
        malformed(folder.path(), "links", words);
    }
}

/// `ok` of transform, or `err`.
fn resources(folder: &Path, said: &[Said], more: &[(&str, &str)], additions: &[&str], fails: bool) {
    let mut image = Image::default();
    let said = image.diagnostics(said);
    // The case `add`; each case is as long as the longest.
    let add = |image: &mut Image, text: &&str| [&[2][..], &image.text(text), &[0; 6]].concat();
    let additions: Vec<Vec<u32>> = additions.iter().map(|text| add(&mut image, text)).collect();
    let additions = image.list(&additions);
    let more = image.pairs(more);
    let result = if fails {
        [&[1][..], &said, &[0; 4]].concat()
    } else {
        [&[0][..], &additions, &said, &more].concat()
    };
    write(folder, "resources", "transformation", image, &[("transform", result)]);
}

#[test]
fn invalid_diagnostics_of_a_plugin_are_refused() {
    let folder = deployment();
    for (said, words) in [
        (
            Said {
                code: "odd",
                ..DIAGNOSTIC
            },
            "the code of a diagnostic is not `theirs-` and lower-case words joined by `-`",
        ),
        (
            Said {
                code: "theirs-s3cr3t-t0k3n-v4lue\u{1b}",
                ..DIAGNOSTIC
            },
            "the code of a diagnostic",
        ),
        (
            Said {
                code: "bpm-wrong-type",
                ..DIAGNOSTIC
            },
            "the code of a diagnostic",
        ),
        (
            Said {
                place: Some(At::Document("/etc/passwd", None)),
                ..DIAGNOSTIC
            },
            "`document` names a document that the call did not pass",
        ),
        (
            Said {
                place: Some(At::Setting("no pointer")),
                ..DIAGNOSTIC
            },
            "`setting` is not a JSON pointer",
        ),
        (
            Said {
                place: Some(At::Object("Service", "other")),
                ..DIAGNOSTIC
            },
            "names an object that the call did not pass",
        ),
        (
            Said {
                more: &[("required-color", "1")],
                ..DIAGNOSTIC
            },
            "it requires 'required-color', which this host does not know",
        ),
    ] {
        for fails in [false, true] {
            let said = Said {
                severity: if fails { ERROR } else { WARNING },
                ..said
            };
            resources(folder.path(), &[said], &[], &[], fails);
            malformed(folder.path(), "resources", words);
        }
    }
    resources(folder.path(), &[], &[("required-order", "1")], &[], false);
    malformed(
        folder.path(),
        "resources",
        "it requires 'required-order', which this host does not know",
    );
    resources(folder.path(), &[DIAGNOSTIC], &[("color", "\"red\"")], &[], false);
    let ran = convert(folder.path(), "resources");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("warning[theirs-odd]: odd (reported by plugin 'theirs.wasm', sha256:"),
        "{}",
        ran.stderr
    );
}

/// Functions of a plugin: name, and words of the result.
type Functions = Vec<(&'static str, Vec<u32>)>;

/// A stage, its interface, and the functions of a plugin whose reply has a member that the host must know, in a record
/// of this kind.
fn requiring(record: &str, image: &mut Image) -> (&'static str, &'static str, Functions) {
    let more = image.pairs(&[("required-color", "1")]);
    let (text, json) = (image.text("web"), image.text("{}"));
    // The reply has this many empty lists or texts, then the list with the record, then further empty lists.
    let nested = |image: &mut Image, before: usize, fields: &[&[u32]], after: usize| {
        let list = image.list(&[[&fields.concat()[..], &more].concat()]);
        [&vec![0; 1 + 2 * before][..], &list, &vec![0; 2 * after]].concat()
    };
    let direct = |before: usize| [&vec![0; 1 + 2 * before][..], &more].concat();
    // The manifest as it is: other values would be rejected before.
    let manifest = image.text(&manifest());
    let interpolated = [&[0][..], &manifest, &[0; 8]].concat();
    match record {
        "applied" => {
            let reply = [&[0][..], &json, &[0; 4], &more].concat();
            ("ops", "operations", vec![("apply", reply), ("find", vec![0; 5])])
        }
        "variables-plan" => {
            let functions = vec![("plan", direct(3)), ("interpolate", interpolated)];
            ("variables", "interpolation", functions)
        }
        "definition" => {
            let fields: [&[u32]; 6] = [&text, &[0; 3], &json, &[0; 3], &json, &[0; 2]];
            let plan = nested(image, 0, &fields, 3);
            let functions = vec![("plan", plan), ("interpolate", interpolated)];
            ("variables", "interpolation", functions)
        }
        "interpolated" => {
            let reply = [&[0][..], &manifest, &[0; 6], &more].concat();
            let functions = vec![("plan", vec![0; 9]), ("interpolate", reply)];
            ("variables", "interpolation", functions)
        }
        "resolved" | "resolved-group" | "provider" => {
            let group = image.list(&[[&text[..], &json, &[0, 0]].concat()]);
            let reply = match record {
                "resolved" => [&[0][..], &group, &[0; 4], &more].concat(),
                "resolved-group" => nested(image, 0, &[&text, &json], 3),
                _ => {
                    let provider = nested(image, 0, &[&text, &text, &text, &text, &json, &[0; 3]], 2);
                    [&[0][..], &group, &provider[1..]].concat()
                }
            };
            let functions = vec![("resolve", reply), ("addresses", vec![0; 7])];
            ("links", "resolution", functions)
        }
        "resolved-addresses" | "variable-addresses" => {
            let variable = image.text("tls");
            let reply = match record {
                "resolved-addresses" => direct(2),
                _ => nested(image, 0, &[&variable, &[0; 5]], 2),
            };
            let functions = vec![("resolve", vec![0; 9]), ("addresses", reply)];
            ("links", "resolution", functions)
        }
        "files" => {
            let file = [image.text("app/app.conf.erb"), text].concat();
            let files = image.list(&[file]);
            let reply = [&[0][..], &files, &[0; 2], &more].concat();
            ("render", "templates", vec![("render", reply)])
        }
        "converted" => {
            let functions = vec![("convert-deployment", direct(2)), ("convert-group", vec![0; 7])];
            ("bpm", "conversion", functions)
        }
        "edits" => ("resources", "transformation", vec![("transform", direct(2))]),
        "description" => {
            image.more = &[("required-color", "1")];
            ("resources", "transformation", vec![("transform", vec![0; 7])])
        }
        _ => panic!("no record {record}"),
    }
}

#[test]
fn no_record_of_a_reply_may_have_a_required_member_that_the_host_does_not_know() {
    for record in [
        "applied",
        "variables-plan",
        "definition",
        "interpolated",
        "resolved",
        "resolved-group",
        "provider",
        "files",
        "converted",
        "edits",
        "description",
        "resolved-addresses",
        "variable-addresses",
    ] {
        let folder = deployment();
        if record.ends_with("addresses") {
            consume_link(folder.path());
        }
        let mut image = Image::default();
        let (stage, interface, functions) = requiring(record, &mut image);
        write(folder.path(), stage, interface, image, &functions);
        let words = "requires 'required-color', which this host does not know";
        malformed(folder.path(), stage, words);
    }
}

#[test]
fn a_value_that_changes_without_an_origin_or_a_placeholder_is_refused() {
    let folder = deployment();
    let mut image = Image::default();
    let document = image.text(r#"{"name": "other"}"#);
    let applied = [&[0][..], &document, &[0; 6]].concat();
    let functions = [("apply", applied), ("find", vec![0; 5])];
    write(folder.path(), "ops", "operations", image, &functions);
    malformed(folder.path(), "ops", "the value at '/name' differs from its origin");
    let mut image = Image::default();
    let document = image.text(r#"{"name": "other"}"#);
    let interpolated = [&[0][..], &document, &[0; 8]].concat();
    let functions = [("plan", vec![0; 9]), ("interpolate", interpolated)];
    write(folder.path(), "variables", "interpolation", image, &functions);
    malformed(
        folder.path(),
        "variables",
        "has changed, although it has no placeholder",
    );
}

#[test]
fn a_check_warns_until_it_is_enforced() {
    let folder = deployment();
    let mut image = Image::default();
    let said = Said {
        severity: ERROR,
        place: Some(At::Object("Service", "demo-web")),
        ..DIAGNOSTIC
    };
    let found = image.diagnostics(&[said]).to_vec();
    write(folder.path(), "checks", "policy", image, &[("check", found)]);
    let ran = convert(folder.path(), "checks");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("kind: StatefulSet"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("warning[theirs-odd]: odd (reported by"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("--> Service/demo-web"), "{}", ran.stderr);
    let ran = convert_with(folder.path(), "checks", &["--enforce-checks"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("error[theirs-odd]: odd (reported by"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_check_that_fails_itself_is_skipped_only_on_request() {
    let folder = deployment();
    // More diagnostics than its memory has room for.
    let functions = [("check", vec![0, u32::MAX])];
    write(folder.path(), "checks", "policy", Image::default(), &functions);
    let ran = convert_with(folder.path(), "checks", &["--enforce-checks"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("error[plugin-"), "{}", ran.stderr);
    // Also if its errors would fail the conversion: it reports none.
    let ran = convert_with(folder.path(), "checks", &["--enforce-checks", "--skip-failed-checks"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("kind: StatefulSet"), "{}", ran.stdout);
    assert!(ran.stderr.contains("warning[plugin-"), "{}", ran.stderr);
    for words in ["plugin 'theirs.wasm' ", "(sha256:", "; the check is skipped"] {
        assert!(ran.stderr.contains(words), "no {words:?} in {}", ran.stderr);
    }
}

#[test]
fn diagnostics_of_a_plugin_are_shown_without_values_and_with_its_name() {
    let folder = deployment();
    let said = Said {
        severity: ERROR,
        code: "theirs-s3cr3t-t0k3n-v4lue",
        message: "no s3cr3t-t0k3n-v4lue, no \u{1b}[31mS3CR3T-T0K3N-V4LUE, no czNjcjN0LXQwazNuLXY0bHVl",
        place: Some(At::Setting("/data/s3cr3t-t0k3n-v4lue")),
        help: Some("not s3cr3t-t0k3n-v4l"),
        ..DIAGNOSTIC
    };
    resources(folder.path(), &[said], &[], &[], true);
    let ran = convert(folder.path(), "resources");
    assert_eq!(ran.code, 1);
    let lower = ran.stderr.to_lowercase();
    for piece in ["s3cr3t", "t0k3n", "v4lue", "czn", "\u{1b}"] {
        assert!(!lower.contains(piece), "{piece:?} in {}", ran.stderr);
    }
    assert!(
        ran.stderr.contains("(reported by plugin 'theirs.wasm', sha256:"),
        "{}",
        ran.stderr
    );
    // Objects that are not allowed are reported with the plugin that created them.
    let role = r#"{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "odd"}}"#;
    resources(folder.path(), &[], &[], &[role], false);
    let ran = convert(folder.path(), "resources");
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("(made by plugin 'theirs.wasm', sha256:"),
        "{}",
        ran.stderr
    );
}
