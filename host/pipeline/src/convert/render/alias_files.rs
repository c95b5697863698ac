//! A job's `dns/aliases.json`: names of BOSH DNS that its templates define. In BOSH they apply to the instance that has
//! the file. Here one configuration serves the whole deployment, so the aliases of all instances are merged.

use crate::convert::codes;
use crate::diagnostic::Diagnostic;
use crate::release::Job;
use crate::stage::Rendered;
use boson_document::{Map, Tree, json};
use boson_manifest::dns::{ALIAS_FILE, alias_error};

/// Limit on the aliases of a job.
const MAX_ALIASES: usize = 5_000;

/// The alias file among the rendered files.
pub(super) fn find(files: &[Rendered], job: &Job) -> Option<Rendered> {
    let name = job.template_at(ALIAS_FILE)?;
    files.iter().find(|file| file.name == name).cloned()
}

/// Merges the files of all instances; the first definition of a domain wins. `None` if one of them cannot be read.
pub(super) fn read(files: &[Rendered], diagnostics: &mut Vec<Diagnostic>) -> Option<Tree> {
    let mut all = Map::new();
    for file in files {
        let found = match one(&file.content) {
            Ok(found) => found,
            Err(why) => {
                let message = format!("the file of aliases cannot be read: {why}");
                let error = Diagnostic::error(codes::CONVERT_DNS_ALIASES, message);
                diagnostics.push(error.in_document(&file.name));
                return None;
            }
        };
        for (domain, targets) in found {
            all.entry(domain).or_insert(targets);
        }
    }
    (!all.is_empty()).then_some(Tree::Object(all))
}

fn one(text: &str) -> Result<Map, String> {
    let document = json::parse(text).map_err(|_| "it is no JSON".to_string())?;
    let Tree::Object(map) = document else {
        return Err("it is not an object of domains".into());
    };
    if map.len() > MAX_ALIASES {
        return Err(format!("it has more than {MAX_ALIASES} aliases"));
    }
    for (domain, targets) in &map {
        let names = targets.as_array().map_or(&[][..], Vec::as_slice);
        let texts: Option<Vec<&str>> = names.iter().map(Tree::as_str).collect();
        let texts = texts.filter(|texts| !texts.is_empty());
        let texts = texts.ok_or_else(|| format!("the alias '{domain}' has no list of targets"))?;
        if let Some((name, error)) = [domain.as_str()]
            .into_iter()
            .chain(texts)
            .find_map(|name| Some((name, alias_error(name)?)))
        {
            return Err(format!("the name '{name}' {error}"));
        }
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> (Option<String>, Vec<String>) {
        let file = |text: &&str| Rendered {
            name: "j/dns/aliases.json".into(),
            content: text.to_string(),
        };
        let mut reported = Vec::new();
        let found = read(&texts.iter().map(file).collect::<Vec<_>>(), &mut reported);
        let reported = reported.into_iter().map(|one| one.message).collect();
        (found.map(|found| json::to_text(&found)), reported)
    }

    #[test]
    fn alias_files_of_all_instances_are_merged() {
        let (found, reported) = of(&[
            r#"{"a-0.s": ["x.y"], "all.s": ["x.y"]}"#,
            r#"{"a-1.s": ["x.z"], "all.s": ["z"]}"#,
        ]);
        assert_eq!(
            found.as_deref(),
            Some(r#"{"a-0.s":["x.y"],"all.s":["x.y"],"a-1.s":["x.z"]}"#)
        );
        assert!(reported.is_empty());
        assert_eq!(of(&["{}"]).0, None);
    }

    #[test]
    fn a_file_with_which_bosh_dns_would_not_start_is_an_error() {
        for (text, why) in [
            ("{", "it is no JSON"),
            ("[]", "it is not an object of domains"),
            (r#"{"a.b": []}"#, "the alias 'a.b' has no list of targets"),
            (r#"{"a.b": [1]}"#, "the alias 'a.b' has no list of targets"),
            (
                r#"{"a..b": ["c"]}"#,
                "the name 'a..b' has a label that is empty or longer than 63 characters",
            ),
        ] {
            let (found, reported) = of(&[text]);
            assert_eq!(
                (found, reported),
                (None, vec![format!("the file of aliases cannot be read: {why}")]),
                "{text}"
            );
        }
    }
}
