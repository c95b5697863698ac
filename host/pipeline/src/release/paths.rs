//! Paths inside a release, and the names that users know for its files.

/// A path that leads out of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// Begins with `/`.
    Absolute,
    /// Has a component `..`.
    Climbs,
}

/// How the files of a release are named in diagnostics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Naming {
    /// `<path of the directory>/<file>`
    Directory(String),
    /// `<path of the archive>:jobs/<job>.tgz:<file in it>`
    Archive(String),
    /// `<path of the image>:/<file in it>`
    Image(String),
}

/// The path without `.` and empty components; `""` is the root.
///
/// # Errors
/// An absolute path, or one with a component `..`.
pub fn clean(path: &str) -> Result<String, PathError> {
    if path.starts_with('/') {
        return Err(PathError::Absolute);
    }
    let mut clean = String::with_capacity(path.len());
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            return Err(PathError::Climbs);
        }
        push(&mut clean, part);
    }
    Ok(clean)
}

/// Appends a component.
pub(super) fn push(path: &mut String, part: &str) {
    if !path.is_empty() {
        path.push('/');
    }
    path.push_str(part);
}

/// Length of the path of the parent.
pub(super) fn parent_length(path: &str) -> usize {
    path.rfind('/').unwrap_or(0)
}

// === impl Naming ===

impl Naming {
    /// The path that the user gave.
    pub fn source(&self) -> &str {
        match self {
            Self::Directory(source) | Self::Archive(source) | Self::Image(source) => source,
        }
    }

    /// The name of the file at `path`.
    pub fn document(&self, path: &str) -> String {
        match self {
            Self::Directory(source) => format!("{}/{path}", source.trim_end_matches('/')),
            Self::Image(source) => format!("{source}:/{path}"),
            Self::Archive(source) => match path.strip_prefix("jobs/").and_then(|rest| rest.split_once('/')) {
                Some((job, file)) => format!("{source}:jobs/{job}.tgz:{file}"),
                None => format!("{source}:{path}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_or_refused() {
        assert_eq!(clean("./a//b/./c/").as_deref(), Ok("a/b/c"));
        assert_eq!(clean("."), Ok(String::new()));
        assert_eq!(clean("/etc/passwd"), Err(PathError::Absolute));
        assert_eq!(clean("a/../../b"), Err(PathError::Climbs));
    }

    #[test]
    fn names_of_documents_hold_the_path_that_the_user_gave() {
        assert_eq!(
            Naming::Directory("../nats/".into()).document("jobs/n/spec"),
            "../nats/jobs/n/spec"
        );
        assert_eq!(
            Naming::Archive("n.tgz".into()).document("jobs/n/templates/a/b"),
            "n.tgz:jobs/n.tgz:templates/a/b"
        );
        assert_eq!(
            Naming::Archive("n.tgz".into()).document("release.MF"),
            "n.tgz:release.MF"
        );
        assert_eq!(
            Naming::Image("i".into()).document("var/vcap/jobs-src/n/job.MF"),
            "i:/var/vcap/jobs-src/n/job.MF"
        );
    }
}
