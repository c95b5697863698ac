//! Users and groups of an image: `/etc/passwd` and `/etc/group` of the topmost layer that has them, with vcap where it
//! is missing.

use crate::codes;
use boson_oci::Layer;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::paths::clean;
use boson_releases::{Budget, Item, Kind, Limits, each_until};
use std::io::Read;
use std::ops::ControlFlow;

/// The largest file of accounts, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// User and group id of vcap.
const VCAP_ID: &str = "1000";
const ROOT_USER: &str = "root:x:0:0:root:/root:/bin/sh";
const ROOT_GROUP: &str = "root:x:0:";
const VCAP_USER: &str = "vcap:x:1000:1000:BOSH System User:/home/vcap:/bin/bash";
const VCAP_GROUP: &str = "vcap:x:1000:";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Found {
    /// No layer so far has or deletes it.
    #[default]
    Unknown,
    /// It is deleted, or is not a regular file.
    Absent,
    Content(String),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Accounts {
    passwd: Found,
    group: Found,
}

// === impl Accounts ===

impl Accounts {
    /// Finds them in the layers of the image `name`.
    pub(crate) fn find(name: &str, layers: &[Layer]) -> Result<Self, Diagnostic> {
        let budget = Budget::new(Limits::scanning(64 << 30));
        let mut known = Self::default();
        for layer in layers.iter().rev() {
            if known.passwd != Found::Unknown && known.group != Found::Unknown {
                break;
            }
            let title = format!("{name}:{}", layer.digest);
            let mut here = Self::default();
            let mut hidden = [false; 2];
            // A path is in a layer once, and a stemcell's layer takes a second to unpack.
            each_until(
                &title,
                layer.content.reader(),
                &budget,
                &mut |_| {},
                &mut |item, data| {
                    let path = clean(item.path.trim_start_matches('/')).unwrap_or_default();
                    match path.as_str() {
                        "etc/passwd" => here.passwd = content(item, data),
                        "etc/group" => here.group = content(item, data),
                        "etc/.wh.passwd" => hidden[0] = true,
                        "etc/.wh.group" => hidden[1] = true,
                        "etc/.wh..wh..opq" | ".wh.etc" | ".wh..wh..opq" => hidden = [true; 2],
                        _ => {}
                    }
                    let is_found = |above: &Found, here: &Found| *above != Found::Unknown || *here != Found::Unknown;
                    let all = is_found(&known.passwd, &here.passwd) && is_found(&known.group, &here.group);
                    Ok(if all {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    })
                },
            )?;
            known.passwd.add_below(here.passwd, hidden[0]);
            known.group.add_below(here.group, hidden[1]);
        }
        Ok(known)
    }

    /// `/etc/passwd` with vcap added; `None` if the image already has vcap.
    pub(crate) fn passwd(&self) -> Option<String> {
        add_line(self.passwd.content(), ROOT_USER, VCAP_USER)
    }

    /// `/etc/group` with vcap added; `None` if the image already has vcap.
    pub(crate) fn group(&self) -> Option<String> {
        add_line(self.group.content(), ROOT_GROUP, VCAP_GROUP)
    }

    /// Warns of a vcap with another id: processes in pods run as 1000.
    pub(crate) fn warnings(&self, name: &str) -> Vec<Diagnostic> {
        let other = |content: Option<&str>| {
            let id = content.and_then(vcap_id)?;
            (id != VCAP_ID).then(|| id.to_owned())
        };
        let found = [
            (other(self.passwd.content()), "user"),
            (other(self.group.content()), "group"),
        ];
        let reported = found.into_iter().filter_map(|(id, what)| {
            let message = format!(
                "{what} vcap of the stemcell image '{name}' has the ID {}, not {VCAP_ID}",
                id?
            );
            let warning = Diagnostic::warning(codes::IMAGE_VCAP, message);
            Some(warning.help("processes run as 1000 unless quarks.run.security_context sets another ID"))
        });
        reported.collect()
    }
}

// === impl Found ===

impl Found {
    fn content(&self) -> Option<&str> {
        match self {
            Self::Content(text) => Some(text),
            Self::Unknown | Self::Absent => None,
        }
    }

    /// Adds the state in the next lower layer, which may delete the files of layers below it.
    fn add_below(&mut self, lower: Self, hides: bool) {
        if *self == Self::Unknown {
            *self = match (lower, hides) {
                (Self::Unknown, true) => Self::Absent,
                (lower, _) => lower,
            };
        }
    }
}

fn content(item: &Item, data: &mut dyn Read) -> Found {
    let mut text = String::new();
    let is_file = matches!(item.kind, Kind::File { .. }) && item.size <= MAX_FILE_BYTES;
    if is_file && data.take(MAX_FILE_BYTES).read_to_string(&mut text).is_ok() {
        Found::Content(text)
    } else {
        Found::Absent
    }
}

fn add_line(content: Option<&str>, first: &str, line: &str) -> Option<String> {
    match content {
        Some(text) if vcap_id(text).is_some() => None,
        Some(text) if text.is_empty() || text.ends_with('\n') => Some(format!("{text}{line}\n")),
        Some(text) => Some(format!("{text}\n{line}\n")),
        None => Some(format!("{first}\n{line}\n")),
    }
}

/// The id of vcap, the third field in both files.
fn vcap_id(content: &str) -> Option<&str> {
    let line = content.lines().find(|line| line.starts_with("vcap:"))?;
    line.split(':').nth(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topmost_layer_that_says_something_counts() {
        let text = |text: &str| Found::Content(text.into());
        for (layers, expected) in [
            (
                vec![(Found::Unknown, false), (text("a"), false), (text("b"), false)],
                text("a"),
            ),
            (vec![(Found::Unknown, true), (text("b"), false)], Found::Absent),
            // A layer deletes only files of lower layers.
            (vec![(text("a"), true), (text("b"), false)], text("a")),
            (vec![(Found::Absent, false), (text("b"), false)], Found::Absent),
        ] {
            let mut known = Found::Unknown;
            for (here, hides) in layers {
                known.add_below(here, hides);
            }
            assert_eq!(known, expected);
        }
    }

    #[test]
    fn vcap_is_added_where_it_is_missing() {
        let of = |content: Option<&str>| add_line(content, ROOT_USER, VCAP_USER);
        assert_eq!(of(Some("root:x:0:0\nvcap:x:1000:1000:::\n")), None);
        assert_eq!(of(Some("a:x:1:1")).unwrap(), format!("a:x:1:1\n{VCAP_USER}\n"));
        assert_eq!(of(None).unwrap(), format!("{ROOT_USER}\n{VCAP_USER}\n"));
        let accounts = Accounts {
            passwd: Found::Content("vcap:x:7:7:::\n".into()),
            group: Found::Content("vcap:x:1000:\n".into()),
        };
        assert_eq!(accounts.warnings("b").len(), 1);
    }

    /// A layer with these files, whose last one lacks its content.
    fn truncated(paths: &[&str]) -> Layer {
        let mut archive = tar::Builder::new(tempfile::tempfile().unwrap());
        for path in paths {
            let content = "root:x:0:0\n";
            let mut header = boson_oci::header(tar::EntryType::Regular, 0o644, content.len() as u64);
            archive.append_data(&mut header, path, content.as_bytes()).unwrap();
        }
        let file = archive.into_inner().unwrap();
        // A header and a block for each.
        file.set_len(paths.len() as u64 * 1024 - 512).unwrap();
        Layer {
            media_type: boson_oci::MediaType::ImageLayer,
            digest: boson_oci::digest(b"packed"),
            diff_id: boson_oci::digest(b"plain"),
            content: boson_oci::Section::of(file).unwrap(),
        }
    }

    #[test]
    fn a_layer_is_read_until_both_files_are_found() {
        let lower = [truncated(&["bin/sh", "lib/a"])];
        assert!(Accounts::find("b", &lower).is_err());
        let both = truncated(&["etc/passwd", "etc/group", "lib/a", "lib/b"]);
        let found = Accounts::find("b", &[lower[0].clone(), both]).unwrap();
        assert_eq!(found.group, Found::Content("root:x:0:0\n".into()));
        let one = truncated(&["etc/passwd", "lib/a", "lib/b"]);
        assert!(Accounts::find("b", &[one]).is_err());
    }
}
