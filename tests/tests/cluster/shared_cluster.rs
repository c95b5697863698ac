//! The shared cluster, by kube's client, with our definitions in it.

use boson_cluster::client::{Connection, connect};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::client::retry::RetryPolicy;
use kube::core::{ApiResource, GroupVersionKind};
use serde::Deserialize;
use serde_json::Value;
use tower::BoxError;
use tower::retry::Retry;

pub struct SharedCluster {
    pub client: Client,
}

impl SharedCluster {
    pub async fn find() -> Self {
        let client = retrying(connect(&connection()).await.unwrap());
        boson_tests::cluster::shared().unwrap().define().unwrap();
        Self { client }
    }

    /// The API server's answer to this object, with strict validation.
    pub async fn try_out(&self, object: &Value) -> Result<(), String> {
        let (group, version) = object["apiVersion"]
            .as_str()
            .unwrap()
            .split_once('/')
            .unwrap_or(("", object["apiVersion"].as_str().unwrap()));
        let kind = GroupVersionKind::gvk(group, version, object["kind"].as_str().unwrap());
        let resource = ApiResource::from_gvk(&kind);
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &resource);
        let parameters = PatchParams::apply("boson-test").force().dry_run().validation_strict();
        let name = object["metadata"]["name"].as_str().unwrap();
        let result = api.patch(name, &parameters, &Patch::Apply(object)).await;
        result.map(|_| ()).map_err(|error| error.to_string())
    }
}

/// A client that repeats a request which the API server is not ready for: for a moment after each change of a
/// CustomResourceDefinition, in any test, it answers requests of that kind with 429.
fn retrying(client: Client) -> Client {
    let send = tower::service_fn(move |request| {
        let client = client.clone();
        async move { client.send(request).await.map_err(BoxError::from) }
    });
    Client::new(Retry::new(RetryPolicy::server_retry(), send), "default")
}

/// Connection settings of the shared cluster.
pub fn connection() -> Connection {
    Connection::File {
        path: Some(boson_tests::cluster::shared().unwrap().kubeconfig()),
        context: None,
    }
}

/// Name and text of each file.
pub fn folder(name: &str) -> Vec<(String, String)> {
    let folder = boson_tests::root().join("tests/cluster").join(name);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: std::path::PathBuf| (path.display().to_string(), std::fs::read_to_string(path).unwrap());
    files.map(named).collect()
}

pub fn documents(text: &str) -> Vec<Value> {
    serde_yaml::Deserializer::from_str(text)
        .map(|document| Value::deserialize(document).unwrap())
        .collect()
}
