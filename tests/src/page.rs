//! A page of the documents whose commands are run: by a test, and by `make up`.

use crate::cluster::program;
use crate::{binary, root};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The registry on pages.
pub const REGISTRY: &str = "registry.example.com";
/// How long a command of a page may take. The commands that wait have their own, shorter limits.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(900);

/// A page, with other names in place of some that are on it.
#[derive(Debug)]
pub struct Page {
    text: String,
    names: Vec<(String, String)>,
}

/// A clone as its user has it: what the commands of a page read, and a directory for what they write.
#[derive(Debug)]
pub struct Checkout {
    directory: PathBuf,
    environment: Vec<(&'static str, OsString)>,
}

/// The output of a command.
#[derive(Debug)]
pub struct Said {
    /// Whether it succeeded.
    pub success: bool,
    /// Its output and its errors.
    pub text: String,
}

// === impl Page ===

impl Page {
    /// Reads a page. `names`: texts of the page, and what replaces them, in order.
    ///
    /// # Errors
    /// There is no such page.
    pub fn read(path: &str, names: Vec<(String, String)>) -> Result<Self> {
        let text = fs::read_to_string(root().join(path)).with_context(|| path.to_string())?;
        Ok(Self { text, names })
    }

    /// The page as it is.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The command of the page that begins with this text, with all its lines.
    ///
    /// # Errors
    /// The page has no such command.
    pub fn command(&self, begins: &str) -> Result<String> {
        let prompt = format!("\n$ {begins}");
        let at = self.text.find(&prompt);
        let rest = &self.text[at.with_context(|| format!("the page has no command '{begins}'"))? + 3..];
        let first = rest.split('\n').next().unwrap_or_default();
        let end = match first.split_once("<<") {
            None => rest.split_inclusive('\n').scan(true, continued).sum(),
            Some((_, mark)) => rest.find(&format!("\n{mark}\n")).context("no end of input")? + 1 + mark.len(),
        };
        Ok(self.renamed(rest[..end].trim_end()))
    }

    /// The file that the page shows: its block begins with its path.
    ///
    /// # Errors
    /// The page shows no such file.
    pub fn file(&self, path: &str) -> Result<String> {
        let begin = format!("```yaml\n# {path}\n");
        let found = self.text.split_once(&begin);
        let (_, rest) = found.with_context(|| format!("the page shows no {path}"))?;
        let (text, _) = rest.split_once("```").context("the block does not end")?;
        Ok(self.renamed(text))
    }

    fn renamed(&self, text: &str) -> String {
        let rename = |text: String, (from, to): &(String, String)| text.replace(from, to);
        self.names.iter().fold(text.to_string(), rename)
    }
}

/// The length of a line that belongs to the command: the one before it ends with a backslash.
fn continued(goes_on: &mut bool, line: &str) -> Option<usize> {
    let belongs = *goes_on;
    *goes_on = line.trim_end().ends_with('\\');
    belongs.then_some(line.len())
}

// === impl Checkout ===

impl Checkout {
    /// Uses a directory, and makes in it what is missing: the files of the clone, and `bin` with `kubectl` and `host`.
    ///
    /// # Errors
    /// A program is missing, or the directory cannot be written.
    pub fn at(directory: &Path, kubeconfig: &Path) -> Result<Self> {
        fs::create_dir_all(directory.join("bin"))?;
        fs::create_dir_all(directory.join("target"))?;
        for folder in ["deploy", "crds", "docs"] {
            link(&root().join(folder), &directory.join(folder))?;
        }
        link(&program("kubectl")?, &directory.join("bin/kubectl"))?;
        link(&binary()?, &directory.join("bin/host"))?;
        Ok(Self {
            directory: directory.to_path_buf(),
            environment: vec![("KUBECONFIG", kubeconfig.into())],
        })
    }

    /// Sets a variable for its commands.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &str, text: &str) -> Result<()> {
        let file = self.directory.join(path);
        fs::create_dir_all(file.parent().context("no folder")?)?;
        Ok(fs::write(file, text)?)
    }

    /// Runs a script in it.
    ///
    /// # Errors
    /// The shell cannot be started.
    pub fn shell(&self, script: &str) -> Result<Said> {
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("timeout")
            .args([
                &COMMAND_TIMEOUT.as_secs().to_string(),
                "bash",
                "-c",
                &format!("exec 2>&1\n{script}"),
            ])
            .current_dir(&self.directory)
            .env("PATH", format!("{}/bin:{path}", self.directory.display()))
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .output()?;
        Ok(Said {
            success: output.status.success(),
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
        })
    }
}

/// Makes a link, which may exist with another target.
///
/// # Errors
/// It cannot be made.
pub(crate) fn link(target: &Path, place: &Path) -> Result<()> {
    if place.is_symlink() {
        fs::remove_file(place)?;
    }
    symlink(target, place).with_context(|| format!("cannot link {}", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_all_its_lines_and_other_names() {
        let page = Page {
            text: "```console\n$ one r.example \\\n    --more\n$ two <<END\n$ r.example\nEND\n```\n".into(),
            names: vec![("r.example".into(), "127.0.0.1:5000".into())],
        };
        assert_eq!(page.command("one").unwrap(), "one 127.0.0.1:5000 \\\n    --more");
        assert_eq!(page.command("two").unwrap(), "two <<END\n$ 127.0.0.1:5000\nEND");
        assert!(page.command("three").is_err());
    }

    #[test]
    fn a_file_is_the_block_that_begins_with_its_path() {
        let page = Page {
            text: "```yaml\n# a/b.yaml\nkey: r.example\n```\n".into(),
            names: vec![("r.example".into(), "127.0.0.1:5000".into())],
        };
        assert_eq!(page.file("a/b.yaml").unwrap(), "key: 127.0.0.1:5000\n");
        assert!(page.file("b.yaml").is_err());
    }
}
