//! Golden cases: `golden/<stage>/<case>`, the input of one run of `host` and what is expected of it.
//!
//! A case has a file `arguments`, with one argument of `host` a line, and a file `inputs`. Each line of it copies a
//! file or folder of `tests/fixtures` to a path: `<path> = <fixture>`, or one of another case, `../golden/<stage>/..`.
//! The other files of the case replace those of the fixtures, so that a folder shows what is special about its case. A
//! case without one of the two files has that of its stage.

use crate::{folders, root};
use anyhow::{Context, Result};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Case {
    pub folder: PathBuf,
    /// `<stage>/<case>`.
    pub name: String,
}

/// All cases, sorted.
///
/// # Errors
/// A folder cannot be read.
pub fn cases() -> Result<Vec<Case>> {
    let place = root().join("tests/golden");
    let mut cases = Vec::new();
    for stage in folders(&place)? {
        for folder in folders(&stage)? {
            let name = folder.strip_prefix(&place)?.display().to_string();
            cases.push(Case { folder, name });
        }
    }
    Ok(cases)
}

pub fn case(name: &str) -> Case {
    Case {
        folder: root().join("tests/golden").join(name),
        name: name.to_string(),
    }
}

// === impl Case ===

impl Case {
    /// The arguments of `host`, one a line.
    ///
    /// # Errors
    /// Neither the case nor its stage has them.
    pub fn arguments(&self) -> Result<String> {
        self.text("arguments")?
            .with_context(|| format!("{} has no arguments", self.name))
    }

    /// Writes the input to this directory.
    ///
    /// # Errors
    /// A fixture is missing, or something cannot be read or written.
    pub fn write_inputs(&self, directory: &Path) -> Result<()> {
        for (path, fixture) in self.fixtures()? {
            let place = directory.join(path);
            put(&fixture, &place).with_context(|| format!("{}: {}", self.name, fixture.display()))?;
        }
        put(&self.folder, directory)
    }

    /// The fixtures of the case, with the path of each in the input.
    ///
    /// # Errors
    /// A line of `inputs` is not `<path> = <fixture>`.
    pub fn fixtures(&self) -> Result<Vec<(PathBuf, PathBuf)>> {
        let place = root().join("tests/fixtures");
        let text = self.text("inputs")?.unwrap_or_default();
        let fixture = |line: &str| {
            let (path, fixture) = line
                .split_once(" = ")
                .with_context(|| format!("{}: '{line}' is not `<path> = <fixture>`", self.name))?;
            Ok((path.into(), place.join(fixture)))
        };
        text.lines().map(fixture).collect()
    }

    /// A file of the case, or of its stage.
    fn text(&self, name: &str) -> Result<Option<String>> {
        let stage = self.folder.parent().context("no stage")?;
        for place in [self.folder.as_path(), stage] {
            match fs::read_to_string(place.join(name)) {
                Ok(text) => return Ok(Some(text)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}

/// Copies a file, a link or a folder, without what is expected of a run. Replaces files.
fn put(from: &Path, to: &Path) -> Result<()> {
    if from.is_symlink() {
        let _ = fs::remove_file(to);
        symlink(fs::read_link(from)?, to)?;
    } else if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default();
            if !name.to_string_lossy().starts_with("expected.") {
                put(&path, &to.join(name))?;
            }
        }
    } else {
        fs::create_dir_all(to.parent().context("no parent")?)?;
        fs::copy(from, to)?;
    }
    Ok(())
}
