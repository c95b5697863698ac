//! A row about the latency of an edit while another namespace edits many broken deployments.

use crate::measure::Sample;
use crate::operator::{RELEASE, map};
use crate::site::Site;
use crate::table::Row;
use anyhow::{Context, Result};
use boson_tests::synthetic;
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt};
use kube::api::{Api, DynamicObject, Patch, PatchParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt};
use serde_json::Value;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// Deployments of the other namespace, all edited each second.
const BROKEN_DEPLOYMENTS: usize = 60;
const EDITS: usize = 15;
/// Between two edits: longer than the operator waits for more changes.
const EDIT_INTERVAL: Duration = Duration::from_secs(4);
const EDIT_TIMEOUT: Duration = Duration::from_secs(120);

/// Two namespaces of one operator, and one that it does not serve.
struct Neighbors {
    site: Site,
    client: Client,
    noisy: String,
    unserved: String,
    manifest: String,
}

pub fn neighbors() -> Result<Vec<Row>> {
    let site = Site::of_many("bench-neighbors")?;
    let directory = tempfile::tempdir()?;
    synthetic::write_deployment(directory.path(), 1)?;
    site.registry.push_release(RELEASE, &directory.path().join("release"))?;
    let runtime = Runtime::new()?;
    let mut neighbors = Neighbors {
        noisy: site.namespace_beside("noisy")?,
        unserved: site.unserved_namespace("unserved")?,
        client: runtime.block_on(site.client())?,
        manifest: std::fs::read_to_string(directory.path().join("manifest.yml"))?,
        site,
    };
    neighbors.site.start()?;
    let good = neighbors.site.deployment("good", "manifest");
    neighbors.site.apply(&[map("manifest", &neighbors.manifest), good])?;
    let wait = [
        "wait",
        "--for=condition=Applied",
        "--timeout=120s",
        "boshdeployment/good",
    ];
    neighbors.site.kubectl(&wait)?;
    runtime.block_on(neighbors.measure())
}

// === impl Neighbors ===

impl Neighbors {
    async fn measure(&self) -> Result<Vec<Row>> {
        let idle = self.edits(0).await?;
        // What the API server, and this program, need for the edits: no operator can be faster.
        let floor = self.edits_beside(EDITS, &self.unserved).await?;
        let conversions = self.site.metric("boson_conversions_total")?;
        let beside = self.edits_beside(2 * EDITS, &self.noisy).await?;
        let conversions = self.site.metric("boson_conversions_total")? - conversions;
        let (alone, median, most) = (idle.median(), beside.median(), beside.percentile(100));
        let details = format!(
            "median of {EDITS}, {alone:.2} s alone, {:.2} s beside such edits where no operator acts; \
             {most:.2} s at most; {conversions:.0} conversions meanwhile",
            floor.median()
        );
        let what = format!("operator: an edit beside {BROKEN_DEPLOYMENTS} broken deployments, edited each second");
        Ok(vec![Row::below(&what, median, 2.0 * alone, "s", &details)])
    }

    /// The same as [`Self::edits`], while this namespace has broken deployments.
    async fn edits_beside(&self, from: usize, namespace: &str) -> Result<Sample> {
        tokio::select! {
            beside = self.edits(from) => beside,
            noise = self.noise(namespace) => Err(noise.err().context("the noise ended")?),
        }
    }

    /// Seconds from an edit of the manifest to the object that it changes. `from`: how many edits there were before.
    /// Each changes one instance to two or back: a conversion of more instances takes longer.
    async fn edits(&self, from: usize) -> Result<Sample> {
        let mut times = Vec::new();
        for nth in 0..EDITS {
            sleep(EDIT_INTERVAL).await;
            let instances = 1 + (from + nth + 1) % 2;
            let manifest = self
                .manifest
                .replacen("instances: 1\n", &format!("instances: {instances}\n"), 1);
            let changed = self.changed(instances as u64);
            let mut changed = pin!(changed);
            let began = Instant::now();
            let (own, edit) = (self.site.namespace(), map("manifest", &manifest));
            let edited = async {
                self.apply(own, &edit).await?;
                changed.as_mut().await
            };
            tokio::time::timeout(EDIT_TIMEOUT, edited)
                .await
                .context("an edit had no effect")??;
            times.push(began.elapsed().as_secs_f64());
        }
        Ok(Sample::of(times))
    }

    /// Waits until the instance group has this number of instances.
    async fn changed(&self, instances: u64) -> Result<()> {
        let sets = self.api(
            "quarks.cloudfoundry.org/v1alpha1",
            "QuarksStatefulSet",
            self.site.namespace(),
        );
        let has = |set: &DynamicObject| {
            let spec = set.data.pointer("/spec/template/spec/replicas").and_then(Value::as_u64);
            spec == Some(instances)
        };
        let events = sets.watch(&WatchParams::default(), "0").await?;
        let mut events = pin!(events.filter_map(|event| async {
            match event {
                Ok(WatchEvent::Added(set) | WatchEvent::Modified(set)) => Some(Ok(set)),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            }
        }));
        while let Some(set) = events.try_next().await? {
            if has(&set) {
                return Ok(());
            }
        }
        anyhow::bail!("the watch ended")
    }

    /// Creates the broken deployments, and edits all of them each second.
    async fn noise(&self, namespace: &str) -> Result<()> {
        let mut second = interval(Duration::from_secs(1));
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for round in 0_usize.. {
            second.tick().await;
            let edits = (0..BROKEN_DEPLOYMENTS).map(|nth| async move {
                let name = format!("broken-{nth}");
                // A syntax error, and an error in a later stage.
                let text = match nth % 2 {
                    0 => format!("{}\n# {round}\nbroken: [", self.manifest),
                    _ => format!(
                        "{}\n# {round}\n",
                        self.manifest.replacen("instances: 1\n", "instances: many\n", 1)
                    ),
                };
                self.apply(namespace, &map(&name, &text)).await?;
                if round == 0 {
                    self.apply(namespace, &self.site.deployment(&name, &name)).await?;
                }
                anyhow::Ok(())
            });
            try_join_all(edits).await?;
        }
        Ok(())
    }

    async fn apply(&self, namespace: &str, object: &Value) -> Result<()> {
        let text = |key: &str| object[key].as_str().unwrap_or_default();
        let api = self.api(text("apiVersion"), text("kind"), namespace);
        let object: DynamicObject = serde_json::from_value(object.clone())?;
        let how = PatchParams::apply("bench").force();
        api.patch(&object.name_any(), &how, &Patch::Apply(&object)).await?;
        Ok(())
    }

    fn api(&self, api_version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), namespace, &resource)
    }
}
