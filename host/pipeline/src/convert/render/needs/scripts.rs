//! The scripts of a job that run in a pod. A job may have others: those by which monit starts it without BPM, or tools
//! for operators.

use crate::release::TemplateFile;
use std::collections::HashMap;

#[derive(Clone, Copy, Debug)]
pub(super) struct Script<'a> {
    pub file: &'a TemplateFile,
    pub text: &'a str,
}

/// The script that runs in a container of its own before all processes start.
pub(super) const PRE_START: &str = "bin/pre-start";

/// Scripts that a pod runs: by the BOSH agent's rules, and `bin/run` of an errand.
pub(super) const ENTRY_SCRIPTS: [&str; 7] = [
    PRE_START,
    "bin/post-start",
    "bin/post-deploy",
    "bin/pre-stop",
    "bin/drain",
    "bin/post-stop",
    "bin/run",
];

/// Whether each script runs if those of `entries` run, and what these `texts` start. A script starts, or reads, the
/// files whose names it has behind a slash: `$bin_dir/setup`.
pub(super) fn reached(scripts: &[Script<'_>], entries: &[&str], texts: &[&str]) -> Vec<bool> {
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (nth, script) in scripts.iter().enumerate() {
        by_name.entry(name(&script.file.destination)).or_default().push(nth);
    }
    let mut reached: Vec<bool> = scripts
        .iter()
        .map(|script| entries.contains(&script.file.destination.as_str()))
        .collect();
    let mut pending: Vec<&str> = texts.to_vec();
    pending.extend(
        scripts
            .iter()
            .zip(&reached)
            .filter(|(_, is_entry)| **is_entry)
            .map(|(script, _)| script.text),
    );
    while let Some(text) = pending.pop() {
        for name in mentioned(text) {
            // Each name once: many mentions of it must not take longer.
            for nth in by_name.remove(name).unwrap_or_default() {
                if !reached[nth] {
                    reached[nth] = true;
                    pending.push(scripts[nth].text);
                }
            }
        }
    }
    reached
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Names behind a slash, except in lines that are comments.
fn mentioned(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let end = |rest: &str| rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.+".contains(c)));
    lines
        .flat_map(|line| line.split('/').skip(1))
        .map(move |rest| end(rest).map_or(rest, |end| &rest[..end]))
}

/// Whether the text is a script for a shell.
pub(super) fn is_shell(script: &Script<'_>) -> bool {
    let first = script.text.lines().find(|line| !line.trim().is_empty());
    let Some(interpreter) = first.and_then(|first| first.trim_start().strip_prefix("#!")) else {
        let destination = &script.file.destination;
        return destination.starts_with("bin/") || destination.ends_with(".sh");
    };
    let mut words = interpreter.split_whitespace().map(name);
    words.any(|word| matches!(word, "sh" | "bash" | "dash" | "ksh"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(destination: &str) -> TemplateFile {
        TemplateFile {
            source: format!("{destination}.erb"),
            destination: destination.into(),
            text: String::new(),
            document_name: String::new(),
            executable: false,
        }
    }

    #[test]
    fn scripts_reach_what_they_name() {
        let texts = [
            ("bin/pre-start", "# see /setup-other\n$bin_dir/setup-kernel --now"),
            ("bin/setup-kernel", "source \"${dir}/lib.sh\""),
            ("bin/setup-other", ""),
            ("bin/app_ctl", "ulimit -n 1"),
            ("bin/app", "./lib.sh"),
            ("lib.sh", "/pre-start"),
        ];
        let files = texts.map(|(destination, _)| file(destination));
        let scripts: Vec<Script<'_>> = files
            .iter()
            .zip(texts)
            .map(|(file, (_, text))| Script { file, text })
            .collect();
        let names = |reached: Vec<bool>| {
            let all = scripts.iter().zip(reached).filter(|(_, is_reached)| *is_reached);
            all.map(|(script, _)| script.file.destination.as_str())
                .collect::<Vec<_>>()
        };
        let pre_start = reached(&scripts, &[PRE_START], &[]);
        assert_eq!(names(pre_start), ["bin/pre-start", "bin/setup-kernel", "lib.sh"]);
        let bpm = "processes:\n- executable: \"/var/vcap/jobs/app/bin/app\"";
        assert_eq!(
            names(reached(&scripts, &[], &[bpm])),
            ["bin/pre-start", "bin/setup-kernel", "bin/app", "lib.sh"]
        );
        assert_eq!(names(reached(&scripts, &ENTRY_SCRIPTS, &[bpm])).len(), 4);
    }

    #[test]
    fn scripts_of_other_languages_are_none() {
        for (destination, text, expected) in [
            ("bin/a", "#!/bin/bash -e\n", true),
            ("bin/a", "\n\n#!/usr/bin/env bash", true),
            ("bin/a", "echo", true),
            ("lib/a.sh", "echo", true),
            ("config/a", "#!/bin/sh", true),
            ("config/a", "echo", false),
            ("bin/a", "#!/usr/bin/env ruby", false),
            ("bin/a", "#!/usr/bin/python3 -u", false),
        ] {
            let file = file(destination);
            assert_eq!(is_shell(&Script { file: &file, text }), expected, "{text}");
        }
    }
}
