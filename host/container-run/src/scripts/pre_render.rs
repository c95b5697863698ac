//! `container-run pre-render`: the scripts that change a pod's copy of the job sources before its templates are
//! rendered.
//!
//! The first script that fails ends it, and the kubelet starts the container again. A script may have changed half of
//! what it wants to change by then. So the sources are saved before the first script and restored before the next try:
//! every try starts from the same files.

use std::fs;
use std::path::{Path, PathBuf};

use super::finish::finish;
use crate::arguments::Flags;
use crate::children;
use crate::environment;
use crate::error::{Context, Result};
use crate::events::{Events, LAST_OUTPUT_TIMEOUT};
use crate::files::{copy, empty, entries};
use crate::launch::{Launch, Outputs};
use crate::output::say::say;
use crate::places::Places;

/// What the scripts are written for.
const BASH_PATH: &str = "/bin/bash";
/// Shell for simple scripts, if the image has no other.
const SH_PATH: &str = "/bin/sh";

/// Paths of one job in the volume of the job sources.
struct Sources {
    volume: PathBuf,
    scripts: PathBuf,
    /// The sources as they were before the job's first script.
    saved: PathBuf,
    /// A copy of them that may not be complete.
    partial: PathBuf,
}

/// Runs all scripts of a job, one after the other.
pub fn run(places: &Places, flags: &Flags) -> Result<u8> {
    let sources = Sources::of(Path::new(&flags.sources), &flags.job);
    let scripts = sources.scripts()?;
    sources.reset()?;
    let temporary = sources.volume.join("tmp");
    // A shell keeps its here-documents there; the container may have no other place to write to.
    fs::create_dir_all(&temporary).path_context("making", &temporary)?;
    let shell = if Path::new(BASH_PATH).exists() {
        BASH_PATH
    } else {
        SH_PATH
    };
    let mut events = Events::new()?;
    children::adopt_orphans();
    for script in scripts {
        let launch = Launch {
            program: shell.into(),
            arguments: vec![script.to_string_lossy().into_owned()],
            environment: environment::of_script(
                places,
                &flags.env,
                &[("TMPDIR", temporary.to_string_lossy().into_owned())],
            ),
            directory: Some(sources.volume.clone()),
            ..Launch::default()
        };
        let code = finish(launch.start(Outputs::Inherited)?.pid, &mut events)?.code;
        children::await_writers(LAST_OUTPUT_TIMEOUT);
        if code != 0 {
            let name = script.file_name().unwrap_or_default().to_string_lossy();
            say(&format!(
                "pre-render script '{name}' of job '{}' failed: exit status {code}",
                flags.job
            ));
            return Ok(code);
        }
    }
    children::kill_all();
    sources.forget()?;
    Ok(0)
}

// === impl Sources ===

impl Sources {
    fn of(volume: &Path, job: &str) -> Self {
        Self {
            volume: volume.to_path_buf(),
            scripts: volume.join("pre-render").join(job),
            saved: volume.join("saved").join(job),
            partial: volume.join("saving").join(job),
        }
    }

    /// Paths of the scripts in the order in which they run, which is that of their names.
    fn scripts(&self) -> Result<Vec<PathBuf>> {
        let mut paths = entries(&self.scripts).path_context("reading", &self.scripts)?;
        paths.sort();
        Ok(paths)
    }

    /// Saves the sources, or restores what an earlier try has saved.
    fn reset(&self) -> Result<()> {
        let current = self.volume.join("jobs-src");
        if self.saved.is_dir() {
            for release in entries(&self.saved).path_context("reading", &self.saved)? {
                let target = current.join(release.file_name().unwrap_or_default());
                empty(&target).path_context("emptying", &target)?;
                copy(&release, &target).path_context("restoring", &target)?;
            }
            return Ok(());
        }
        // Renamed when it is complete: a try that ends before that has run no script.
        let partial = &self.partial;
        if partial.exists() {
            fs::remove_dir_all(partial).path_context("removing", partial)?;
        }
        copy(&current, partial).path_context("saving", &current)?;
        let directory = self.volume.join("saved");
        fs::create_dir_all(&directory)
            .and_then(|()| fs::rename(partial, &self.saved))
            .path_context("renaming", partial)
    }

    /// The container has done its work: where all init containers run again, the sources are copied from the images
    /// again.
    fn forget(&self) -> Result<()> {
        fs::remove_dir_all(&self.saved).path_context("removing", &self.saved)
    }
}
