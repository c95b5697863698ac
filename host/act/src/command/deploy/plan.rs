//! What a deploy writes: the record, the inputs that are not stored yet, and the BOSHDeployment. Pure.

use super::record::{Document, Record, Revision, Stored};
use super::values::Content;
use boson_api::deployment::VariableReference;
use boson_api::{ReferenceType, ResourceReference};
use boson_cluster::client::AnyObject;
use boson_manifest::labels;
use boson_manifest::names::{NameClaims, NameError, Names};
use boson_pipeline::digest::sha256;
use boson_pipeline::report::clean;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The field manager of what the commands write.
pub const MANAGER: &str = "host";
/// Keys of documents in ConfigMaps, as the operator reads them.
pub const MANIFEST_KEY: &str = "manifest";
pub const OPS_KEY: &str = "ops";
pub const CLOUD_CONFIG_KEY: &str = "cloud-config";
pub const RUNTIME_CONFIG_KEY: &str = "runtime-config";
/// Digits of a digest in a name: it distinguishes documents, and protects nothing.
const DIGEST_DIGITS: usize = 10;

/// A document of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// As it was given.
    pub name: String,
    pub text: String,
}

/// What a command line gives.
#[derive(Clone, Debug)]
pub struct Inputs {
    pub manifest: File,
    pub ops: Vec<File>,
    /// None: the cloud configs of the deployment stay.
    pub cloud_configs: Option<Vec<File>>,
    /// None: the runtime configs of the deployment stay.
    pub runtime_configs: Option<Vec<File>>,
    /// By variable.
    pub values: BTreeMap<String, Value>,
    /// Members of `spec.conversion`. Those that an earlier deploy has set stay.
    pub conversion: Map<String, Value>,
}

/// What the cluster has of a deployment.
pub struct Present {
    pub names: Names,
    pub namespace: String,
    /// Name of the BOSHDeployment.
    pub name: String,
    pub deployment: Option<Value>,
    /// The oldest first.
    pub revisions: Vec<Revision>,
    /// The Secrets of the current revision that exist, by name.
    pub secrets: BTreeMap<String, Content>,
}

/// When and by whom a deploy is made.
#[derive(Clone, Debug)]
pub struct Stamp {
    pub time: String,
    pub user: Option<String>,
}

#[derive(Debug)]
pub struct Plan {
    pub number: u64,
    /// The ConfigMap with the record.
    pub record: Value,
    /// ConfigMaps and Secrets. Some may exist already, with the same content.
    pub inputs: Vec<Value>,
    /// The fields of the BOSHDeployment.
    pub deployment: Value,
    pub values: ChangedValues,
}

/// Which configs a deploy sets; others of the deployment stay.
struct ChangedConfigs {
    cloud: bool,
    runtime: bool,
}

/// How the given values differ from those of the current revision: a line for each, by variable.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChangedValues(BTreeMap<String, String>);

// === impl ChangedValues ===

impl ChangedValues {
    fn of(before: &[VariableReference], after: &[VariableReference]) -> Self {
        let find = |all: &[VariableReference], name: &str| all.iter().find(|one| one.name == name).cloned();
        let changed = after.iter().filter_map(|one| match find(before, &one.name) {
            None => Some((one.name.clone(), format!("+ {}", one.name))),
            Some(before) => (before != *one).then(|| (one.name.clone(), format!("  {}: another value", one.name))),
        });
        let removed = before.iter().filter(|one| find(after, &one.name).is_none());
        let removed = removed.map(|one| (one.name.clone(), format!("- {}", one.name)));
        Self(changed.chain(removed).collect())
    }

    /// In the form of `host diff`. Never with a value.
    pub fn text(&self) -> String {
        let lines = self.0.values().map(|line| format!("{}\n", clean::line(line)));
        let lines: String = lines.collect();
        if lines.is_empty() {
            lines
        } else {
            format!("\ngiven values:\n{lines}")
        }
    }
}

// === impl Present ===

impl Present {
    /// The revision that the BOSHDeployment has.
    pub fn current(&self) -> Option<&Revision> {
        let number = self.revision_number()?;
        self.revisions.iter().find(|one| one.number == number)
    }

    /// The number of this revision; 0 if there is none.
    pub fn number(&self) -> u64 {
        self.current().map_or(0, |one| one.number)
    }

    /// The values that the current revision has given, by variable.
    pub fn values(&self) -> BTreeMap<String, Value> {
        let vars = self.current().map_or(&[][..], |one| &one.record.inputs.vars);
        let value = |one: &VariableReference| Some((one.name.clone(), self.secrets.get(&one.secret)?.value()?));
        vars.iter().filter_map(value).collect()
    }

    /// Whether `host cancel` has paused the deployment: the next deploy ends this pause.
    pub fn is_cancelled(&self) -> bool {
        let deployment = self.deployment.as_ref();
        deployment.and_then(|one| one.annotation(labels::CANCELLED)) == Some("true")
    }

    /// The number of the next deploy. A number is never used twice, even if its record was deleted.
    fn next_number(&self) -> u64 {
        let numbers = self.revisions.iter().map(|one| one.number);
        numbers
            .chain(self.revision_number())
            .max()
            .unwrap_or(0)
            .saturating_add(1)
    }

    /// The number that the BOSHDeployment has. Its revision may have been deleted.
    fn revision_number(&self) -> Option<u64> {
        self.deployment.as_ref()?.annotation(labels::REVISION)?.parse().ok()
    }

    fn labels(&self) -> Value {
        json!({labels::INPUT_OF: self.names.deployment()})
    }

    fn spec(&self, key: &str) -> Option<&Value> {
        self.deployment.as_ref()?.spec()?.get(key)
    }

    /// Whether an earlier deploy has set a field of the spec, which it would lose by not setting it again.
    fn has_set(&self, path: &[&str]) -> bool {
        let managed = self.deployment.iter().flat_map(AnyObject::managed_fields);
        let mut ours = managed.filter(|one| one.manager == MANAGER && !one.of_subresource);
        ours.any(|one| {
            let spec = one.fields.get("f:spec");
            let found = path.iter().fold(spec, |at, key| at?.get(format!("f:{key}")));
            found.is_some()
        })
    }

    fn cloud_configs(&self) -> Vec<ResourceReference> {
        let first = self.spec("cloudConfig").into_iter();
        let more = self
            .spec("cloudConfigs")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let read = |reference: &Value| serde_json::from_value(reference.clone()).ok();
        first.chain(more).filter_map(read).collect()
    }

    pub fn runtime_configs(&self) -> Vec<ResourceReference> {
        let listed = self.spec("runtimeConfigs").cloned();
        listed
            .and_then(|listed| serde_json::from_value(listed).ok())
            .unwrap_or_default()
    }

    /// What to write for a deploy; none if the deployment has these inputs.
    ///
    /// # Errors
    /// Two variables, or one without a letter, cannot have Secrets.
    pub fn plan(&self, inputs: &Inputs, stamp: &Stamp) -> Result<Option<Plan>, NameError> {
        let number = self.next_number();
        let mut objects = BTreeMap::new();
        let mut store = |file: &File, key: &str| {
            let name = self.names.document(key, &digest(&file.text));
            let object = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": self.namespace, "labels": self.labels()},
                "data": {key: file.text},
                "immutable": true,
            });
            // The same ops file may be given twice.
            objects.insert(name.clone(), object);
            Document {
                config_map: name,
                file: file.name.clone(),
            }
        };
        let manifest = store(&inputs.manifest, MANIFEST_KEY);
        let ops = inputs.ops.iter().map(|file| store(file, OPS_KEY)).collect();
        let mut configs = |files: &Option<Vec<File>>, key| {
            let stored = files.as_ref()?.iter().map(|file| store(file, key));
            Some(
                stored
                    .map(|document| config_map_reference(&document))
                    .collect::<Vec<_>>(),
            )
        };
        let cloud = configs(&inputs.cloud_configs, CLOUD_CONFIG_KEY);
        let runtime = configs(&inputs.runtime_configs, RUNTIME_CONFIG_KEY);
        let changed = ChangedConfigs {
            cloud: cloud.is_some(),
            runtime: runtime.is_some(),
        };
        let mut inputs_now: Vec<Value> = objects.into_values().collect();
        let (vars, secrets) = self.vars(inputs, number)?;
        inputs_now.extend(secrets);
        let stored = Stored {
            manifest,
            ops,
            cloud_configs: cloud.unwrap_or_else(|| self.cloud_configs()),
            runtime_configs: runtime.unwrap_or_else(|| self.runtime_configs()),
            vars,
        };
        let record = Record {
            created: stamp.time.clone(),
            user: stamp.user.clone(),
            rollback_to: None,
            inputs: stored,
        };
        let deployment = self.deployment(&record.inputs, &changed, &inputs.conversion, number);
        Ok(self.plan_unless_same(record, inputs_now, deployment, number))
    }

    /// What to write to apply the inputs of a revision again; none if the deployment has them.
    pub fn rollback(&self, revision: &Revision, stamp: &Stamp) -> Option<Plan> {
        let number = self.next_number();
        let record = Record {
            created: stamp.time.clone(),
            user: stamp.user.clone(),
            rollback_to: Some(revision.number),
            inputs: revision.record.inputs.clone(),
        };
        let changed = ChangedConfigs {
            cloud: record.inputs.cloud_configs != self.cloud_configs(),
            runtime: record.inputs.runtime_configs != self.runtime_configs(),
        };
        let deployment = self.deployment(&record.inputs, &changed, &Map::new(), number);
        self.plan_unless_same(record, Vec::new(), deployment, number)
    }

    fn plan_unless_same(&self, record: Record, inputs: Vec<Value>, mut deployment: Value, number: u64) -> Option<Plan> {
        deployment.set_annotation(labels::CHANGED_BY, record.user.as_deref());
        let is_current = self.current().is_some_and(|one| one.record.inputs == record.inputs);
        let found = self.deployment.as_ref().and_then(AnyObject::spec);
        if is_current && has_fields(found, &deployment["spec"]) {
            return None;
        }
        let before = self.current().map_or(&[][..], |one| &one.record.inputs.vars);
        Some(Plan {
            values: ChangedValues::of(before, &record.inputs.vars),
            number,
            record: record.object(number, &self.names, &self.namespace),
            inputs,
            deployment,
        })
    }

    /// References to the values, and the Secrets that do not exist yet. A name contains no digest of a value, which
    /// would let readers of names test guesses.
    fn vars(&self, inputs: &Inputs, number: u64) -> Result<(Vec<VariableReference>, Vec<Value>), NameError> {
        let before = self.current().map_or(&[][..], |one| &one.record.inputs.vars);
        let (mut claims, mut vars, mut secrets) = (NameClaims::default(), Vec::new(), Vec::new());
        for (variable, value) in &inputs.values {
            let name = self.names.given_variable(variable, number)?;
            claims.claim("Secret", &name, &format!("variable '{variable}'"))?;
            let content = Content::of(value);
            let is_same = |one: &&VariableReference| {
                one.name == *variable && self.secrets.get(&one.secret).is_some_and(|found| *found == content)
            };
            let reference = before.iter().find(is_same).cloned().unwrap_or_else(|| {
                secrets.push(content.object(&name, &self.namespace, &self.labels()));
                VariableReference {
                    name: variable.clone(),
                    secret: name,
                }
            });
            vars.push(reference);
        }
        Ok((vars, secrets))
    }

    /// The fields of the BOSHDeployment. Lists are set even if they are empty: those that another manager has set would
    /// belong to another manifest.
    fn deployment(
        &self,
        stored: &Stored,
        changed: &ChangedConfigs,
        conversion: &Map<String, Value>,
        number: u64,
    ) -> Value {
        let ops: Vec<_> = stored.ops.iter().map(config_map_reference).collect();
        let mut spec = json!({"manifest": config_map_reference(&stored.manifest), "ops": ops, "vars": stored.vars});
        if !changed.cloud {
            self.keep(&mut spec, &["cloudConfig", "cloudConfigs"]);
        } else if let Some((first, more)) = stored.cloud_configs.split_first() {
            spec["cloudConfig"] = json!(first);
            spec["cloudConfigs"] = json!(more);
        } else {
            spec["cloudConfigs"] = json!([]);
        }
        if changed.runtime {
            spec["runtimeConfigs"] = json!(stored.runtime_configs);
        } else {
            self.keep(&mut spec, &["runtimeConfigs"]);
        }
        let before = self.spec("conversion").and_then(Value::as_object).into_iter().flatten();
        let kept = before.filter(|(key, _)| self.has_set(&["conversion", key]));
        let mut members: Map<String, Value> = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
        members.extend(conversion.clone());
        if !members.is_empty() {
            spec["conversion"] = members.into();
        }
        let mut annotations = json!({labels::REVISION: number.to_string()});
        // The fields are no longer set by the deploy after this one.
        if self.is_cancelled() {
            spec["paused"] = false.into();
            annotations[labels::CANCELLED] = "false".into();
        }
        json!({
            "apiVersion": labels::API_VERSION,
            "kind": "BOSHDeployment",
            "metadata": {"name": self.name, "namespace": self.namespace, "annotations": annotations},
            "spec": spec,
        })
    }

    fn keep(&self, spec: &mut Value, keys: &[&str]) {
        for key in keys {
            if let Some(value) = self.spec(key).filter(|_| self.has_set(&[key])) {
                spec[*key] = value.clone();
            }
        }
    }
}

fn config_map_reference(document: &Document) -> ResourceReference {
    ResourceReference {
        kind: ReferenceType::Configmap,
        name: document.config_map.clone(),
    }
}

fn digest(text: &str) -> String {
    sha256(text).chars().take(DIGEST_DIGITS).collect()
}

/// Whether a spec has these fields. An empty list is the same as none; other managers may have added variables.
fn has_fields(found: Option<&Value>, wanted: &Value) -> bool {
    let same = |(key, wanted): (&String, &Value)| {
        let found = found.and_then(|found| found.get(key));
        let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        match wanted {
            Value::Array(wanted) if key == "vars" => wanted.iter().all(|one| list(found).contains(one)),
            Value::Array(wanted) => list(found) == *wanted,
            Value::Object(_) if key == "conversion" => has_fields(found, wanted),
            wanted => found == Some(wanted),
        }
    };
    wanted.as_object().into_iter().flatten().all(same)
}

#[cfg(test)]
mod tests {
    use super::super::record::samples::revision;
    use super::*;

    fn present(deployment: Option<Value>, revisions: Vec<Revision>) -> Present {
        Present {
            names: Names::new("d", "n", "").unwrap(),
            namespace: "n".into(),
            name: "d".into(),
            deployment,
            revisions,
            secrets: BTreeMap::new(),
        }
    }

    fn file(name: &str, text: &str) -> File {
        File {
            name: name.into(),
            text: text.into(),
        }
    }

    fn inputs(manifest: &str) -> Inputs {
        Inputs {
            manifest: file("manifest.yml", manifest),
            ops: vec![file("scale.yml", "- {}")],
            cloud_configs: None,
            runtime_configs: None,
            values: [("word".to_string(), json!("CANARY"))].into(),
            conversion: [("registry".to_string(), json!("r"))].into_iter().collect(),
        }
    }

    fn stamp() -> Stamp {
        Stamp {
            time: "2026-01-01T00:00:00Z".into(),
            user: Some("me".into()),
        }
    }

    /// The cluster after a plan was carried out.
    fn after(plan: &Plan, present: &Present) -> Present {
        let record = serde_json::from_value(plan.record.clone()).unwrap();
        let mut revisions = present.revisions.clone();
        revisions.push(Revision::of(record).unwrap());
        let mut deployment = plan.deployment.clone();
        let fields = json!({"f:spec": {"f:conversion": {"f:registry": {}}, "f:cloudConfig": {}}});
        deployment["metadata"]["managedFields"] = json!([{"manager": MANAGER, "fieldsV1": fields}]);
        let secrets = plan.inputs.iter().filter(|one| one.kind() == Some("Secret"));
        let secrets = secrets.map(|one| {
            let content = Content::of_secret(&serde_json::from_value(one.clone()).unwrap());
            (one.name().unwrap().to_string(), content.unwrap())
        });
        Present {
            secrets: present.secrets.clone().into_iter().chain(secrets).collect(),
            ..self::present(Some(deployment), revisions)
        }
    }

    fn names(plan: &Plan) -> Vec<&str> {
        plan.inputs.iter().filter_map(AnyObject::name).collect()
    }

    #[test]
    fn a_deploy_stores_its_inputs_once() {
        let none = present(None, Vec::new());
        let first = none.plan(&inputs("a: 1"), &stamp()).unwrap().unwrap();
        assert_eq!(first.number, 1);
        let [manifest, ops, secret] = names(&first)[..] else {
            panic!("{:?}", names(&first));
        };
        assert!(
            manifest.starts_with("d.manifest-") && ops.starts_with("d.ops-"),
            "{manifest} {ops}"
        );
        assert_eq!(secret, "d.given-word-1");
        let spec = &first.deployment["spec"];
        assert_eq!(spec["ops"], json!([{"type": "configmap", "name": ops}]));
        assert_eq!(spec["vars"], json!([{"name": "word", "secret": secret}]));
        assert_eq!(spec["conversion"], json!({"registry": "r"}));
        assert!(!first.record.to_string().contains("CANARY"));

        let deployed = after(&first, &none);
        assert!(deployed.plan(&inputs("a: 1"), &stamp()).unwrap().is_none());
        let changed = Inputs {
            conversion: Map::new(),
            ..inputs("a: 2")
        };
        let second = deployed.plan(&changed, &stamp()).unwrap().unwrap();
        assert_eq!(
            (second.number, names(&second).len()),
            (2, 2),
            "the Secret is used again"
        );
        assert_eq!(second.values, ChangedValues::default());
        assert_eq!(second.deployment["spec"]["conversion"], json!({"registry": "r"}));
        let mut other_value = inputs("a: 2");
        other_value.values.insert("word".into(), json!(3));
        let third = after(&second, &deployed).plan(&other_value, &stamp()).unwrap().unwrap();
        assert!(names(&third).contains(&"d.given-word-3"), "{:?}", names(&third));
        assert_eq!(third.values.text(), "\ngiven values:\n  word: another value\n");
        assert_eq!(first.values.text(), "\ngiven values:\n+ word\n");
    }

    #[test]
    fn a_rollback_applies_the_inputs_of_a_revision_under_a_new_number() {
        let none = present(None, Vec::new());
        let first = none.plan(&inputs("a: 1"), &stamp()).unwrap().unwrap();
        let deployed = after(&first, &none);
        let second = deployed.plan(&inputs("a: 2"), &stamp()).unwrap().unwrap();
        let deployed = after(&second, &deployed);
        let back = deployed.rollback(&deployed.revisions[0], &stamp()).unwrap();
        assert_eq!((back.number, back.inputs.len()), (3, 0));
        assert_eq!(back.deployment["spec"], first.deployment["spec"]);
        let back = after(&back, &deployed);
        assert!(back.rollback(&back.revisions[0], &stamp()).is_none());
        assert_eq!(back.current().unwrap().record.rollback_to, Some(1));
    }

    #[test]
    fn cloud_configs_stay_unless_others_are_given() {
        let mut deployment =
            json!({"metadata": {"name": "d"}, "spec": {"cloudConfig": {"type": "configmap", "name": "c"}}});
        let of_others = present(Some(deployment.clone()), Vec::new());
        let plan = of_others.plan(&inputs("a: 1"), &stamp()).unwrap().unwrap();
        assert_eq!(plan.deployment["spec"].get("cloudConfig"), None);
        let fields = json!({"f:spec": {"f:cloudConfig": {}}});
        deployment["metadata"]["managedFields"] = json!([{"manager": MANAGER, "fieldsV1": fields}]);
        let ours = present(Some(deployment), vec![revision(4, "m", "s")]);
        let plan = ours.plan(&inputs("a: 1"), &stamp()).unwrap().unwrap();
        assert_eq!(
            (plan.number, &plan.deployment["spec"]["cloudConfig"]["name"]),
            (5, &json!("c"))
        );
        let given = Inputs {
            cloud_configs: Some(vec![file("one.yml", "1"), file("two.yml", "2")]),
            ..inputs("a: 1")
        };
        let plan = ours.plan(&given, &stamp()).unwrap().unwrap();
        let spec = &plan.deployment["spec"];
        assert!(
            spec["cloudConfig"]["name"]
                .as_str()
                .unwrap()
                .starts_with("d.cloud-config-")
        );
        assert_eq!(spec["cloudConfigs"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn runtime_configs_are_stored_in_their_order_and_stay_unless_others_are_given() {
        let none = present(None, Vec::new());
        let given = Inputs {
            runtime_configs: Some(vec![file("dns.yml", "1"), file("syslog.yml", "2")]),
            ..inputs("a: 1")
        };
        let first = none.plan(&given, &stamp()).unwrap().unwrap();
        let listed = first.deployment["spec"]["runtimeConfigs"].as_array().unwrap().clone();
        let stored = |one: &Value| one["name"].as_str().unwrap().starts_with("d.runtime-config-");
        assert!(listed.len() == 2 && listed.iter().all(stored), "{listed:?}");
        let mut deployed = after(&first, &none);
        let fields = json!({"f:spec": {"f:runtimeConfigs": {}}});
        deployed.deployment.as_mut().unwrap()["metadata"]["managedFields"] =
            json!([{"manager": MANAGER, "fieldsV1": fields}]);
        let second = deployed.plan(&inputs("a: 2"), &stamp()).unwrap().unwrap();
        assert_eq!(second.deployment["spec"]["runtimeConfigs"], json!(listed));
        let none_of_them = Inputs {
            runtime_configs: Some(Vec::new()),
            ..inputs("a: 3")
        };
        let third = deployed.plan(&none_of_them, &stamp()).unwrap().unwrap();
        assert_eq!(third.deployment["spec"]["runtimeConfigs"], json!([]));
        let back = after(&third, &deployed)
            .rollback(&deployed.revisions[0], &stamp())
            .unwrap();
        assert_eq!(back.deployment["spec"]["runtimeConfigs"], json!(listed));
    }

    #[test]
    fn a_deploy_ends_the_pause_of_a_cancelled_one() {
        let none = present(None, Vec::new());
        let first = none.plan(&inputs("a: 1"), &stamp()).unwrap().unwrap();
        assert_eq!(first.deployment.annotation(labels::CHANGED_BY), Some("me"));
        let mut cancelled = after(&first, &none);
        let deployment = cancelled.deployment.as_mut().unwrap();
        deployment["spec"]["paused"] = true.into();
        assert!(
            cancelled.plan(&inputs("a: 1"), &stamp()).unwrap().is_none(),
            "a user has paused it"
        );
        let deployment = cancelled.deployment.as_mut().unwrap();
        deployment.set_annotation(labels::CANCELLED, Some("true"));
        let again = cancelled.plan(&inputs("a: 1"), &stamp()).unwrap().unwrap();
        assert_eq!(again.deployment["spec"]["paused"], false);
        let next = after(&again, &cancelled)
            .plan(&inputs("a: 2"), &stamp())
            .unwrap()
            .unwrap();
        assert_eq!(next.deployment["spec"].get("paused"), None);
    }

    #[test]
    fn variables_with_the_same_secret_are_refused() {
        let mut inputs = inputs("a: 1");
        inputs.values.insert("a_b".into(), json!(1));
        inputs.values.insert("a-b".into(), json!(2));
        assert!(present(None, Vec::new()).plan(&inputs, &stamp()).is_err());
    }
}
