//! The namespace of a cluster that a command reads, with the permissions of the user.

use crate::table::TableArguments;
use anyhow::{Context, anyhow};
use boson_api::BoshDeployment;
use boson_cluster::client::{Cluster, Container, Error, ErrorKind, Kind};
use boson_commands::connection::ConnectionArguments;
use boson_commands::exit::ExitError;
use boson_manifest::labels;
use boson_manifest::names::Names;
use clap::Args;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;

/// Where deployments are.
#[derive(Args, Debug)]
pub struct PlaceArguments {
    /// Namespace of the deployment [default: that of the kubeconfig's context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    connection: ConnectionArguments,
}

/// Which deployment, and where.
#[derive(Args, Debug)]
pub struct DeploymentArguments {
    /// Name of the BOSHDeployment
    #[arg(short, long, value_name = "NAME")]
    deployment: String,
    #[command(flatten)]
    place: PlaceArguments,
}

/// The options of a command that prints tables about a deployment.
#[derive(Args, Debug)]
pub struct DeploymentTables {
    #[command(flatten)]
    pub deployment: DeploymentArguments,
    #[command(flatten)]
    pub table: TableArguments,
}

pub struct Access {
    pub cluster: Cluster,
    pub namespace: String,
}

pub struct Found {
    pub deployment: BoshDeployment,
    pub names: Names,
    /// Selector of its objects.
    pub selector: String,
}

// === impl PlaceArguments ===

impl PlaceArguments {
    /// Runs the calls of a command.
    ///
    /// # Errors
    /// There is no configuration of a connection, or the work fails.
    pub fn run<T>(&self, work: impl AsyncFnOnce(Access) -> anyhow::Result<T>) -> Result<T, ExitError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let done = runtime.block_on(async {
            let access = Access::connect(&self.connection, self.namespace.as_deref()).await?;
            work(access).await
        });
        Ok(done?)
    }
}

// === impl DeploymentArguments ===

impl DeploymentArguments {
    /// Runs the calls of a command about a deployment.
    ///
    /// # Errors
    /// As [`PlaceArguments::run`], or the deployment does not exist.
    pub fn run<T>(&self, work: impl AsyncFnOnce(Access, Found) -> anyhow::Result<T>) -> Result<T, ExitError> {
        self.place.run(async |access| {
            let found = access.deployment(&self.deployment).await?;
            work(access, found).await
        })
    }
}

// === impl Access ===

impl Access {
    /// A namespace of the cluster; without a name, that of the kubeconfig's context. Sends no request yet.
    ///
    /// # Errors
    /// There is no configuration of a connection.
    pub async fn connect(connection: &ConnectionArguments, namespace: Option<&str>) -> anyhow::Result<Self> {
        let (cluster, namespace) = connection.cluster(namespace).await?;
        Ok(Self { cluster, namespace })
    }

    /// A deployment.
    ///
    /// # Errors
    /// It does not exist, or cannot be read.
    pub async fn deployment(&self, name: &str) -> anyhow::Result<Found> {
        let names = self.names(name)?;
        let found: Option<BoshDeployment> = self.get(name).await?;
        let namespace = &self.namespace;
        let deployment =
            found.with_context(|| format!("there is no BOSHDeployment '{name}' in namespace '{namespace}'"))?;
        Ok(Found {
            deployment,
            selector: format!("{}={}", labels::DEPLOYMENT_NAME, names.deployment()),
            names,
        })
    }

    /// The names of the objects of a deployment.
    ///
    /// # Errors
    /// No deployment can have this name.
    pub fn names(&self, deployment: &str) -> anyhow::Result<Names> {
        Ok(Names::new(deployment, &self.namespace, "")?)
    }

    /// An object; none if it does not exist.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn get<K: Kind>(&self, name: &str) -> anyhow::Result<Option<K>> {
        self.call(self.cluster.get(&self.namespace, name)).await
    }

    /// All objects of a kind with these labels.
    ///
    /// # Errors
    /// They cannot be read.
    pub async fn list<K: Kind>(&self, selector: &str) -> anyhow::Result<Vec<K>> {
        self.call(self.cluster.list_in_pages(&self.namespace, selector)).await
    }

    /// The metadata of all objects of a kind.
    ///
    /// # Errors
    /// They cannot be read.
    pub async fn metadata<K: Kind>(&self) -> anyhow::Result<Vec<ObjectMeta>> {
        self.call(self.cluster.list_metadata::<K>(&self.namespace, "")).await
    }

    /// A call of the API server, with the error for the user of a command.
    ///
    /// # Errors
    /// It fails: see [`Access::explain`].
    pub async fn call<T>(&self, call: impl Future<Output = Result<T, Error>>) -> anyhow::Result<T> {
        call.await.map_err(|error| self.explain(error))
    }

    /// A container of a pod of the namespace.
    pub fn container<'c>(&'c self, pod: &'c str, name: &'c str) -> Container<'c> {
        Container {
            namespace: &self.namespace,
            pod,
            name,
        }
    }

    /// The user of the connection; none if the API server does not tell.
    pub async fn user(&self) -> Option<String> {
        let api: Api<SelfSubjectReview> = Api::all(self.cluster.client());
        let review = api.create(&PostParams::default(), &SelfSubjectReview::default()).await;
        review.ok()?.status?.user_info?.username
    }

    /// What a call has found. Without the permission for it, none, and a note that begins with `what`.
    ///
    /// # Errors
    /// It has failed for another reason.
    pub fn unless_forbidden<T>(
        &self,
        found: Result<T, Error>,
        notes: &mut Vec<String>,
        what: impl FnOnce(&Error) -> String,
    ) -> anyhow::Result<Option<T>> {
        match found {
            Err(error) if error.kind == ErrorKind::Forbidden => {
                let why = forbidden_message(&error, &self.namespace);
                notes.push(format!("{}: {why}", what(&error)));
                Ok(None)
            }
            found => found.map(Some).map_err(|error| self.explain(error)),
        }
    }

    /// The error for the user of a command: the text of the client is about the operator and its roles.
    pub fn explain(&self, error: Error) -> anyhow::Error {
        if error.kind == ErrorKind::Forbidden {
            return anyhow!(forbidden_message(&error, &self.namespace));
        }
        error.into()
    }
}

/// What to change if a permission is missing. An invalid token is answered in the same way.
pub fn forbidden_message(error: &Error, namespace: &str) -> String {
    let Error { verb, resource, .. } = error;
    format!(
        "you may not {verb} {resource} in namespace '{namespace}': this needs a Role with the verb '{verb}' for '{resource}' \
         that is bound to you, and a valid login"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Pod;

    #[test]
    fn a_forbidden_list_names_the_permission() {
        let mut error = Error::missing::<Pod>("");
        error.verb = "list";
        error.kind = ErrorKind::Forbidden;
        assert_eq!(
            forbidden_message(&error, "messaging"),
            "you may not list pods in namespace 'messaging': this needs a Role with the verb 'list' for 'pods' that is \
             bound to you, and a valid login"
        );
    }
}
