//! The deployment of the pod that a command runs in, for plugins.

use boson_sandbox::Plugins;
use clap::Args;

/// The deployment of the pod; a pod of an earlier version of the operator may not name it
#[derive(Args, Debug)]
pub struct OwnDeployment {
    /// Name of the deployment
    #[arg(long, value_name = "NAME", env = "BOSH_DEPLOYMENT_NAME")]
    deployment: Option<String>,
    /// Namespace of the deployment
    #[arg(long, value_name = "NAMESPACE", env = "POD_NAMESPACE")]
    namespace: Option<String>,
}

// === impl OwnDeployment ===

impl OwnDeployment {
    /// Makes the calls of these plugins for the deployment.
    pub fn set(&self, plugins: Plugins) -> Plugins {
        match (&self.deployment, &self.namespace) {
            (Some(name), Some(namespace)) => plugins.with_deployment(name, namespace),
            _ => plugins,
        }
    }
}
