//! A document between two steps of a conversion, as its Secret stores it. Pure.

use crate::deployment::error::DeployError;
use boson_cluster::objects::versioned::Series;
use k8s_openapi::api::core::v1::Secret;

pub struct Stored {
    pub series: String,
    /// Name of the Secret.
    pub name: String,
    pub secret: Secret,
}

// === impl Stored ===

impl Stored {
    /// In this Secret.
    ///
    /// # Errors
    /// The Secret has no name: pods would mount another one.
    pub fn new(series: &Series, secret: Secret) -> Result<Self, DeployError> {
        let name = secret.metadata.name.clone().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| DeployError::defect(&format!("a version of {} has no name", series.name)))?;
        Ok(Self {
            series: series.name.clone(),
            name,
            secret,
        })
    }

    /// The text under a key.
    pub fn find(&self, key: &str) -> Option<&[u8]> {
        let data = self.secret.data.as_ref().and_then(|data| data.get(key));
        data.map(|bytes| bytes.0.as_slice())
    }

    /// The text under a key; empty if there is none.
    pub fn bytes(&self, key: &str) -> &[u8] {
        self.find(key).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

    #[test]
    fn a_version_without_a_name_is_a_defect() {
        let series = Series {
            name: "d.bpm.g".into(),
            namespace: "n".into(),
            labels: [].into(),
            owner: OwnerReference::default(),
        };
        let Err(DeployError::Invalid(problem)) = Stored::new(&series, Secret::default()) else {
            unreachable!("it has no name")
        };
        assert_eq!(problem.reason, "DeploymentDefect");
        assert!(
            problem.message.contains("a version of d.bpm.g has no name"),
            "{}",
            problem.message
        );
    }
}
