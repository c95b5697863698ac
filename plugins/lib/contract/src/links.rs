//! `wit/links`.

use crate::types::{Deployment, Named};
use boson_document::Tree;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A job of a release.
#[derive(Clone, Debug)]
pub struct JobSpec<'a> {
    /// Name of the release.
    pub release: Cow<'a, str>,
    /// Name of the job: the directory's.
    pub job: Cow<'a, str>,
    /// The job's `spec` (or `job.MF`) file.
    pub spec: Cow<'a, Tree>,
    /// Name of the spec's document, for diagnostics.
    pub document_name: Cow<'a, str>,
}

/// A link from outside of the deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalLink {
    /// Name under which consumers find it.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// What provides it, for messages: `Secret 'db' and Service 'postgres'`.
    pub origin: String,
    /// The link as templates get it.
    pub content: Tree,
}

/// Another deployment of the namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtherDeployment {
    /// Name of the deployment.
    pub name: String,
    /// The links that it shares.
    pub links: Vec<ExternalLink>,
}

/// All links from outside of the deployment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct External {
    /// Those that native workloads provide to the deployment. They match like those of its own jobs.
    pub native: Vec<ExternalLink>,
    /// The existing deployments that its links may name.
    pub deployments: Vec<OtherDeployment>,
}

/// Request of both functions.
#[derive(Clone, Copy, Debug)]
pub struct LinksRequest<'a> {
    /// The manifest. `resolve` gets it with its values, `addresses` with its placeholders.
    pub manifest: Named<'a>,
    /// The deployment and its target.
    pub deployment: &'a Deployment,
    /// The jobs of all releases.
    pub jobs: &'a [JobSpec<'a>],
    /// The links from outside of the deployment.
    pub external: &'a External,
}

/// A group with all that rendering and conversion need.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedGroup {
    /// Name of the group.
    pub name: String,
    /// The ig-resolved document.
    pub document: Tree,
}

/// A link that a job provides.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// Name, `as` considered.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// Instance group.
    pub group: String,
    /// Job of the group.
    pub job: String,
    /// The exposed properties.
    pub properties: Tree,
    /// The link as templates of other deployments get it, if it is shared.
    pub shared: Option<Tree>,
}

/// Reply of links.resolve.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// In the order of the manifest.
    pub groups: Vec<ResolvedGroup>,
    /// All links that jobs provide, without those set to `nil`.
    pub providers: Vec<Provider>,
}

/// Reply of links.addresses: addresses of the links that variables consume, by the variable's name.
pub type Addresses = BTreeMap<String, Consumed>;

/// Addresses of the links that one variable consumes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consumed {
    /// Of the link `alternative_name`, to append to the option `alternative_names`.
    pub alternative_names: Vec<String>,
    /// Of the link `common_name`: the option `common_name`, if that is not set.
    pub common_name: Option<String>,
}

// === impl ExternalLink ===

impl ExternalLink {
    /// How many instances it has.
    pub fn instances(&self) -> usize {
        self.content.items("instances").len()
    }

    /// The address of all instances together.
    pub fn address(&self) -> Option<&str> {
        self.content.str("address")
    }

    /// The address of each instance.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let instances = self.content.items("instances").iter();
        instances.filter_map(|instance| instance.str("address"))
    }
}

// === impl External ===

impl External {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.native.is_empty() && self.deployments.is_empty()
    }

    /// Names of the other deployments.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.deployments.iter().map(|one| one.name.as_str())
    }

    /// The links of another deployment; `None` if it does not exist.
    pub fn of_deployment(&self, name: &str) -> Option<&[ExternalLink]> {
        let found = self.deployments.iter().find(|one| one.name == name)?;
        Some(&found.links)
    }
}

/// [Converts](crate::bindings) the records of this module to those of generated bindings, and back.
#[macro_export]
macro_rules! links_records {
    ($wit:ident) => {
        $crate::record!($crate::links::JobSpec<'_>, $wit::JobSpec { release, job, spec, document_name } + more);
        $crate::record!(
            $crate::links::ExternalLink,
            $wit::ExternalLink { name, origin; kind = type_; content = link } + more
        );
        $crate::record!($crate::links::OtherDeployment, $wit::OtherDeployment { name, links } + more);
        $crate::record!($crate::links::ResolvedGroup, $wit::ResolvedGroup { name, document } + more);
        $crate::record!(
            $crate::links::Provider,
            $wit::Provider { name, group, job, properties, shared; kind = type_ } + more
        );
    };
}
