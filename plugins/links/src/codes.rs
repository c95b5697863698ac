//! The diagnostics of this stage: one table of codes.

use boson_manifest::{addons, group, members, release};

boson_document::codes! {
    WRONG_TYPE = "links-wrong-type", "A value has the wrong type",
        "Groups, jobs and addons are maps in lists, names are strings (numbers are converted), and `instances` is an \
         integer. An explicit null is a value of the wrong type, not a missing key.";
    MISSING_KEY = "links-missing-key", "A required key is missing",
        "An instance group needs `name`, `instances` and `jobs`; a job needs `name` and `release`; a release needs `name` and `version`; an addon \
         needs `name`.";
    NAME = "links-name", "A name cannot be part of a DNS name",
        "Addresses of instances contain the names of the deployment and the instance group in canonical form: lower \
         case, `-` in place of `_`, and only letters, digits and `-`. They must not begin or end with `-`, and must \
         fit into a Kubernetes address. A group `web-1` conflicts with a group `web` of two instances, because the \
         second instance has a Service of that name.";
    DUPLICATE_NAME = "links-duplicate-name", "Two names are equal",
        "Names of releases must be unique, and so must names of instance groups in canonical form (`a_b` equals \
         `a-b`).";
    ZONES = "links-zones", "The list of availability zones is invalid",
        "`azs` is a list of at least one name, without duplicates. For a group without zones, omit the key `azs`.";
    UNKNOWN_RELEASE = "links-unknown-release", "A job's release is not listed",
        "Each job names its release, which must have an entry in the top-level list `releases`.";
    UNKNOWN_JOB = "links-unknown-job", "The release has no such job",
        "The release has no job with that name, or no source of the release was given. `host convert` reads a \
         release from a source directory, a tarball or an image layout: `--release`.";
    COLOCATED_JOB = "links-colocated-job", "Two jobs of a group have the same name",
        "The jobs of an instance group share `/var/vcap/jobs`, so their names must differ, even if they belong to \
         different releases. An addon adds its jobs to each group that its filters match: exclude the group, or \
         remove the job from it.";
    JOB_SPEC = "links-job-spec", "A job's spec file is invalid",
        "The `spec` file of a job (`job.MF` in a tarball) violates the rules that the BOSH director checks on \
         upload: `provides` and `consumes` are lists of maps with `name` and `type`, names are unique, and \
         `properties` is a map.";
    ADDON_FILTER = "links-addon-filter", "An addon's include or exclude is invalid",
        "Filters have lists under `instance_groups`, `jobs` (`name` and `release`), `stemcell` (`os`), `networks` \
         and `azs`, and a string under `lifecycle`. `deployments` is valid in runtime configs only.";
    ADDON_RELEASE = "links-addon-release", "An addon's job belongs to a release that is not listed",
        "Each release of an addon's jobs needs an entry in the top-level list `releases`.";
    ADDON_NOWHERE = "links-addon-nowhere", "An addon applies to no instance group",
        "The addon's `include` matches no group of the deployment, or its `exclude` matches all of them. BOSH \
         ignores this silently. Most often, a name in a filter is misspelt: an operating system, or the release of a \
         job.";
    PROPERTY_TYPE = "links-property-type", "A property has a value where a map is expected",
        "The job's spec declares a property `a.b`, so `a` must be a map, but the manifest (or the default value of \
         `a` in the spec) has another value.";
    UNUSED_PROPERTY = "links-unused-property", "The job does not declare a property",
        "Templates get only properties that the job's spec declares. The name may be misspelt, or belong to another \
         version of the release.";
    UNKNOWN_LINK = "links-unknown-link", "The job has no such link",
        "The manifest configures a link under `consumes` or `provides` that the job's spec does not contain. It has \
         no effect.";
    DECLARATION = "links-declaration", "A link is configured incorrectly in the manifest",
        "Each link under `consumes` and `provides` is a map or the string `nil`. `name` and `type` are set by the \
         release. A manual link has `instances`, and optionally `properties` and `address`, but no `from`.";
    CUSTOM_PROVIDER = "links-custom-provider", "A custom provider is invalid",
        "An entry of `custom_provider_definitions` has a `name` and a `type`, both non-empty strings. The name must \
         be unique, and must differ from those that the job of the release provides.";
    PROVIDED_PROPERTY = "links-provided-property", "A link provides a property that the job does not have",
        "Each property that a provider lists must be declared in `properties` of the job's spec, or set in the \
         manifest.";
    UNKNOWN_DEPLOYMENT = "links-unknown-deployment", "A link to a deployment that does not exist",
        "`consumes: {link: {from: name, deployment: d}}` takes the link from deployment `d` of the same namespace, which \
         provides it with `provides: {link: {as: name, shared: true}}`. In a cluster, the deployment continues \
         automatically when the other one exists. `host convert` knows those whose objects `--native` has: the output of \
         `host convert` for the other deployment, or its Secrets from a cluster. Or write `instances`, `properties` and \
         `address` of the link to the manifest.";
    FAILED = "links-failed", "Some links of the deployment cannot be resolved",
        "The conversion resolves all links of a deployment first. This list contains each link that cannot be \
         resolved, in the words of the BOSH director. Each error is also reported separately, with its place and a \
         fix.";
    UNRESOLVED = "links-unresolved", "The link has no provider",
        "A job consumes a link of some type. Without an entry in `consumes`, any provider of that type in the \
         deployment matches. With an entry, the name of the provider (or its name in `as`) must equal `from`. A native \
         Secret or Service provides a link with annotations (see `docs/links.md`), and matches by the same rules; the \
         deployment continues automatically when it exists. `nil` disables the link, which is allowed for optional \
         links only.";
    AMBIGUOUS = "links-ambiguous", "Several providers of the link",
        "If several providers have the type of the link, set `from: name` in the consumer, as in BOSH. Providers \
         with the same name get other names with `provides: {link: {as: name}}`. Links of native workloads count like \
         those of jobs. This also applies to optional links.";
    ERRAND = "links-errand", "An errand provides a link with addresses",
        "In Kubernetes, the instances of an errand are pods of a Job, which exist only while the errand runs. They \
         have no Services, so the addresses of the link do not resolve. Its properties have an effect.";
    UNUSED_KEY = "links-unused-key", "A key of a link or addon has no effect",
        "In Kubernetes an instance has one address, that of its Service. So `network` and `ip_addresses` of a \
         consumed link have no effect. Other keys are unknown to BOSH, too.";
    GIVEN_DATA = "links-given-data", "The manifest contains data that the conversion computes",
        "The job property `quarks` (older name `bosh_containerization`) may contain `consumes` with the data of \
         links, which replaces links of the deployment. `instances` and `release` are always computed. If both names \
         of the property exist, `quarks` wins.";
    LIMIT = "links-limit", "The deployment is too large",
        "The number of instances, jobs or bytes of link data exceeds the limit of a conversion. The limits are far \
         above what Kubernetes can run in one namespace: check `instances` first.";
    TOO_DEEP = "links-too-deep", "The document would be nested too deeply",
        "Documents may be nested 128 levels deep. A property or the data of a link exceeds this at its place in the \
         resolved group.";
    MALFORMED_DOCUMENT = "links-malformed-document", "The plugin received a document that is not JSON",
        "The document or a job's spec is not JSON as the contract defines it. This is a defect of the program that \
         called the plugin.";
    NO_DEPLOYMENT = "links-no-deployment", "The call names no deployment",
        "This stage needs the name and the namespace of the deployment, in the `context` of the call. This is a defect \
         of the program that called the plugin: in the input of `host run-plugin`, set `context.deployment`.";
    REQUIRED_MEMBER = "links-required-member", "The plugin does not know a member of the request",
        "The host of a later version sends data that the plugin must not ignore. Replace the plugin by one for this \
         version of the host.";
}

/// The codes of the type check.
pub const MEMBERS: &members::Codes = &members::Codes {
    wrong_type: WRONG_TYPE,
    missing_key: MISSING_KEY,
};

/// The codes of releases.
pub const RELEASES: &release::Codes = &release::Codes {
    members: MEMBERS,
    duplicate: DUPLICATE_NAME,
};

/// The codes of instance groups.
pub const GROUPS: &group::Codes = &group::Codes {
    members: MEMBERS,
    instances: WRONG_TYPE,
    zones: ZONES,
};

/// The codes of addons.
pub const ADDONS: &addons::Codes = &addons::Codes {
    members: MEMBERS,
    filter: ADDON_FILTER,
    unused_key: UNUSED_KEY,
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
