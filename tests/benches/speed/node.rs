//! A namespace of a cluster with a node, for the rows about pods.

use anyhow::{Context, Result, ensure};
use boson_tests::cluster::{Cluster, own_with_node};
use boson_tests::host;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// A cluster of its own, which ends with the group of rows: its daemons would disturb the others.
pub struct Place {
    pub cluster: Cluster,
    pub namespace: String,
}

// === impl Place ===

impl Place {
    /// `None` without root privileges.
    pub fn new(name: &str) -> Result<Option<Self>> {
        let Some(cluster) = own_with_node()? else {
            return Ok(None);
        };
        let namespace = cluster.namespace(name)?;
        let place = Self { cluster, namespace };
        place.kubectl(&["wait", "serviceaccount/default", "--for=create", "--timeout=60s"])?;
        Ok(Some(place))
    }

    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let namespaced = ["--namespace", &self.namespace]
            .into_iter()
            .chain(arguments.iter().copied());
        Ok(self.cluster.kubectl(namespaced)?.trim().to_string())
    }

    pub fn create(&self, objects: &[Value]) -> Result<()> {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let arguments = ["--namespace", &self.namespace, "create", "--filename=-"];
        let answer = self.cluster.try_kubectl(arguments, &list.to_string())?;
        ensure!(answer.success, "{}", answer.stderr);
        Ok(())
    }

    /// Waits for a condition of an object; the error shows the pods.
    pub fn wait_for_condition(&self, object: &str, condition: &str) -> Result<()> {
        let condition = format!("--for={condition}");
        self.kubectl(&["wait", object, &condition, "--timeout=90s"])
            .map(drop)
            .with_context(|| self.kubectl(&["describe", "pods"]).unwrap_or_default())
    }

    /// Converts `manifest.yml` and `release/` in the directory, for images at `boson.test`.
    pub fn convert(&self, directory: &Path, more: &[&str]) -> Result<Vec<Value>> {
        let mut arguments = vec!["convert", "manifest.yml", "--release", "release", "--namespace"];
        arguments.extend([&self.namespace, "--target", "kubernetes", "--registry", "boson.test"]);
        arguments.extend(["--operator-image", self.cluster.operator_image()?]);
        arguments.extend(more);
        let converted = host(directory, arguments)?;
        ensure!(converted.code == 0, "{}", converted.stderr);
        let mut objects = Vec::new();
        for document in serde_yaml::Deserializer::from_str(&converted.stdout) {
            let object = Value::deserialize(document)?;
            if !object.is_null() {
                objects.push(object);
            }
        }
        Ok(objects)
    }
}
