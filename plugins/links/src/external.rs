//! Links from outside of the deployment: those of native workloads, and those that other deployments share.

use boson_document::Tree;

/// A link from outside of the deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalLink {
    pub name: String,
    pub kind: String,
    /// What provides it, for messages.
    pub origin: String,
    /// The link as templates get it.
    pub content: Tree,
}

/// Another deployment of the namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtherDeployment {
    pub name: String,
    /// The links that it shares.
    pub links: Vec<ExternalLink>,
}

/// All links from outside of the deployment.
#[derive(Clone, Debug, Default)]
pub struct External {
    /// Those of native workloads, which match like those of the deployment's own jobs.
    pub native: Vec<ExternalLink>,
    /// The deployments that exist beside this one.
    pub deployments: Vec<OtherDeployment>,
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
