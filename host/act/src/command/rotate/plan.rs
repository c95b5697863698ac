//! What a rotation would do: which variables, in how many steps, and what uses them. Pure.

use super::uses::{self, Storage, Use};
use anyhow::bail;
use boson_api::secret::{ROTATING, SecretType};
use boson_api::{ConditionStatus, QuarksSecret};
use boson_document::closest;
use boson_look::command::variables;
use boson_look::table::{Cell, Table};
use boson_manifest::labels;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

const HEADER: [&str; 7] = [
    "Variable",
    "Type",
    "Expires",
    "Rotation",
    "Certificates",
    "Instance Groups",
    "Deployments",
];

/// What the user names.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub variables: Vec<String>,
    pub cas: Vec<String>,
    /// All certificates that expire before.
    pub until: Option<Timestamp>,
}

/// A variable to rotate.
#[derive(Clone, Debug)]
pub struct Item<'o> {
    pub object: &'o QuarksSecret,
    pub variable: String,
    /// As [`step`].
    pub step: Option<String>,
}

/// Whether this is a CA that signs here, so that it is rotated in steps.
pub fn is_ca(object: &QuarksSecret) -> bool {
    let request = object.spec.request.as_ref();
    let certificate = request.and_then(|request| request.certificate.as_ref());
    is_certificate(object) && certificate.is_some_and(|asked| asked.is_ca)
}

fn is_certificate(object: &QuarksSecret) -> bool {
    matches!(object.spec.kind, SecretType::Certificate | SecretType::Tls)
}

/// The Secret with the CA of a certificate.
fn signer(object: &QuarksSecret) -> Option<&str> {
    let asked = object.spec.request.as_ref()?.certificate.as_ref()?;
    Some(&asked.ca_ref.as_ref()?.name)
}

/// Of a rotation that is under way: the step of a CA, or what the operator waits for. None: it has ended, or not begun.
pub fn step(object: &QuarksSecret) -> Option<String> {
    let status = object.status.clone().unwrap_or_default();
    let conditions = status.conditions.iter();
    if let Some(rotating) = conditions.clone().find(|one| one.kind == ROTATING) {
        return Some(rotating.message.clone());
    }
    let asked = object.annotations().get(labels::ROTATION);
    if asked.is_none() || asked == status.rotation.as_ref() {
        return None;
    }
    let mut problems = conditions.filter(|one| one.kind == "Ready" && one.status == ConditionStatus::False);
    let problem = problems.next().map(|one| one.message.clone());
    Some(problem.unwrap_or_else(|| "waiting for the operator".into()))
}

/// The variables to rotate, each once, sorted.
///
/// # Errors
/// One does not exist, is no CA, or has a value that the user has given.
pub fn select<'o>(objects: &'o [QuarksSecret], asked: &Asked) -> anyhow::Result<Vec<Item<'o>>> {
    let all: BTreeMap<String, &QuarksSecret> = objects
        .iter()
        .map(|one| (variables::name(&one.metadata), one))
        .collect();
    let mut found = BTreeMap::new();
    for name in &asked.variables {
        found.insert(name.as_str(), find_variable(&all, name)?);
    }
    for name in &asked.cas {
        let object = find_variable(&all, name)?;
        if !is_ca(object) {
            bail!("'{name}' is no CA: name it without --ca");
        }
        found.insert(name, object);
    }
    if let Some(until) = asked.until {
        found.extend(expiring_certificates(&all, until));
    }
    let item = |(variable, object): (&str, &'o QuarksSecret)| Item {
        object,
        variable: variable.into(),
        step: step(object),
    };
    Ok(found.into_iter().map(item).collect())
}

fn find_variable<'o>(all: &BTreeMap<String, &'o QuarksSecret>, name: &str) -> anyhow::Result<&'o QuarksSecret> {
    let Some(object) = all.get(name) else {
        let closest = closest(name, all.keys().map(String::as_str));
        let question = closest
            .map(|near| format!("; did you mean '{near}'?"))
            .unwrap_or_default();
        bail!("the deployment has no generated variable '{name}' (see `host variables`){question}");
    };
    if is_given(object) {
        bail!(
            "the value of '{name}' is yours: replace it in Secret '{}'",
            object.spec.secret_name
        );
    }
    Ok(object)
}

/// The certificates that expire before, without those of a CA among them: they are signed again with it.
fn expiring_certificates<'a, 'o>(
    all: &'a BTreeMap<String, &'o QuarksSecret>,
    until: Timestamp,
) -> Vec<(&'a str, &'o QuarksSecret)> {
    let is_due = |one: &QuarksSecret| variables::expires(one).is_some_and(|end| end <= until) && !is_given(one);
    let mut due: Vec<(&str, &QuarksSecret)> = all.iter().map(|(name, one)| (name.as_str(), *one)).collect();
    due.retain(|(_, one)| is_due(one));
    let cas: BTreeSet<&str> = due.iter().map(|(_, one)| one.spec.secret_name.as_str()).collect();
    let is_alone = |one: &QuarksSecret| signer(one).is_none_or(|ca| !cas.contains(ca));
    due.iter().filter(|(_, one)| is_alone(one)).copied().collect()
}

fn is_given(object: &QuarksSecret) -> bool {
    let conditions = object.status.iter().flat_map(|status| &status.conditions);
    conditions
        .into_iter()
        .any(|one| one.kind == "Ready" && one.reason == "UserProvided")
}

/// The certificates that are signed again when these values change, also by CAs among them.
pub fn signed_certificates<'o>(objects: &'o [QuarksSecret], items: &[Item<'_>]) -> Vec<&'o QuarksSecret> {
    let mut cas: BTreeSet<&str> = items.iter().map(|item| item.object.spec.secret_name.as_str()).collect();
    let mut found: Vec<&QuarksSecret> = Vec::new();
    loop {
        let is_new = |one: &&QuarksSecret| {
            let name = one.spec.secret_name.as_str();
            signer(one).is_some_and(|ca| cas.contains(ca)) && !cas.contains(name)
        };
        let more: Vec<&QuarksSecret> = objects.iter().filter(is_new).collect();
        if more.is_empty() {
            return found;
        }
        cas.extend(more.iter().map(|one| one.spec.secret_name.as_str()));
        found.extend(more);
    }
}

/// What is said before the question. `deployments`: those that use each variable and what it signs, in the same order.
pub fn table(items: &[Item<'_>], objects: &[QuarksSecret], uses: &[Use], deployments: &[Vec<String>]) -> Table {
    let row = |(item, deployments): (&Item<'_>, &Vec<String>)| {
        let signed = signed_certificates(objects, std::slice::from_ref(item));
        let certificates: Vec<String> = signed.iter().map(|one| variables::name(&one.metadata)).collect();
        let names = certificates
            .iter()
            .map(String::as_str)
            .chain([item.variable.as_str()])
            .collect();
        let expires = variables::expires(item.object).map(|time| time.to_string());
        let cells: [Cell; 7] = [
            item.variable.as_str().into(),
            json!(item.object.spec.kind).as_str().unwrap_or_default().into(),
            expires.unwrap_or_default().into(),
            rotation(item).into(),
            Cell::lines(&certificates),
            Cell::lines(&uses::groups(uses, &names)),
            Cell::lines(deployments),
        ];
        cells.to_vec()
    };
    let mut table = Table::new("variables", &HEADER, items.iter().zip(deployments).map(row).collect());
    table.notes = items.iter().flat_map(|item| sole_trust_notes(item, uses)).collect();
    table
}

fn rotation(item: &Item<'_>) -> String {
    match &item.step {
        Some(step) => format!("continues: {step}"),
        None if is_ca(item.object) => "three steps".into(),
        None if item.object.spec.kind == SecretType::Certificate => "new key and certificate".into(),
        None => "new value".into(),
    }
}

/// Places that trust one CA at a time, so that they may refuse certificates during a rotation.
fn sole_trust_notes<'u>(item: &'u Item<'_>, uses: &'u [Use]) -> impl Iterator<Item = String> + 'u {
    let is_sole = |one: &&Use| one.variable == item.variable && one.member.as_deref() != Some("private_key");
    let sole = uses.iter().filter(is_sole).filter(|_| is_ca(item.object));
    sole.map(|one| {
        format!(
            "{} trusts one CA at a time: `((CERTIFICATE.ca))` of a certificate that '{}' signs has both during a rotation",
            one.place(),
            one.variable
        )
    })
}

/// The values that something keeps beside the instances, each with its places.
pub fn kept_values(items: &[Item<'_>], uses: &[Use]) -> Vec<String> {
    let due = items
        .iter()
        .filter(|item| item.step.is_none() && !is_certificate(item.object));
    let of_item = |item: &Item<'_>| {
        let of = |one: &Use| Some((one.storage().filter(|_| one.variable == item.variable)?, one.place()));
        let found: Vec<(Storage, String)> = uses.iter().filter_map(of).collect();
        // What encrypts data is worse.
        let worst = found
            .iter()
            .find(|(storage, _)| *storage == Storage::StoredData)
            .or(found.first())?;
        let places: BTreeSet<&str> = found.iter().map(|(_, place)| place.as_str()).collect();
        let places: Vec<&str> = places.into_iter().collect();
        Some(format!(
            "'{}' ({}): {}",
            item.variable,
            places.join(", "),
            worst.0.advice()
        ))
    };
    due.filter_map(of_item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json as tree;
    use serde_json::Value;

    fn object(variable: &str, spec: &Value, status: &Value) -> QuarksSecret {
        let name = format!("d.var-{}", variable.replace('_', "-"));
        let mut spec = spec.clone();
        spec["secretName"] = json!(name);
        serde_json::from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksSecret",
            "metadata": {"name": name, "annotations": {labels::VARIABLE: variable}}, "spec": spec, "status": status,
        }))
        .unwrap()
    }

    fn certificate(variable: &str, ca: Option<&str>, is_ca: bool, end: &str) -> QuarksSecret {
        let reference = ca.map(|ca| json!({"name": format!("d.var-{ca}"), "key": "certificate"}));
        let request =
            json!({"certificate": {"commonName": "c", "isCA": is_ca, "CARef": reference, "CAKeyRef": reference}});
        let status = json!({"notAfter": format!("{end}T00:00:00Z")});
        object(variable, &json!({"type": "certificate", "request": request}), &status)
    }

    fn condition(kind: &str, reason: &str, message: &str) -> Value {
        json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"})
    }

    fn objects() -> Vec<QuarksSecret> {
        let given = json!({"conditions": [condition("Ready", "UserProvided", "")]});
        vec![
            certificate("ca", None, true, "2027-01-01"),
            certificate("leaf", Some("ca"), false, "2027-01-01"),
            certificate("other", None, false, "2027-01-02"),
            certificate("late", None, true, "2030-01-01"),
            object("pw", &json!({"type": "password"}), &json!({})),
            object("mine", &json!({"type": "password"}), &given),
        ]
    }

    fn names(asked: &Asked) -> Vec<String> {
        let objects = objects();
        select(&objects, asked)
            .unwrap()
            .into_iter()
            .map(|one| one.variable)
            .collect()
    }

    fn asked(variables: &[&str], cas: &[&str], until: Option<&str>) -> Asked {
        let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect();
        Asked {
            variables: texts(variables),
            cas: texts(cas),
            until: until.map(|time| time.parse().unwrap()),
        }
    }

    #[test]
    fn certificates_of_an_expiring_ca_are_rotated_with_it() {
        let expiring = names(&asked(&[], &[], Some("2028-01-01T00:00:00Z")));
        assert_eq!(expiring, ["ca", "other"]);
        assert_eq!(
            names(&asked(&["pw", "leaf", "pw"], &["late"], None)),
            ["late", "leaf", "pw"]
        );
        assert_eq!(names(&asked(&[], &[], Some("2026-01-01T00:00:00Z"))), [""; 0]);
        let objects = objects();
        let error =
            |variables: &[&str], cas: &[&str]| select(&objects, &asked(variables, cas, None)).unwrap_err().to_string();
        assert!(error(&["pww"], &[]).contains("no generated variable 'pww'"));
        assert!(error(&["mine"], &[]).contains("is yours: replace it in Secret 'd.var-mine'"));
        assert!(error(&[], &["leaf"]).contains("'leaf' is no CA"));
    }

    #[test]
    fn a_rotation_that_has_begun_continues() {
        let mut one = certificate("ca", None, true, "2027-01-01");
        assert_eq!(step(&one), None);
        one.annotations_mut().insert(labels::ROTATION.into(), "1".into());
        assert_eq!(step(&one).unwrap(), "waiting for the operator");
        let status = one.status.as_mut().unwrap();
        status.rotation = Some("1".into());
        let rotating = condition(ROTATING, "Trusting", "step 1 of 3");
        status.conditions = vec![serde_json::from_value(rotating).unwrap()];
        assert_eq!(step(&one).unwrap(), "step 1 of 3");
        one.status.as_mut().unwrap().conditions.clear();
        assert_eq!(step(&one), None);
    }

    #[test]
    fn the_table_shows_steps_and_users() {
        let objects = objects();
        let manifest = tree::parse(
            r#"{"instance_groups": [{"name": "web", "jobs": [{"name": "j", "properties": {"a": "((leaf.ca))", "b": "((ca.certificate))"}}]}]}"#,
        );
        let uses = uses::uses(&manifest.unwrap());
        let items = select(&objects, &asked(&["pw"], &["ca"], None)).unwrap();
        let table = table(
            &items,
            &objects,
            &uses,
            &[vec!["d".into(), "e".into()], vec!["d".into()]],
        );
        let row = |cells: [&str; 7]| cells.map(Cell::from).to_vec();
        let end = "2027-01-01T00:00:00Z";
        assert_eq!(
            table.rows[0],
            row(["ca", "certificate", end, "three steps", "leaf", "web", "d\ne"])
        );
        assert_eq!(table.rows[1], row(["pw", "password", "", "new value", "", "", "d"]));
        assert!(
            table.notes[0].starts_with("web/j: b trusts one CA at a time"),
            "{:?}",
            table.notes
        );
        assert_eq!(table.notes.len(), 1);
    }

    #[test]
    fn passwords_that_a_database_keeps_are_named() {
        let objects = objects();
        let manifest = tree::parse(
            r#"{"instance_groups": [{"name": "db", "jobs": [{"name": "postgres", "properties": {"databases": {"roles": [{"password": "((pw))"}]}}}]}]}"#,
        );
        let uses = uses::uses(&manifest.unwrap());
        let items = select(&objects, &asked(&["pw", "leaf"], &[], None)).unwrap();
        let found = kept_values(&items, &uses);
        assert!(
            found[0].starts_with("'pw' (db/postgres: databases.roles.password): a database keeps it"),
            "{found:?}"
        );
        assert_eq!(found.len(), 1);
    }
}
