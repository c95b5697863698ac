//! The diagnostics of this stage: one table of codes.

use boson_manifest::members::Codes;

boson_document::codes! {
    WRONG_TYPE = "links-wrong-type", "A value has another type than BOSH asks for",
        "Groups, jobs and addons are maps, lists of them are lists, names are strings (a number becomes one), `instances` is an integer. \
         An explicit null is a value of the wrong type, not an absent key.";
    MISSING_KEY = "links-missing-key", "A required key is missing",
        "An instance group needs `name`, `instances` and `jobs`; a job needs `name` and `release`; a release needs `name` and `version`; an addon \
         needs `name`.";
    NAME = "links-name", "A name cannot be a part of DNS names",
        "Addresses of instances hold the names of deployment and instance group in their canonical form: lower case, `_` as `-`, all but letters, \
         digits and `-` dropped. It must not begin or end with `-`, and must fit into a Kubernetes address. A group `web-1` cannot stand beside a group \
         `web` of two instances: the Service of the second would have its name.";
    DUPLICATE_NAME = "links-duplicate-name", "Two have the same name",
        "Releases have different names, and so do instance groups in their canonical form (`a_b` and `a-b` are one name).";
    ZONES = "links-zones", "The list of availability zones is wrong",
        "`azs` is a list of at least one name. A group without zones has no key `azs`. A zone is listed once.";
    UNKNOWN_RELEASE = "links-unknown-release", "A job's release is not listed",
        "Every job names the release it comes from, and the top-level list `releases` has an entry of that name.";
    UNKNOWN_JOB = "links-unknown-job", "The release has no such job",
        "The release was read, or no source of it was given, and there is no job of that name. `host convert` takes a release's source \
         directory, tarball or image layout with `--release`.";
    COLOCATED_JOB = "links-colocated-job", "Two jobs of a group have the same name",
        "The jobs of an instance group share `/var/vcap/jobs`, so their names differ, whichever release they come from. An addon adds its jobs to \
         all groups its filters match: exclude the group, or take the job out of it.";
    JOB_SPEC = "links-job-spec", "A job's spec file is wrong",
        "The `spec` file (`job.MF` in a tarball) of a release's job breaks the rules that the BOSH director checks on upload: `provides` and \
         `consumes` are lists of maps with `name` and `type`, names are used once, `properties` is a map.";
    ADDON_FILTER = "links-addon-filter", "An addon's include or exclude is wrong",
        "Filters take lists under `instance_groups`, `jobs` (`name` and `release`), `stemcell` (`os`), `networks` and `azs`, and a string under \
         `lifecycle`. `deployments` is for runtime configs only.";
    ADDON_RELEASE = "links-addon-release", "An addon's job is from a release that is not listed",
        "Every release that an addon's jobs come from has an entry in the top-level list `releases`.";
    ADDON_NOWHERE = "links-addon-nowhere", "An addon applies to no instance group",
        "No group of the deployment is matched by the addon's `include` (or all are by its `exclude`), so its jobs run nowhere. BOSH says nothing \
         of this. Most often a name in a filter is misspelt: an operating system, or a job's release.";
    PROPERTY_TYPE = "links-property-type", "A property has a value where a map must be",
        "The job's spec declares a property `a.b`, so `a` is a map, but the manifest (or the spec's default of `a`) has something else there.";
    UNUSED_PROPERTY = "links-unused-property", "A property that the job does not declare",
        "Templates only see properties that the job's spec declares. This one is not: it may be misspelt, or from another version of the release.";
    UNKNOWN_LINK = "links-unknown-link", "The job has no such link",
        "The manifest sets up a link under `consumes` or `provides` that the job's spec does not have. It has no effect.";
    DECLARATION = "links-declaration", "A link is set up wrongly in the manifest",
        "Under `consumes` and `provides` each link is a map or the string `nil`. `name` and `type` belong to the release. A manual link has \
         `instances` and perhaps `properties` and `address`, but no `from`.";
    CUSTOM_PROVIDER = "links-custom-provider", "A custom provider is wrong",
        "An entry of `custom_provider_definitions` has a `name` and a `type`, both strings that are not empty. The name is used once and is none \
         that the release's job provides already.";
    PROVIDED_PROPERTY = "links-provided-property", "A link provides a property that the job does not have",
        "Every property that a provider lists is declared in the `properties` of the job's spec, or given in the manifest.";
    UNKNOWN_DEPLOYMENT = "links-unknown-deployment", "A link to another deployment",
        "`consumes: {link: {deployment: d}}` asks for a provider of another deployment. One deployment is converted at a time, so there is no other \
         to look into. Give the link's data by hand instead: `instances`, `properties` and `address`.";
    FAILED = "links-failed", "Links of the deployment cannot be resolved",
        "All links of a deployment are looked for before anything is made, and every one that cannot be resolved is in this list, as the BOSH \
         director words it. Each is also reported separately, with its place and what to do.";
    UNRESOLVED = "links-unresolved", "The link has no provider",
        "A job consumes a link of some type. Without an entry in `consumes` any provider of that type in the deployment will do; with one, \
         its name (or the name `as` gives it) must be that of `from`. `nil` takes the link away, which only an optional one allows.";
    AMBIGUOUS = "links-ambiguous", "Several jobs provide the link",
        "BOSH never guesses: where several providers have the type, the consumer says `from: name`, and providers of the same name get \
         others with `provides: {link: {as: name}}`. This holds for optional links too.";
    UNUSED_KEY = "links-unused-key", "A key of a link or addon has no effect",
        "In Kubernetes an instance has one address, its Service's name. So `network` and `ip_addresses` of a consumed link choose nothing, \
         `shared` of a provided one shares with no other deployment. Other keys are unknown to BOSH too.";
    GIVEN_DATA = "links-given-data", "Data that is computed was given",
        "The job property `quarks` (older name `bosh_containerization`) may hold `consumes` with the data of links, which then stand in for \
         those of the deployment. `instances` and `release` are always computed. Where both names of the property are given, `quarks` wins.";
    LIMIT = "links-limit", "The deployment is too large",
        "The number of instances, jobs or bytes of link data is over what one conversion may produce. The numbers are far above what \
         Kubernetes can run in one namespace: look for a misplaced number of `instances` first.";
    TOO_DEEP = "links-too-deep", "The document would be nested too deep",
        "Documents may be nested 128 levels deep. A property or the data of a link, at its place in the resolved group, goes deeper.";
    MALFORMED_DOCUMENT = "links-malformed-document", "The plugin got no JSON document",
        "The document or a job's spec reached the plugin as text that is not JSON as the contract has it. This is an error in \
         the caller of the plugin; `host` never does it.";
}

/// The codes of the type check.
pub const MEMBERS: &Codes = &Codes {
    wrong_type: WRONG_TYPE,
    missing_key: MISSING_KEY,
};

#[cfg(test)]
mod tests {
    use super::ALL;
    use std::collections::HashSet;

    #[test]
    fn names_are_slugs_of_this_stage_and_unique() {
        let names: HashSet<_> = ALL.iter().map(|code| code.name).collect();
        assert_eq!(names.len(), ALL.len());
        for code in ALL {
            assert!(
                code.name.starts_with("links-") && !code.name.contains(' '),
                "{}",
                code.name
            );
            assert!(
                code.explanation.len() > 60 && !code.title.ends_with('.'),
                "{}",
                code.name
            );
        }
    }
}
