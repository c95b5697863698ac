//! The stages that have a built-in plugin.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail};

/// A stage with a built-in plugin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    Ops,
    Variables,
    Links,
    Bpm,
    Render,
}

// === impl Stage ===

impl Stage {
    /// The slow one last: an error in another shows early.
    pub(crate) const ALL: &'static [Self] = &[Self::Ops, Self::Variables, Self::Links, Self::Bpm, Self::Render];

    fn name(self) -> &'static str {
        match self {
            Self::Ops => "ops",
            Self::Variables => "variables",
            Self::Links => "links",
            Self::Bpm => "bpm",
            Self::Render => "render",
        }
    }

    /// The bytes that the component is made of.
    pub(crate) fn input(self, modules: &Path, ruby: Option<&Path>) -> Result<Vec<u8>> {
        if self == Self::Render {
            let ruby = ruby.context("it needs `--ruby PATH`, the file `ruby+stdlib.wasm`")?;
            return boson_render::read_package(ruby);
        }
        let module = modules.join(format!("boson_{}.wasm", self.name()));
        std::fs::read(&module).with_context(|| {
            format!(
                "reading {}; `cargo build --profile plugin --target wasm32-unknown-unknown -p boson-{}` makes it",
                module.display(),
                self.name()
            )
        })
    }

    /// The component, proven to import nothing but types.
    pub(crate) fn component(self, input: &[u8], progress: &mut dyn FnMut(&str)) -> Result<Vec<u8>> {
        if self == Self::Render {
            return boson_render::build(input, progress);
        }
        let component = boson_render::encode(input)?;
        boson_render::check_sealed(&component)?;
        Ok(component)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Stage {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        match Self::ALL.iter().find(|stage| stage.name() == name) {
            Some(stage) => Ok(*stage),
            None => bail!("no such stage; there are ops, variables, links, bpm and render"),
        }
    }
}
