//! Packages of other releases that the containers of a job need. On a VM, each job sees the packages of all jobs of its
//! instance group; a container has those of its release's image. The rendered files name most of what is missing.

mod notes;

use super::alike;
use super::job_output::JobOutput;
use super::mentions::{Mentions, MentionsByFile};
use crate::diagnostic::Diagnostic;
use crate::release::{self, Job, Release};
use crate::resolved_document::{self, jobs, quarks};
use crate::stage::{ReleasePackage, Rendered, ResolvedGroup};
use boson_document::{Tree, json};
use boson_manifest::group::settings;
use boson_manifest::packages::{SharePackages, writable};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Members of the property `quarks` that have commands.
const WITH_COMMANDS: [&str; 5] = ["bpm", "envs", "run", "post_start", "activePassiveProbes"];

pub(super) struct GroupJob<'a> {
    pub tree: &'a Tree,
    pub files: &'a Job,
    /// On any of its instances.
    pub mentions: &'a MentionsByFile,
}

/// The jobs of a group, and what they have.
struct Group<'a> {
    jobs: &'a [GroupJob<'a>],
    by_name: HashMap<&'a str, usize>,
    /// The release that provides a package: that of the first job that lists it.
    providers: BTreeMap<&'a str, &'a str>,
}

/// What the rendered files of a job name on an instance. On the first one, also its property `quarks`, and files that
/// are not rendered because they have no tags. `bpm`: its bpm.yml, or the monit file that it runs by; another monit
/// file does not count.
pub(super) fn of_instance(
    job: &Tree,
    files: &Job,
    rendered: &[Rendered],
    bpm: Option<&Rendered>,
    is_first: bool,
) -> MentionsByFile {
    let destinations: HashMap<String, &str> = files
        .templates
        .iter()
        .map(|file| (files.template_name(file), file.destination.as_str()))
        .collect();
    let mut all = MentionsByFile::new();
    let mut add = |destination: &str, text: &str| {
        let found = Mentions::of(text);
        if !found.is_empty() {
            all.entry(destination.to_string()).or_default().extend(found);
        }
    };
    for file in rendered {
        if let Some(destination) = destinations.get(&file.name) {
            add(destination, &file.content);
        }
    }
    if let Some(bpm) = bpm {
        add(Job::BPM, &bpm.content);
    }
    if is_first {
        let unchanged = files.templates.iter().filter(|file| !alike::is_evaluated(&file.text));
        unchanged.for_each(|file| add(&file.destination, &file.text));
        let members = WITH_COMMANDS.iter().filter_map(|key| quarks(job)?.get(key));
        members.for_each(|member| add("", &json::to_text(member)));
    }
    all
}

/// Selects the packages for each job of a group that its release has, in order, with notes about those that do not
/// exist.
pub(super) fn select(
    group: &ResolvedGroup,
    releases: &[Release],
    outputs: &[JobOutput],
) -> (Vec<Vec<ReleasePackage>>, Vec<Diagnostic>) {
    let trees = jobs(&group.document);
    let found = trees.iter().zip(outputs).filter_map(|(tree, output)| {
        Some(GroupJob {
            tree,
            files: release::find_job(releases, tree)?,
            mentions: &output.mentions,
        })
    });
    let jobs: Vec<GroupJob<'_>> = found.collect();
    of_jobs(resolved_document::group(&group.document), &jobs, releases)
}

/// `group`: its entry in the resolved document.
fn of_jobs(group: &Tree, jobs: &[GroupJob<'_>], releases: &[Release]) -> (Vec<Vec<ReleasePackage>>, Vec<Diagnostic>) {
    let all = Group::of(jobs);
    let (mut selected, mut reported) = (Vec::new(), Vec::new());
    for (number, job) in jobs.iter().enumerate() {
        let own = of_release(releases, release(job));
        let mut names: BTreeSet<&str> = match SharePackages::of_job(quarks(job.tree), settings(group)) {
            SharePackages::None => BTreeSet::new(),
            SharePackages::All => all.providers.keys().copied().collect(),
            SharePackages::Listed(names) => names.into_iter().collect(),
            SharePackages::Referenced => {
                let is_known = |name: &str| own.contains(name) || all.providers.contains_key(name);
                reported.extend(notes::missing(job, is_known));
                all.named(number)
            }
        };
        names.extend(writable(quarks(job.tree)));
        let of = |name: &str| {
            let own = own.contains(name).then_some(release(job));
            let release = own.or_else(|| all.providers.get(name).copied())?;
            Some(ReleasePackage {
                name: name.to_string(),
                release: release.to_string(),
            })
        };
        selected.push(names.into_iter().filter_map(of).collect());
    }
    (selected, reported)
}

fn release<'a>(job: &GroupJob<'a>) -> &'a str {
    job.tree.str("release").unwrap_or_default()
}

/// The packages that jobs of a release list. Its image may have more, which they need only to be compiled.
fn of_release<'r>(releases: &'r [Release], name: &str) -> BTreeSet<&'r str> {
    let release = releases.iter().find(|release| release.name == name);
    let jobs = release.into_iter().flat_map(|release| &release.jobs);
    jobs.flat_map(listed).collect()
}

/// The packages that the spec of a job lists: those that a VM with this job has.
fn listed(job: &Job) -> impl Iterator<Item = &str> {
    job.spec.tree.texts("packages")
}

// === impl Group ===

impl<'a> Group<'a> {
    fn of(jobs: &'a [GroupJob<'a>]) -> Self {
        let mut providers = BTreeMap::new();
        for job in jobs {
            for package in listed(job.files) {
                providers.entry(package).or_insert(release(job));
            }
        }
        let numbered = jobs.iter().enumerate();
        Self {
            jobs,
            by_name: numbered
                .map(|(number, job)| (job.files.name.as_str(), number))
                .collect(),
            providers,
        }
    }

    /// Packages that the files of a job name, and the files of other jobs that these name. bpm.yml of another job is
    /// only about its own containers.
    fn named(&self, number: usize) -> BTreeSet<&'a str> {
        let mut names = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut pending: Vec<&'a Mentions> = self.jobs[number].mentions.values().collect();
        while let Some(mentions) = pending.pop() {
            names.extend(mentions.packages.iter().chain(&mentions.values).map(String::as_str));
            for path in &mentions.of_jobs {
                let (job, path) = path.split_once('/').unwrap_or((path, ""));
                let Some(other) = self.by_name.get(job).copied().filter(|other| *other != number) else {
                    continue;
                };
                for (file, mentions) in self.jobs[other].mentions {
                    if file != Job::BPM && is_within(file, path) && seen.insert((other, file)) {
                        pending.push(mentions);
                    }
                }
            }
        }
        names
    }
}

/// Whether a file is at this path or below it.
fn is_within(file: &str, path: &str) -> bool {
    let below = file.strip_prefix(path).filter(|_| !file.is_empty());
    below.is_some_and(|rest| path.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::TemplateFile;
    use crate::yaml;

    fn job(name: &str, packages: &str, files: &[(&str, &str)]) -> Job {
        let template = |(destination, text): &(&str, &str)| TemplateFile {
            source: format!("{destination}.erb"),
            destination: (*destination).into(),
            text: (*text).into(),
            document_name: format!("{name}/{destination}.erb"),
            executable: false,
        };
        Job {
            name: name.into(),
            spec: yaml::read("spec", &format!("packages: [{packages}]")).unwrap(),
            templates: files.iter().map(template).collect(),
            monit: None,
            monit_document: String::new(),
            properties_schema: None,
        }
    }

    fn release(name: &str, jobs: Vec<Job>) -> Release {
        Release {
            name: name.into(),
            version: None,
            jobs,
            source: String::new(),
            warnings: Vec::new(),
        }
    }

    /// The packages of each job of a group with all jobs of these releases, as `<release>/<package>`; and the notes.
    /// `settings`: `sharePackages` of a job, or of the group (`""`); `writable_packages` of a job (`<job>/run`).
    fn selected(releases: &[Release], settings: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let with = |key: &str, of: &str| {
            let found = settings.iter().find(|(name, _)| *name == of);
            let value = found.map_or("null", |(_, value)| value);
            json::parse(&format!(r#"{{"{key}": {value}}}"#)).unwrap()
        };
        let setting = |of: &str| with("sharePackages", of);
        let of_agent = Tree::object().with("settings", setting(""));
        let bosh = Tree::object().with("agent", of_agent);
        let group = Tree::object().with("env", Tree::object().with("bosh", bosh));
        let entry = |release: &Release, job: &Job| {
            let run = with("writable_packages", &format!("{}/run", job.name));
            let properties = Tree::object().with("quarks", setting(&job.name).with("run", run));
            Tree::object()
                .with("name", job.name.as_str())
                .with("release", release.name.as_str())
                .with("properties", properties)
        };
        let all = || {
            releases
                .iter()
                .flat_map(|release| release.jobs.iter().map(move |job| (release, job)))
        };
        let trees: Vec<Tree> = all().map(|(release, job)| entry(release, job)).collect();
        let mentions = trees.iter().zip(all());
        let mentions: Vec<MentionsByFile> = mentions
            .map(|(tree, (_, files))| of_instance(tree, files, &[], None, true))
            .collect();
        let jobs = trees.iter().zip(all()).zip(&mentions);
        let jobs = jobs.map(|((tree, (_, files)), mentions)| GroupJob { tree, files, mentions });
        let (packages, notes) = of_jobs(&group, &jobs.collect::<Vec<_>>(), releases);
        let shown = |packages: Vec<ReleasePackage>| {
            let names = packages.into_iter().map(|one| format!("{}/{}", one.release, one.name));
            names.collect::<Vec<_>>().join(" ")
        };
        let place = |note: Diagnostic| {
            let document = note.place.document.unwrap_or_default();
            format!("{document}:{} {}", note.place.line.unwrap_or_default(), note.message)
        };
        (
            packages.into_iter().map(shown).collect(),
            notes.into_iter().map(place).collect(),
        )
    }

    #[test]
    fn jobs_get_the_packages_of_other_releases_that_their_files_name() {
        let releases = [
            release(
                "smoke",
                vec![job(
                    "tests",
                    "own, cli-7",
                    &[("bin/run", "/var/vcap/packages/cli-8/cf\n/var/vcap/packages/cli-7/cf")],
                )],
            ),
            release(
                "cli",
                vec![job("cf-cli", "cli-8, cli-7", &[("x.json", "{\"package\":\"own\"}")])],
            ),
        ];
        let (packages, notes) = selected(&releases, &[]);
        assert_eq!(packages, ["smoke/cli-7 cli/cli-8", "smoke/own"]);
        assert_eq!(notes, [""; 0]);
        let of = |settings: &[(&str, &str)]| selected(&releases, settings).0;
        assert_eq!(of(&[("", "\"none\"")]), ["", ""]);
        assert_eq!(
            of(&[("", "\"all\""), ("tests", "\"none\"")]),
            ["", "cli/cli-7 cli/cli-8 smoke/own"]
        );
        assert_eq!(of(&[("", "[\"own\", \"gone\"]")]), ["smoke/own", "smoke/own"]);
        assert_eq!(of(&[("cf-cli", "[]")]), ["smoke/cli-7 cli/cli-8", ""]);
        // Those that scripts write to count without being named.
        let written = ("cf-cli/run", "[\"own\", \"cli-7\", \"gone\"]");
        assert_eq!(of(&[("", "\"none\""), written]), ["", "cli/cli-7 smoke/own"]);
    }

    #[test]
    fn files_of_other_jobs_count_if_they_are_named() {
        let releases = [
            release(
                "routing",
                vec![job(
                    "registrar",
                    "",
                    &[("config/x.json", "{\"check\":\"/var/vcap/jobs/api/bin/check\"}")],
                )],
            ),
            release(
                "capi",
                vec![job(
                    "api",
                    "",
                    &[
                        (
                            "bin/check",
                            "source /var/vcap/jobs/api/lib/\n/var/vcap/packages/utils/bin/a",
                        ),
                        ("lib/b.sh", "/var/vcap/packages/lib/bin/a"),
                        ("bin/other", "/var/vcap/packages/other/bin/a"),
                    ],
                )],
            ),
            release("tools", vec![job("tools", "utils, other, lib", &[])]),
        ];
        let (packages, _) = selected(&releases, &[]);
        assert_eq!(
            packages,
            ["tools/lib tools/utils", "tools/lib tools/other tools/utils", ""]
        );
    }

    #[test]
    fn packages_that_the_group_lacks_are_noted_where_the_template_names_them() {
        let script = "#!/bin/bash\nif [ -d /var/vcap/packages/gone ]; then\n/var/vcap/packages/gone/a\nfi\n/var/vcap/packages/b/b";
        let with = |packages: &str| [release("r", vec![job("app", packages, &[("bin/run", script)])])];
        let (packages, notes) = selected(&with("a, b"), &[]);
        assert_eq!(packages, ["r/b"]);
        assert_eq!(
            notes,
            ["app/bin/run.erb:2 A file of job 'app' names a package that no job of its instance group has: 'gone'"]
        );
        // Not every release lists its packages.
        assert_eq!(selected(&with(""), &[]).1, [""; 0]);
        assert_eq!(selected(&with("b"), &[("", "\"all\"")]).1, [""; 0]);
    }
}
