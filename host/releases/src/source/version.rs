//! The version of a release in a repository, and its jobs as they are in tarballs.

use super::Package;
use super::fingerprint::{Algorithm, Part, fingerprint};
use super::folder::{Folder, source_error, text};
use boson_document::Tree;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::{Entry, Files, Job, Naming, Release};
use std::collections::BTreeMap;
use std::io;

/// Digits of the fingerprint in a dev version.
const DEV_DIGITS: usize = 12;
/// What BOSH counts dev versions from, before the first final version.
const NO_FINAL_VERSION: &str = "0";

type Fingerprints = BTreeMap<String, String>;

/// The newest final version, if jobs and packages have the fingerprints of that version. Otherwise a dev version with a
/// digest of the fingerprints: another content has another version, and so another image.
///
/// # Errors
/// A manifest of a final version is not YAML.
pub fn version(folder: &Folder, release: &Release, files: &Files, packages: &[Package]) -> Result<String, Diagnostic> {
    let newest = release.version.as_deref();
    let packages: Fingerprints = packages
        .iter()
        .map(|package| (package.name.clone(), package.fingerprint.clone()))
        .collect();
    if let Some(version) = newest {
        let name = &release.name;
        let path = format!("releases/{name}/{name}-{version}.yml");
        let manifest = folder.yaml(&path)?.unwrap_or_default();
        let jobs = jobs(release, files, manifest.items("jobs"))?;
        if listed(manifest.items("packages")) == packages && listed(manifest.items("jobs")) == jobs {
            return Ok(version.to_owned());
        }
    }
    let jobs = jobs(release, files, &[])?;
    let mut all = String::new();
    for (kind, fingerprints) in [("job", jobs), ("package", packages)] {
        for (name, fingerprint) in fingerprints {
            all.push_str(&format!("{kind} {name} {fingerprint}\n"));
        }
    }
    let digest = boson_oci::digest(all.as_bytes());
    let digits = digest.digest().get(..DEV_DIGITS).unwrap_or_default();
    Ok(format!("{}+dev.{digits}", newest.unwrap_or(NO_FINAL_VERSION)))
}

fn listed(entries: &[Tree]) -> Fingerprints {
    let member = |entry: &Tree, key: &str| entry.get(key).and_then(text);
    entries
        .iter()
        .filter_map(|entry| Some((member(entry, "name")?, member(entry, "fingerprint")?)))
        .collect()
}

/// Fingerprints of jobs, by the algorithm of those in a manifest.
fn jobs(release: &Release, files: &Files, like: &[Tree]) -> Result<Fingerprints, Diagnostic> {
    let first = listed(like).into_values().next().unwrap_or_default();
    let algorithm = Algorithm::of(&first);
    let one = |job: &Job| -> Result<(String, String), Diagnostic> {
        let mut parts = Vec::new();
        for (path, from) in paths(job, files) {
            let file = files.file(&from).map_err(|_| io::ErrorKind::NotFound.into());
            // A link counts with its own mode, which has all bits.
            let executable = |file: &boson_pipeline::release::File| {
                file.executable || matches!(files.entry(&from), Some(Entry::Link(_)))
            };
            let part = file.and_then(|file| Part::file(algorithm, path, executable(file), &mut file.bytes.as_slice()));
            parts.push(part.map_err(|error| source_error(&files.document(&from), &error))?);
        }
        Ok((job.name.clone(), fingerprint(algorithm, parts, &[])))
    };
    release.jobs.iter().map(one).collect()
}

/// The files of a job in a tarball, and where they are in the repository.
fn paths(job: &Job, files: &Files) -> Vec<(String, String)> {
    let directory = format!("jobs/{}", job.name);
    let mut paths = vec![("job.MF".to_owned(), format!("{directory}/spec"))];
    for optional in ["monit", "properties_schema.json"] {
        let path = format!("{directory}/{optional}");
        if files.file(&path).is_ok() {
            paths.push((optional.to_owned(), path));
        }
    }
    for template in &job.templates {
        let path = format!("templates/{}", template.source);
        paths.push((path.clone(), format!("{directory}/{path}")));
    }
    paths
}

/// The jobs as they are in tarballs, below `jobs/<job>/`.
pub fn archived(release: &Release, files: &Files) -> Files {
    let mut archived = Files::new(Naming::Directory(release.source.clone()));
    for job in &release.jobs {
        for (path, from) in paths(job, files) {
            if let Ok(file) = files.file(&from) {
                archived.insert(format!("jobs/{}/{path}", job.name), Entry::File(file.clone()));
            }
        }
    }
    archived
}
