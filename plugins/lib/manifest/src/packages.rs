//! Packages in containers: where they are, those that scripts write to, and `sharePackages` of a job or an instance
//! group, which selects those of other releases.

use boson_document::Tree;

/// Directory of packages, in images and in the containers of jobs.
pub const PACKAGES: &str = "/var/vcap/packages";

/// Where it is: in the job property `quarks`, and in the settings of a group.
pub const SHARE_PACKAGES: &str = "sharePackages";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SharePackages<'a> {
    /// Those that files of the job name.
    #[default]
    Referenced,
    /// Those of all jobs of the group, as on a VM.
    All,
    None,
    /// Those with these names.
    Listed(Vec<&'a str>),
}

// === impl SharePackages ===

impl<'a> SharePackages<'a> {
    /// `None` if the value is none of them.
    pub fn read(value: &'a Tree) -> Option<Self> {
        match value {
            Tree::Null => Some(Self::default()),
            Tree::String(word) => match word.as_str() {
                "referenced" => Some(Self::Referenced),
                "all" => Some(Self::All),
                "none" => Some(Self::None),
                _ => None,
            },
            Tree::Array(names) => names.iter().map(Tree::as_str).collect::<Option<_>>().map(Self::Listed),
            _ => None,
        }
    }

    /// That of a job. `quarks`: its property; `settings`: of its group. A wrong value counts as missing: the bpm stage
    /// reports it.
    pub fn of_job(quarks: Option<&'a Tree>, settings: Option<&'a Tree>) -> Self {
        let given = given(quarks).or_else(|| given(settings));
        given.and_then(Self::read).unwrap_or_default()
    }
}

/// Names of the packages that scripts of a job may write to. `quarks`: its property.
pub fn writable(quarks: Option<&Tree>) -> impl Iterator<Item = &str> {
    let run = quarks.and_then(|quarks| quarks.get("run"));
    run.into_iter().flat_map(|run| run.texts("writable_packages"))
}

/// The value in a property `quarks`, or in the settings of a group.
pub fn given(tree: Option<&Tree>) -> Option<&Tree> {
    tree?.get(SHARE_PACKAGES).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn a_job_has_its_own_value_else_that_of_its_group() {
        let parse = |text: &str| json::parse(text).unwrap_or_default();
        let of = |quarks: &str, settings: &str| {
            let (quarks, settings) = (parse(quarks), parse(settings));
            format!("{:?}", SharePackages::of_job(Some(&quarks), Some(&settings)))
        };
        let (all, list) = (r#"{"sharePackages": "all"}"#, r#"{"sharePackages": ["a", "b"]}"#);
        assert_eq!(of("{}", "{}"), "Referenced");
        assert_eq!(of("{}", all), "All");
        assert_eq!(of(list, all), r#"Listed(["a", "b"])"#);
        assert_eq!(of(r#"{"sharePackages": "none"}"#, list), "None");
        assert_eq!(of(r#"{"sharePackages": null}"#, list), r#"Listed(["a", "b"])"#);
        for wrong in ["1", "\"a\"", "[1]", "{}", "true"] {
            assert_eq!(SharePackages::read(&parse(wrong)), None, "{wrong}");
        }
    }
}
