//! What the scripts of a job need of the kernel or of the node, and a pod does not have: found in their rendered text,
//! so that users learn it from the conversion and not from a pod that fails.
//!
//! The scan knows commands and their arguments, not what a shell computes. It misses programs in packages, and it finds
//! commands that a condition keeps from running. So all it reports are notes.

mod commands;
mod lines;
mod parameters;
mod scripts;
mod shell;

use self::scripts::{ENTRY_SCRIPTS, PRE_START, Script};
use super::alike;
use crate::convert::codes;
use crate::diagnostic::Diagnostic;
use crate::release::{Job, TemplateFile};
use crate::stage::Rendered;
use boson_document::{Code, Tree};
use boson_manifest::packages;
use std::collections::BTreeMap;

/// Number of names in a message: parameters, modules, files.
const MAX_NAMES: usize = 5;
/// Number of words of one kind that may become names. Each is searched for in the template.
const MAX_WORDS: usize = 32;
/// Larger files are data, not scripts.
const MAX_SCRIPT_BYTES: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// Parameters of the kernel that each pod has for itself.
    PodParameters,
    /// All others, which the node has.
    NodeParameters,
    Modules,
    Mounts,
    Limits,
    Network,
    /// Files that only the container of a pre-start script has.
    LostFiles,
}

/// Something that a command needs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found<'c> {
    need: Need,
    /// A part of the command that says what: a parameter, a module, a path. Empty if the shell computes it.
    written: &'c str,
}

/// What the scripts of a job need of one kind.
struct Needed<'a> {
    /// Where the first of them is.
    script: Script<'a>,
    line: u32,
    /// Each once, in order. Only those that the template has, too: others may be values.
    names: Vec<String>,
    /// Number of words that were searched for in the template.
    words: usize,
}

/// What the settings of a job keep of what its pre-start script writes.
struct Kept<'a> {
    /// The script runs in the containers of processes.
    is_inline: bool,
    /// Packages that are volumes.
    packages: Vec<&'a str>,
}

/// Notes about what the scripts of a job need, one for each kind. `quarks`: the job property; `rendered`: the rendered
/// templates; those without tags may be missing; `starts`: texts that name the programs of the job's processes.
pub(super) fn notes(job: &Job, quarks: Option<&Tree>, rendered: &[Rendered], starts: &[&str]) -> Vec<Diagnostic> {
    let by_name: BTreeMap<&str, &str> = rendered
        .iter()
        .map(|file| (file.name.as_str(), file.content.as_str()))
        .collect();
    let script = |file| script(job, file, &by_name);
    let scripts: Vec<Script<'_>> = job.templates.iter().filter_map(script).collect();
    let kept = Kept::by(quarks);
    // Processes see what an inline script writes.
    let alone: &[&str] = if kept.is_inline { &[] } else { &[PRE_START] };
    let of_pre_start = scripts::reached(&scripts, alone, &[]);
    let of_pod = scripts::reached(&scripts, &ENTRY_SCRIPTS, starts);
    let mut needed = BTreeMap::new();
    for ((script, runs), is_pre_start) in scripts.iter().zip(of_pod).zip(of_pre_start) {
        if runs {
            add(*script, is_pre_start, &kept, &mut needed);
        }
    }
    needed.iter().map(|(need, needed)| note(job, *need, needed)).collect()
}

// === impl Kept ===

impl<'a> Kept<'a> {
    /// By the settings of a job.
    fn by(quarks: Option<&'a Tree>) -> Self {
        let run = quarks.and_then(|quarks| quarks.get("run"));
        Self {
            is_inline: run.is_some_and(|run| run.str("pre_start") == Some("inline")),
            packages: packages::writable(quarks).collect(),
        }
    }

    fn has(&self, found: &Found<'_>) -> bool {
        let package = commands::package(found.written);
        found.need == Need::LostFiles && package.is_some_and(|package| self.packages.contains(&package))
    }
}

/// A template as a script, if it is one and its text is known.
fn script<'a>(job: &Job, file: &'a TemplateFile, rendered: &BTreeMap<&str, &'a str>) -> Option<Script<'a>> {
    let unchanged = (!alike::is_evaluated(&file.text)).then_some(file.text.as_str());
    let text = rendered.get(job.template_name(file).as_str()).copied().or(unchanged)?;
    let script = Script { file, text };
    (text.len() <= MAX_SCRIPT_BYTES && scripts::is_shell(&script)).then_some(script)
}

fn add<'a>(script: Script<'a>, is_pre_start: bool, kept: &Kept<'_>, needed: &mut BTreeMap<Need, Needed<'a>>) {
    for command in shell::commands(script.text) {
        let all = commands::needs(&command, is_pre_start).into_iter();
        for found in all.filter(|found| !kept.has(found)) {
            let entry = needed.entry(found.need).or_insert_with(|| Needed {
                script,
                line: command.line,
                names: Vec::new(),
                words: 0,
            });
            let written = found.written;
            if written.is_empty() || entry.words == MAX_WORDS {
                continue;
            }
            entry.words += 1;
            if !script.file.text.contains(written) {
                continue;
            }
            let name = match found.need {
                Need::PodParameters | Need::NodeParameters => parameters::shown(written),
                _ => written.to_string(),
            };
            // One more, so that the message says that there are more.
            if entry.names.len() <= MAX_NAMES && !entry.names.contains(&name) {
                entry.names.push(name);
            }
        }
    }
}

fn note(job: &Job, need: Need, needed: &Needed<'_>) -> Diagnostic {
    let (code, message) = described(need, &job.name);
    let names = match &needed.names[..] {
        [] => String::new(),
        names if names.len() > MAX_NAMES => format!(": '{}, ..'", names[..MAX_NAMES].join(", ")),
        names => format!(": '{}'", names.join(", ")),
    };
    let Script { file, text } = needed.script;
    let (document, line) = match lines::in_template(&file.text, text, needed.line) {
        Some(line) => (file.document_name.clone(), line),
        None => (format!("/var/vcap/jobs/{}/{}", job.name, file.destination), needed.line),
    };
    Diagnostic::info(code, format!("{message}{names}"))
        .in_document(document)
        .on_line(line, None)
        .help(help(need, job, &needed.names))
}

/// Whether a word is known without the shell.
fn is_literal(word: &str) -> bool {
    !word.contains('$')
}

/// Code and message of a note.
fn described(need: Need, job: &str) -> (&'static Code, String) {
    let (code, does) = match need {
        Need::PodParameters => (codes::SCRIPT_POD_PARAMETERS, "sets kernel parameters that each pod has"),
        Need::NodeParameters => (codes::SCRIPT_NODE_PARAMETERS, "sets kernel parameters of the node"),
        Need::Modules => (codes::SCRIPT_MODULES, "loads kernel modules"),
        Need::Mounts => (codes::SCRIPT_MOUNTS, "mounts or unmounts file systems"),
        Need::Limits => (codes::SCRIPT_LIMITS, "sets limits"),
        Need::Network => (codes::SCRIPT_NETWORK, "configures the network"),
        Need::LostFiles => {
            let does = "changes files that only its own container has";
            return (
                codes::SCRIPT_LOST_FILES,
                format!("The pre-start script of job '{job}' {does}"),
            );
        }
    };
    (code, format!("A script of job '{job}' {does}"))
}

fn help(need: Need, job: &Job, names: &[String]) -> String {
    match need {
        Need::PodParameters => {
            let help = "/proc/sys is read-only in a pod: set them in the job property quarks.run.sysctls";
            format!("{help}{}", without_parameters(job))
        }
        Need::NodeParameters => {
            let help = "a pod cannot set them: set them on the nodes";
            format!("{help}{}", without_parameters(job))
        }
        Need::Modules => "a pod cannot load modules: load them on the nodes, for example by /etc/modules-load.d".into(),
        Need::Mounts => {
            "only a privileged container can mount (`unsafe.privileged` in bpm.yml), and no other container sees the \
             result"
                .into()
        }
        Need::Limits => {
            "a script cannot exceed the limits of the container, which the node's container runtime sets; for a \
             process, use `limits.open_files` in bpm.yml"
                .into()
        }
        Need::Network => "it needs NET_ADMIN: add it by quarks.run.capabilities of the job, which is for its scripts \
             and processes; it changes the network of the pod, not of the node"
            .into(),
        Need::LostFiles => keep_files(names),
    }
}

/// How to keep files with these names.
fn keep_files(names: &[String]) -> String {
    let mut packages: Vec<&str> = names.iter().filter_map(|name| commands::package(name)).collect();
    packages.sort_unstable();
    packages.dedup();
    let mut settings = Vec::new();
    if !packages.is_empty() {
        settings.push(format!(
            "keep files of packages by `writable_packages: [{}]`",
            packages.join(", ")
        ));
    }
    if names.is_empty() || names.iter().any(|name| commands::package(name).is_none()) {
        settings.push("run the script in the containers of the job's processes by `pre_start: inline`".to_string());
    }
    format!(
        "other containers see only what it writes below /var/vcap/data, /var/vcap/store, /var/vcap/sys and \
         /var/vcap/jobs; in quarks.run of the job, {}",
        settings.join(", and ")
    )
}

/// How to keep a script of Cloud Foundry's releases from setting kernel parameters, if this job has their property.
fn without_parameters(job: &Job) -> String {
    let properties = job.spec.tree.get("properties").and_then(Tree::as_object);
    let mut names = properties.into_iter().flatten().map(|(name, _)| name);
    match names.find(|name| name.rsplit('.').next() == Some("set_kernel_parameters")) {
        Some(name) => format!("; with `{name}: false`, the script does not set them"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Severity;
    use crate::yaml;

    fn job(spec: &str, files: &[(&str, &str)]) -> Job {
        let template = |(destination, text): &(&str, &str)| TemplateFile {
            source: format!("{destination}.erb"),
            destination: (*destination).into(),
            text: (*text).into(),
            document_name: format!("release/{destination}.erb"),
            executable: false,
        };
        Job {
            name: "app".into(),
            spec: yaml::read("spec", spec).unwrap(),
            templates: files.iter().map(template).collect(),
            monit: None,
            monit_document: String::new(),
            properties_schema: None,
        }
    }

    fn rendered(source: &str, content: &str) -> Rendered {
        Rendered {
            name: format!("app/{source}.erb"),
            content: content.into(),
        }
    }

    fn shown(notes: &[Diagnostic]) -> Vec<String> {
        let place = |note: &Diagnostic| {
            let document = note.place.document.clone().unwrap_or_default();
            format!("{} {document}:{}", note.code, note.place.line.unwrap_or_default())
        };
        notes.iter().map(place).collect()
    }

    #[test]
    fn a_job_has_one_note_for_each_need() {
        let job = job(
            "properties: {set_kernel_parameters: {default: true}}",
            &[
                (
                    "bin/pre-start",
                    "#!/bin/bash\n$bin_dir/set-kernel-params\nln -s a /sbin/a\n",
                ),
                (
                    "bin/set-kernel-params",
                    "<% if p('x') %>\necho 1 > /proc/sys/net/ipv4/tcp_tw_reuse\nmodprobe nf_conntrack\n\
                     modprobe <%= p('y') %>\n<%= p('z') %>\n<% end %>",
                ),
                ("bin/app_ctl", "ulimit -n 100000"),
            ],
        );
        let script = "\necho 1 > /proc/sys/net/ipv4/tcp_tw_reuse\nmodprobe nf_conntrack\nmodprobe secret\n\
                      sysctl -w vm.swappiness=1\n";
        let notes = notes(&job, None, &[rendered("bin/set-kernel-params", script)], &[]);
        assert_eq!(
            shown(&notes),
            [
                "script-pod-parameters release/bin/set-kernel-params.erb:2",
                "script-node-parameters /var/vcap/jobs/app/bin/set-kernel-params:5",
                "script-modules release/bin/set-kernel-params.erb:3",
                "script-lost-files release/bin/pre-start.erb:3",
            ]
        );
        let messages: Vec<&str> = notes.iter().map(|note| note.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "A script of job 'app' sets kernel parameters that each pod has: 'net.ipv4.tcp_tw_reuse'",
                "A script of job 'app' sets kernel parameters of the node",
                "A script of job 'app' loads kernel modules: 'nf_conntrack'",
                "The pre-start script of job 'app' changes files that only its own container has: '/sbin/a'",
            ]
        );
        assert!(notes.iter().all(|note| note.severity == Severity::Info));
        let help = notes[0].help.as_deref().unwrap_or_default();
        assert!(help.contains("`set_kernel_parameters: false`"), "{help}");
    }

    #[test]
    fn scripts_of_processes_count_and_lose_no_files() {
        let job = job(
            "{}",
            &[
                ("bin/app", "ulimit -n 65536\ncp a /etc/a\n"),
                ("bin/pre-start", "#!/usr/bin/env ruby\nulimit -n 1"),
            ],
        );
        let bpm = "processes: [{name: app, executable: /var/vcap/jobs/app/bin/app}]";
        assert_eq!(
            shown(&notes(&job, None, &[], &[bpm])),
            ["script-limits release/bin/app.erb:1"]
        );
        assert_eq!(shown(&notes(&job, None, &[], &[])), [""; 0]);
    }

    #[test]
    fn long_lists_are_cut() {
        let script: String = (0..9).map(|nth| format!("modprobe m{nth}\n")).collect();
        let job = job("{}", &[("bin/pre-start", &script)]);
        let notes = notes(&job, None, &[], &[]);
        assert_eq!(
            notes[0].message,
            "A script of job 'app' loads kernel modules: 'm0, m1, m2, m3, m4, ..'"
        );
    }

    #[test]
    fn settings_keep_files_of_pre_start() {
        let script = "touch /var/vcap/packages/p/a\ncp a /etc/a\ntouch /var/vcap/packages/q/b\n";
        let job = job("{}", &[("bin/pre-start", script)]);
        for (quarks, names, settings) in [
            (
                "{}",
                "/var/vcap/packages/p/a, /etc/a, /var/vcap/packages/q/b",
                &["`writable_packages: [p, q]`", "`pre_start: inline`"][..],
            ),
            (
                "run: {writable_packages: [p, q]}",
                "/etc/a",
                &["in quarks.run of the job, run the script in the containers"],
            ),
        ] {
            let quarks = yaml::read("quarks", quarks).unwrap();
            let notes = notes(&job, Some(&quarks.tree), &[], &[]);
            let end = format!("changes files that only its own container has: '{names}'");
            assert!(notes[0].message.ends_with(&end), "{}", notes[0].message);
            let help = notes[0].help.as_deref().unwrap_or_default();
            assert!(settings.iter().all(|setting| help.contains(setting)), "{help}");
        }
        let inline = yaml::read("quarks", "run: {pre_start: inline}").unwrap();
        assert_eq!(shown(&notes(&job, Some(&inline.tree), &[], &[])), [""; 0]);
    }
}
