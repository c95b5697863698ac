//! The paths of packages and of other jobs' files that a text names.

use crate::release::is_identifier;
use std::collections::{BTreeMap, BTreeSet};

/// Above the directories of packages and jobs.
const VCAP_ROOT: &str = "/var/vcap/";
/// Key of JSON and YAML documents, as in the property `cc.install_buildpacks`.
const PACKAGE_KEY: &str = "package";

/// What a job's files name, by their destinations. What its property `quarks` names is that of the file `""`.
pub(super) type MentionsByFile = BTreeMap<String, Mentions>;

/// What a text names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mentions {
    /// Names of packages: `cli` for `/var/vcap/packages/cli/bin/cf`.
    pub packages: BTreeSet<String>,
    /// What may be names of packages: values of keys `package`, by which a program finds `/var/vcap/packages/<value>`.
    pub values: BTreeSet<String>,
    /// Files and directories of jobs: `web/bin/check` for `/var/vcap/jobs/web/bin/check`.
    pub of_jobs: BTreeSet<String>,
}

// === impl Mentions ===

impl Mentions {
    /// Of a text. Comments that begin with `#` do not count. A name that a script computes is not found.
    pub fn of(text: &str) -> Self {
        let mut found = Self::default();
        for line in text.lines().filter(|line| !is_comment(line)) {
            let keys = line.match_indices(PACKAGE_KEY);
            let values = keys.filter_map(|(at, _)| value(&line[at + PACKAGE_KEY.len()..]));
            found.values.extend(values.map(str::to_string));
            for (at, _) in line.match_indices(VCAP_ROOT) {
                let (before, path) = (&line[..at], &line[at + VCAP_ROOT.len()..]);
                if continues(before) {
                    continue;
                }
                if let Some(path) = path.strip_prefix("packages/") {
                    found.packages.extend(first_name(path).map(str::to_string));
                } else if let Some(name) = package_of_job(path) {
                    found.packages.insert(name.to_string());
                } else if let Some(path) = path.strip_prefix("jobs/") {
                    found.of_jobs.extend(known_path(path).map(str::to_string));
                }
            }
        }
        found
    }

    pub fn is_empty(&self) -> bool {
        self.packages.is_empty() && self.values.is_empty() && self.of_jobs.is_empty()
    }

    pub fn extend(&mut self, other: Self) {
        self.packages.extend(other.packages);
        self.values.extend(other.values);
        self.of_jobs.extend(other.of_jobs);
    }
}

/// A first line that names an interpreter is no comment.
fn is_comment(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with('#') && !text.starts_with("#!")
}

/// Whether a path that begins after this text is the rest of another one: `/rootfs/var/vcap/..`, `${root}/var/vcap/..`.
fn continues(before: &str) -> bool {
    let mut last = before.chars().rev();
    let is_option = |before: &str| {
        let option = before.len().checked_sub(2).and_then(|at| before.get(at..));
        option.is_some_and(|option| matches!(option, "-I" | "-L"))
    };
    match last.next() {
        Some('}' | ')' | '.') => true,
        Some(c) => is_of_name(c) && !is_option(before),
        None => false,
    }
}

/// The first name of a path, if it is complete.
fn first_name(path: &str) -> Option<&str> {
    let end = path.find(|c| !is_of_name(c)).unwrap_or(path.len());
    if is_computed(&path[end..]) {
        return None;
    }
    let name = path[..end].trim_end_matches('.');
    is_identifier(name).then_some(name)
}

/// The package in a path `jobs/web/packages/cli/..`: the directory of each job has a link to the packages.
fn package_of_job(path: &str) -> Option<&str> {
    let (_, path) = path.strip_prefix("jobs/")?.split_once('/')?;
    first_name(path.strip_prefix("packages/")?)
}

/// The value that follows a key.
fn value(rest: &str) -> Option<&str> {
    let rest = unquoted(rest).trim_start().strip_prefix(':')?;
    first_name(unquoted(rest.trim_start()))
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix(['"', '\'']).unwrap_or(text)
}

/// A path up to where a script computes its rest.
fn known_path(path: &str) -> Option<&str> {
    let end = path.find(|c| !is_of_name(c) && c != '/').unwrap_or(path.len());
    let known = &path[..end];
    let known = if is_computed(&path[end..]) {
        known.rsplit_once('/')?.0
    } else {
        known
    };
    let known = known.trim_end_matches(['.', '/']);
    (!known.is_empty()).then_some(known)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_+.".contains(c)
}

/// Whether the rest begins with a variable or a pattern of a shell, Ruby, or a format.
fn is_computed(rest: &str) -> bool {
    rest.starts_with(['$', '*', '?', '[', '{', '#', '%', '<'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages(text: &str) -> Vec<String> {
        Mentions::of(text).packages.into_iter().collect()
    }

    fn of_jobs(text: &str) -> Vec<String> {
        Mentions::of(text).of_jobs.into_iter().collect()
    }

    #[test]
    fn packages_are_found_in_scripts_and_configurations() {
        for (text, expected) in [
            ("exec /var/vcap/packages/web/bin/web", vec!["web"]),
            ("/var/vcap/jobs/web/packages/yq-4/bin/yq", vec!["yq-4"]),
            (
                "PATH=/var/vcap/packages/a/bin:/var/vcap/packages/b-1.2_x/bin:$PATH",
                vec!["a", "b-1.2_x"],
            ),
            (
                "export CF=\"/var/vcap/packages/cf-cli-8-linux\"",
                vec!["cf-cli-8-linux"],
            ),
            (
                "{\"network_plugin\":\"/var/vcap/packages/runc-cni/bin/x\"}",
                vec!["runc-cni"],
            ),
            ("processes: [{executable: /var/vcap/packages/p/p}]", vec!["p"]),
            ("#!/var/vcap/packages/ruby-3.2/bin/ruby", vec!["ruby-3.2"]),
            (
                "cp -a /var/vcap/packages/x/. /tmp; echo see /var/vcap/packages/y.",
                vec!["x", "y"],
            ),
            ("ruby -I/var/vcap/packages/lib/lib", vec!["lib"]),
            ("start program = \\\"/var/vcap/packages/m/ctl\\\"\\n  stop", vec!["m"]),
        ] {
            assert_eq!(packages(text), expected, "{text}");
        }
    }

    #[test]
    fn computed_names_other_roots_and_comments_are_not() {
        for text in [
            "${PACKAGES}/web/bin/web",
            "PACKAGES=/var/vcap/packages; $PACKAGES/web",
            "ls /var/vcap/packages/*/bin /var/vcap/packages/{a,b}",
            "/var/vcap/packages/${name}/bin /var/vcap/packages/$name /var/vcap/packages/ruby-$v /var/vcap/packages/x*",
            "\"/var/vcap/packages/ruby-#{version}\" '/var/vcap/packages/%s' /var/vcap/packages/<name>",
            "/var/vcap/packages/ /var/vcap/packages",
            "$rootfs/var/vcap/packages/a ${root}/var/vcap/packages/b $(root)/var/vcap/packages/c ./var/vcap/packages/d",
            "/var/vcap/packages-src/a /var/vcap/data/packages/b",
            "  # uses /var/vcap/packages/a",
            "/var/vcap/packages/../jobs",
        ] {
            assert_eq!(packages(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn values_of_the_key_package_may_be_names() {
        for (text, expected) in [
            (
                "[{\"name\":\"a\",\"package\":\"a-buildpack\"},{\"package\": \"b\"}]",
                vec!["a-buildpack", "b"],
            ),
            ("- name: a\n  package: a-buildpack", vec!["a-buildpack"]),
            ("packages: [a]\npackage_name: b\npackage: $c\npackage = d", vec![]),
        ] {
            let found: Vec<String> = Mentions::of(text).values.into_iter().collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn paths_of_jobs_end_where_they_are_computed() {
        for (text, expected) in [
            ("script_path: /var/vcap/jobs/api/bin/check, x", vec!["api/bin/check"]),
            (
                "source /var/vcap/jobs/api/bin/lib-$x /var/vcap/jobs/api/",
                vec!["api", "api/bin"],
            ),
            (
                "/var/vcap/jobs/api-$x/bin /var/vcap/jobs/*/config /var/vcap/jobs/",
                vec![],
            ),
        ] {
            assert_eq!(of_jobs(text), expected, "{text}");
        }
    }
}
