//! The languages: which files a plugin has, and how a wrapper calls the rule.

use super::spelling::{camel, pascal, snake};
use boson_componentize::Function;
use boson_pipeline::Stage;
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// With wit-bindgen
    Rust,
    /// With componentize-qjs
    Js,
    /// With componentize-py
    Python,
    /// With wit-bindgen
    Go,
}

/// The template of the stage.
macro_rules! template {
    ($stage:expr, $language:literal, $extension:literal) => {
        match $stage {
            Stage::Resources => {
                include_str!(concat!("../../templates/", $language, "/resources.", $extension, ".in"))
            }
            Stage::Checks => include_str!(concat!("../../templates/", $language, "/checks.", $extension, ".in")),
            _ => include_str!(concat!("../../templates/", $language, "/wrapper.", $extension, ".in")),
        }
    };
}

// === impl Language ===

impl Language {
    /// Its name in a text.
    pub fn title(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Js => "JavaScript",
            Self::Python => "Python",
            Self::Go => "Go",
        }
    }

    /// What the build needs, as a sentence.
    pub fn needs(self) -> &'static str {
        match self {
            Self::Rust => "You need Rust with the target of WebAssembly: `rustup target add wasm32-unknown-unknown`.",
            Self::Js => "You need Node.js with `npm`, which installs `componentize-qjs`.",
            Self::Python => "You need Python 3.10 or later, which installs `componentize-py` in a virtual environment.",
            Self::Go => {
                "You need Go 1.25 or later, and `wit-bindgen`, which Rust's `cargo` installs: `cargo install wit-bindgen-cli --version 0.61.1`."
            }
        }
    }

    /// What a workflow runs before the tests: it installs what a runner of GitHub Actions lacks, or checks types.
    pub fn setup(self) -> Option<&'static str> {
        match self {
            Self::Rust => Some("rustup target add wasm32-unknown-unknown"),
            Self::Go => Some("cargo install wit-bindgen-cli --version 0.61.1 --locked"),
            Self::Js => Some("make types"),
            Self::Python => None,
        }
    }

    /// The rules of the Makefile that build the component.
    pub fn makefile(self) -> &'static str {
        match self {
            Self::Rust => include_str!("../../templates/rust/Makefile.in"),
            Self::Js => include_str!("../../templates/js/Makefile.in"),
            Self::Python => include_str!("../../templates/python/Makefile.in"),
            Self::Go => include_str!("../../templates/go/Makefile.in"),
        }
    }

    pub fn ignored(self) -> String {
        let of_language = match self {
            Self::Rust => "/target/\n",
            Self::Js => "/node_modules/\n",
            Self::Python => "/.venv/\n__pycache__/\n",
            Self::Go => "# Written by wit-bindgen and `go mod tidy`.\n/boson_*/\n/go.mod\n/go.sum\n/wit_exports.go\n",
        };
        format!("{of_language}*.wasm\n")
    }

    /// Paths and templates of the sources.
    pub fn sources(self, stage: Stage) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::Rust => vec![
                ("Cargo.toml", include_str!("../../templates/rust/Cargo.toml.in")),
                ("src/lib.rs", template!(stage, "rust", "rs")),
            ],
            Self::Js => vec![
                ("package.json", include_str!("../../templates/js/package.json.in")),
                ("plugin.js", template!(stage, "js", "js")),
                (
                    "boson/console.js",
                    include_str!("../../templates/js/boson/console.js.in"),
                ),
                ("boson/entry.js", include_str!("../../templates/js/boson/entry.js.in")),
            ],
            Self::Python => vec![
                (
                    "requirements.txt",
                    include_str!("../../templates/python/requirements.txt.in"),
                ),
                ("plugin.py", template!(stage, "python", "py")),
                (
                    "boson/entry.py",
                    include_str!("../../templates/python/boson/entry.py.in"),
                ),
            ],
            Self::Go => vec![
                (
                    "export_boson_types_about/about.go",
                    match stage {
                        Stage::Resources => include_str!("../../templates/go/about-resources.go.in"),
                        Stage::Checks => include_str!("../../templates/go/about-checks.go.in"),
                        _ => include_str!("../../templates/go/about-wrapper.go.in"),
                    },
                ),
                (
                    "export_boson_@STAGE@_@INTERFACE@/@INTERFACE@.go",
                    template!(stage, "go", "go"),
                ),
            ],
        }
    }

    /// The function of a wrapper that calls the rule.
    pub fn call(self, function: &Function) -> String {
        let Function { name, request, reply } = function;
        let (request, reply) = (pascal(request), pascal(reply));
        let name = match self {
            Self::Rust | Self::Python => snake(name),
            Self::Js => camel(name),
            Self::Go => pascal(name),
        };
        match self {
            Self::Rust => format!(
                "    fn {name}(request: {request}, _: NoSettings, context: Context) -> Result<{reply}, Vec<Diagnostic>> {{\n        rule::{name}(&request, &context)\n    }}\n"
            ),
            Self::Js => format!("  {name}(request, context) {{\n    return rule.{name}(request, context);\n  }},\n"),
            Self::Python => format!(
                "\n    def {name}(self, request: {request}, context: Context) -> {reply}:\n        return rule.{name}(request, context)\n"
            ),
            Self::Go => format!(
                "\n// {name} returns the reply of the rule.\nfunc {name}(request shapes.{request}, context types.Context) wit_types.Result[shapes.{reply}, []types.Diagnostic] {{\n\treturn rule.{name}(request, context)\n}}\n"
            ),
        }
    }
}
