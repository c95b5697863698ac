//! A new plugin: the files of a folder that builds, with a case that passes.
//!
//! A plugin of `resources` or `checks` is a small example. A plugin of another stage is a wrapper that returns the
//! reply of the rule.

mod language;
mod sdk;
mod spelling;
mod typescript;

pub use language::Language;
use typescript::typescript;

use boson_componentize::{functions, wit};
use boson_pipeline::Stage;

const README: &str = include_str!("../../templates/README.md.in");
const MAKEFILE: &str = include_str!("../../templates/Makefile.in");
const WORLD: &str = include_str!("../../templates/world.wit.in");
const TYPES: &str = include_str!("../../templates/js/boson/types.ts.in");
/// How a wrapper names the interface of the rule.
const RULE: &str = include_str!("../../templates/js/boson/rule.ts.in");
const JSCONFIG: &str = include_str!("../../templates/js/jsconfig.json.in");
/// The workflow of GitHub Actions, for all languages.
const WORKFLOW: &str = include_str!("../../templates/workflow.yml.in");

/// What the plugin is.
#[derive(Clone, Debug)]
pub struct New {
    pub name: String,
    pub stage: Stage,
    /// The language that it is written in.
    pub language: Language,
}

/// A file: its path in the folder, and its text.
pub type File = (String, String);

// === impl New ===

impl New {
    /// The files of the plugin, without the reply of a rule.
    pub fn files(&self) -> Vec<File> {
        let mut files = vec![
            ("README.md".to_string(), self.fill(README)),
            (
                "Makefile".to_string(),
                self.fill(MAKEFILE) + &self.fill(self.language.makefile()),
            ),
            (".gitignore".to_string(), self.language.ignored()),
            (".github/workflows/plugin.yml".to_string(), self.fill(WORKFLOW)),
            (format!("{}/call.json", self.case()), self.call().to_string()),
        ];
        let sources = self.language.sources(self.stage).into_iter();
        files.extend(sources.map(|(path, template)| (self.fill(path), self.fill(template))));
        match self.language {
            Language::Rust => files.extend(sdk::files()),
            // They export what they print: they would need an import for it otherwise.
            Language::Js | Language::Python => {
                let [(stage, text), types] = wit_files(self.stage);
                files.push(("wit/world.wit".into(), self.fill(WORLD)));
                files.push((format!("wit/deps/{}/{stage}", self.stage), text.to_string()));
                files.push((format!("wit/{}", types.0), types.1.to_string()));
                if self.language == Language::Js {
                    files.push((
                        "boson/types.ts".into(),
                        self.fill(TYPES) + &typescript(self.stage.name()),
                    ));
                    files.push(("jsconfig.json".into(), self.fill(JSCONFIG)));
                    if self.stage.has_rule() {
                        files.push(("boson/rule.ts".into(), self.fill(RULE)));
                    }
                }
            }
            Language::Go => {
                files.extend(wit_files(self.stage).map(|(path, text)| (format!("wit/{path}"), text.to_string())));
            }
        }
        let reply = match self.stage {
            Stage::Resources => Some(include_str!("../../templates/cases/resources/reply.json.in")),
            Stage::Checks => Some(include_str!("../../templates/cases/checks/reply.json.in")),
            _ => None,
        };
        files.extend(reply.map(|reply| (format!("{}/reply.json", self.case()), self.fill(reply))));
        files
    }

    /// The call of the case: the content of `call.json`.
    pub fn call(&self) -> &'static str {
        match self.stage {
            Stage::Ops => include_str!("../../templates/cases/ops/call.json"),
            Stage::Variables => include_str!("../../templates/cases/variables/call.json"),
            Stage::Links => include_str!("../../templates/cases/links/call.json"),
            Stage::Render => include_str!("../../templates/cases/render/call.json"),
            Stage::Bpm => include_str!("../../templates/cases/bpm/call.json"),
            Stage::Resources => include_str!("../../templates/cases/resources/call.json"),
            Stage::Checks => include_str!("../../templates/cases/checks/call.json"),
        }
    }

    pub fn case(&self) -> &'static str {
        "cases/example"
    }

    /// The world that the plugin exports, without its package.
    pub fn world(&self) -> String {
        let stage = self.stage;
        if stage.has_rule() {
            format!("{stage}-wrapper")
        } else {
            stage.to_string()
        }
    }

    fn fill(&self, template: &str) -> String {
        let (interface, functions) = functions(self.stage.name());
        let calls: String = functions.iter().map(|function| self.language.call(function)).collect();
        let world = self.world();
        let setup = self.language.setup();
        let setup = setup.map_or(String::new(), |command| {
            format!("      - &setup\n        run: {command}\n")
        });
        let paths = if self.stage.has_rule() {
            format!(
                "    \"paths\": {{ \"boson:{}/{interface}@1.0.0\": [\"./boson/rule.ts\"] }},\n",
                self.stage
            )
        } else {
            String::new()
        };
        // First, because it has markers of its own.
        let values = [
            ("@FUNCTIONS@", calls.as_str()),
            ("@NAME@", self.name.as_str()),
            ("@MODULE@", &spelling::snake(&self.name)),
            ("@STAGE@", self.stage.name()),
            ("@WORLD@", &world),
            ("@INTERFACE@", &interface),
            ("@CLASS@", &spelling::pascal(&interface)),
            ("@TRAIT@", &spelling::pascal(self.stage.name())),
            ("@DEPENDENCIES@", dependencies(self.stage)),
            ("@LANGUAGE@", self.language.title()),
            ("@NEEDS@", self.language.needs()),
            ("@SETUP@", &setup),
            ("@SETUP_AGAIN@", if setup.is_empty() { "" } else { "      - *setup\n" }),
            ("@PATHS@", &paths),
            ("@VERSION@", env!("CARGO_PKG_VERSION")),
        ];
        values.iter().fold(template.to_string(), |text, (marker, value)| {
            text.replace(marker, value)
        })
    }
}

/// Other crates that a plugin in Rust uses.
fn dependencies(stage: Stage) -> &'static str {
    match stage {
        Stage::Resources => {
            "schemars = { version = \"1\", default-features = false, features = [\"derive\"] }\nserde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\n"
        }
        Stage::Checks => "serde_json = \"1\"\n",
        _ => "",
    }
}

/// The files of the interface of a stage, in the layout that bindings generators expect.
pub fn wit_files(stage: Stage) -> [(String, &'static str); 2] {
    let text = |package: &str| wit(package).unwrap_or_default();
    [
        (format!("{stage}.wit"), text(stage.name())),
        ("deps/types/types.wit".to_string(), text("types")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn the_workflow_is_yaml_and_pins_actions_as_ours_does() {
        let ours = include_str!("../../../../.github/workflows/test.yml");
        for language in Language::value_variants() {
            let new = New {
                name: "my-plugin".into(),
                stage: Stage::Checks,
                language: *language,
            };
            let files = new.files();
            let (_, text) = files
                .iter()
                .find(|(path, _)| path == ".github/workflows/plugin.yml")
                .unwrap();
            let read = boson_pipeline::yaml::read("plugin.yml", text).unwrap();
            for job in ["test", "release"] {
                let steps = read
                    .tree
                    .get("jobs")
                    .and_then(|jobs| jobs.get(job)?.get("steps")?.as_array());
                let runs_tests = |step: &boson_document::Tree| step.str("run") == Some("make test");
                assert!(steps.unwrap().iter().any(runs_tests), "{language:?} {job}");
            }
            let actions: Vec<&str> = text
                .lines()
                .filter_map(|line| line.split_once("uses: "))
                .map(|(_, one)| one)
                .collect();
            assert!(!actions.is_empty());
            for action in actions {
                assert!(ours.contains(&format!("uses: {action}\n")), "{action}");
            }
            assert_eq!(text.contains("*setup"), language.setup().is_some(), "{text}");
        }
    }

    #[test]
    fn no_marker_is_left() {
        for stage in Stage::ALL {
            for language in Language::value_variants() {
                let new = New {
                    name: "my-plugin".into(),
                    stage,
                    language: *language,
                };
                for (path, text) in new.files() {
                    let marker = text.split('@').skip(1).find(|part| {
                        !part.is_empty() && part.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
                    });
                    assert_eq!(marker, None, "{stage} {language:?} {path}");
                    assert!(!path.contains('@'), "{path}");
                }
            }
        }
    }
}
