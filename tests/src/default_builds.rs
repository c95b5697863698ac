//! New plugins of the stage `resources` in the form that compilers for WASI 0.2 build without further options: not by
//! the Makefile, which avoids what a plugin does not need.

use crate::{binary, host, root};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

const RUST_TARGET: &str = "wasm32-wasip2";
/// SpiderMonkey's tool reads one file of JavaScript, so the world has no more than it exports.
const WORLD: &str = "package example:plugin;\nworld plugin { include boson:resources/resources@1.0.0; }\n";

/// As the Makefile of a new plugin in Go names it.
const GO_WORLD: &str = "boson:resources/resources@1.0.0";

/// What builds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    Rust,
    ComponentizeQjs,
    ComponentizeJs,
    Jco,
    ComponentizePy,
    /// Go's compiler for preview 1, with the adapter for `wasm-tools component new`: it has no target for WASI 0.2.
    Go,
}

/// A change of the plugin's source.
#[derive(Clone, Copy, Debug)]
pub struct Change<'c> {
    pub from: &'c str,
    pub to: &'c str,
}

// === impl Build ===

impl Build {
    pub const ALL: [Self; 6] = [
        Self::Rust,
        Self::ComponentizeQjs,
        Self::ComponentizeJs,
        Self::Jco,
        Self::ComponentizePy,
        Self::Go,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust, wasm32-wasip2",
            Self::ComponentizeQjs => "componentize-qjs --sync",
            Self::ComponentizeJs => "componentize-js",
            Self::Jco => "jco componentize",
            Self::ComponentizePy => "componentize-py",
            Self::Go => "Go, wasip1 with the adapter",
        }
    }

    /// What it needs that is not installed here.
    pub fn missing(self) -> Option<&'static str> {
        let program = match self {
            Self::Rust => return (!has_rust_target()).then_some("no standard library for wasm32-wasip2"),
            Self::ComponentizeQjs => "componentize-qjs",
            Self::ComponentizeJs => "componentize-js",
            Self::Jco => "jco",
            Self::ComponentizePy => "componentize-py",
            Self::Go => "wit-bindgen",
        };
        Command::new(program).arg("--help").output().is_err().then_some(program)
    }

    /// Builds it, with these changes, in a new directory; the component.
    ///
    /// # Errors
    /// The compiler's, or the source does not have what is to change.
    pub fn make(self, directory: &Path, changes: &[Change<'_>]) -> Result<PathBuf> {
        let (language, file) = match self {
            Self::Rust => ("rust", "src/lib.rs"),
            Self::ComponentizeQjs | Self::ComponentizeJs | Self::Jco => ("js", "plugin.js"),
            Self::ComponentizePy => ("python", "plugin.py"),
            Self::Go => ("go", "export_boson_resources_transformation/transformation.go"),
        };
        let arguments = ["plugin", "new", "my-labels", "--stage", "resources", "--lang", language];
        let ran = host(directory, arguments)?;
        ensure!(ran.code == 0, "{}", ran.stderr);
        let folder = directory.join("my-labels");
        for Change { from, to } in changes {
            let source = fs::read_to_string(folder.join(file))?;
            ensure!(source.contains(*from), "{source}");
            fs::write(folder.join(file), source.replacen(from, to, 1))?;
        }
        let component = folder.join("my-labels.wasm");
        // Rust's dependencies are compiled once for all runs.
        let target = binary()?.ancestors().nth(2).map(|target| target.join("examples"));
        let target = target.context("the binary lies in no target directory")?;
        self.compile(&folder, &target)?;
        if self == Self::Rust {
            // Another build may replace it.
            fs::copy(target.join(RUST_TARGET).join("release/my_labels.wasm"), &component)?;
        }
        Ok(component)
    }

    fn compile(self, folder: &Path, target: &Path) -> Result<()> {
        match self {
            Self::Rust => {
                fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
                let mut cargo = Command::new(env!("CARGO"));
                cargo.env("CARGO_TARGET_DIR", target);
                run(
                    cargo.args(["build", "--release", "--offline", "--target", RUST_TARGET]),
                    folder,
                )
            }
            Self::ComponentizeQjs => run(
                Command::new("componentize-qjs")
                    .args(["--sync", "--wit", "wit", "--world", "plugin"])
                    .args(["--js", "boson/entry.js", "--output", "my-labels.wasm"]),
                folder,
            ),
            Self::ComponentizeJs | Self::Jco => {
                fs::write(folder.join("wit/world.wit"), WORLD)?;
                let mut command = if self == Self::Jco {
                    let mut jco = Command::new("jco");
                    jco.arg("componentize");
                    jco
                } else {
                    Command::new("componentize-js")
                };
                command.args(["plugin.js", "--wit", "wit", "--world-name", "plugin"]);
                run(command.args(["--out", "my-labels.wasm"]), folder)
            }
            Self::ComponentizePy => run(
                Command::new("componentize-py")
                    .args(["-d", "wit", "-w", "plugin", "componentize", "boson.entry"])
                    .args(["-o", "my-labels.wasm"]),
                folder,
            ),
            Self::Go => {
                run(
                    Command::new("wit-bindgen").args(["go", "--world", GO_WORLD, "wit"]),
                    folder,
                )?;
                run(Command::new("go").args(["mod", "tidy"]), folder)?;
                let mut go = Command::new("go");
                go.env("GOOS", "wasip1").env("GOARCH", "wasm");
                run(
                    go.args(["build", "-buildmode=c-shared", "-ldflags=-checklinkname=0"])
                        .args(["-o", "my-labels.module.wasm"]),
                    folder,
                )?;
                adapt(folder)
            }
        }
    }
}

/// What `wasm-tools component embed` and `wasm-tools component new --adapt` do.
fn adapt(folder: &Path) -> Result<()> {
    let mut module = fs::read(folder.join("my-labels.module.wasm"))?;
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(folder.join("wit"))?;
    let world = resolve.select_world(&[package], Some(GO_WORLD))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    let component = ComponentEncoder::default()
        .module(&module)?
        .adapter(
            WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME,
            WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
        )?
        .validate(true)
        .encode()?;
    Ok(fs::write(folder.join("my-labels.wasm"), component)?)
}

fn has_rust_target() -> bool {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    sysroot.is_some_and(|sysroot| Path::new(sysroot.trim()).join("lib/rustlib").join(RUST_TARGET).is_dir())
}

fn run(command: &mut Command, folder: &Path) -> Result<()> {
    let output = command
        .current_dir(folder)
        .output()
        .with_context(|| format!("{command:?}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    ensure!(
        output.status.success(),
        "{command:?}: {}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    Ok(())
}
