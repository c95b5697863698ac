//! Why no component could be made of a module.

/// Why no component could be made of a module. [`Error::help`] says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Text, a component, or another file.
    #[error("it is not a core WebAssembly module")]
    NotCore,
    /// The module cannot be parsed.
    #[error("the module is not valid: {0}")]
    Invalid(String),
    /// The module has `_start` and no `_initialize`.
    #[error("the module is a program with a main function, not a library")]
    Program,
    /// No `component-type` section, and no exports of a stage.
    #[error("the module names no world and exports no function of a stage")]
    NoWorld,
    /// A `component-type` section that cannot be read.
    #[error("the world in the module's 'component-type' section cannot be read: {0}")]
    World(String),
    /// An import that no plugin may have.
    #[error(
        "the module imports '{name}' of '{interface}'; a plugin may import only the interface of the rule that it wraps"
    )]
    Import {
        /// Module of the import: `env`, `wasi:cli/environment@0.2.6`.
        interface: String,
        name: String,
    },
    /// An import with unexpected parameters or results.
    #[error("the module imports '{0}' with other parameters or results than its interface defines")]
    Signature(String),
    /// WASI is imported, and there is no memory to write its replies to.
    #[error("the module imports WASI but does not export its memory as 'memory'")]
    NoMemory,
    /// A component defines async functions, streams or threads.
    #[error("uses async functions, which the functions of a plugin are not")]
    Async,
    /// The imports of a component cannot be answered.
    #[error("imports WASI in a form that no known compiler makes: {0}")]
    Wasi(String),
    /// A crate panicked.
    #[error("the module or its world has a form that no known compiler makes")]
    Unexpected,
    /// The module does not fit its world: most often an export is missing.
    #[error("the module does not fit its world: {0}")]
    Mismatch(String),
}

// === impl Error ===

impl Error {
    /// Metadata or a world that does not fit the module.
    pub(crate) fn mismatch(error: impl std::fmt::Display) -> Self {
        Self::Mismatch(format!("{error:#}"))
    }

    /// What to do next: mostly the flag of a tool that is missing.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Program => Some(
                "build a library: for Go `GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared`, for Rust \
                 `crate-type = [\"cdylib\"]`, for C `-mexec-model=reactor`",
            ),
            Self::NoWorld => {
                Some("generate bindings with `wit-bindgen` for a world of `wit/`, and export its functions")
            }
            Self::Unexpected => Some("report it with the module, if a compiler has made it"),
            Self::World(_) => Some("use the version of `wit-bindgen` that `docs/first-plugin.md` names"),
            Self::Import { interface, .. } => help_for_import(interface),
            Self::NoMemory => Some("export the memory: for C and Rust, this is the default of the linker"),
            Self::Mismatch(_) => {
                Some("export each function of `about` and of the stage's interface, with the types of `wit/`")
            }
            Self::NotCore | Self::Invalid(_) | Self::Signature(_) | Self::Async | Self::Wasi(_) => None,
        }
    }
}

/// How to build a plugin without the imports of this module or interface. It also helps with a component that other
/// tools have made.
pub fn help_for_import(interface: &str) -> Option<&'static str> {
    match interface {
        "env" => Some(
            "the linker did not find this symbol: link the library that defines it; for Emscripten, add \
             `-sSTANDALONE_WASM`",
        ),
        "gojs" | "go" => Some("build with `GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared`, not with `GOOS=js`"),
        "wbg" | "__wbindgen_placeholder__" | "__wbindgen_externref_xform__" => Some(
            "a crate calls JavaScript through `wasm-bindgen`: disable its feature for it, such as `js` of `getrandom` \
             or `wasmbind` of `chrono`",
        ),
        "wasi_unstable" | "wasi" => Some("build for WASI preview 1 (`wasip1`) without threads"),
        other if other.starts_with("wasi:") => Some(
            "build without WASI: for JavaScript `componentize-js -d stdio random clocks http fetch-event`, for Python \
             `componentize-py componentize --stub-wasi`, for Go `GOOS=wasip1 GOARCH=wasm go build \
             -buildmode=c-shared`, for Rust the target `wasm32-unknown-unknown`",
        ),
        other if other.starts_with("boson:") => {
            Some("build a wrapper for the world `<stage>-wrapper`; other plugins import nothing")
        }
        _ => None,
    }
}
