//! Where a manifest uses variables, and whether a new value alone would break what uses it. Pure.

use boson_document::{Pointer, Tree, placeholder};
use std::collections::BTreeSet;

/// What the names of jobs of databases contain.
const DATABASE_JOBS: [&str; 6] = ["postgres", "mysql", "pxc", "mariadb", "galera", "mongodb"];
/// Properties that list the users of a database, or the databases with these.
const DATABASE_USERS: [&str; 7] = [
    "databases",
    "roles",
    "seeded_databases",
    "seeded_users",
    "seeded_roles",
    "database_users",
    "database_passwords",
];
/// Properties with the login of a client of a database.
const DATABASE_LOGINS: [&str; 8] = [
    "db",
    "ccdb",
    "uaadb",
    "sqldb",
    "sql",
    "database",
    "data_storage",
    "databases",
];
/// Parts of the names of properties whose value encrypts what is stored.
const ENCRYPTION_WORDS: [&str; 3] = ["encryption", "passphrase", "encrypted"];

/// A place that uses a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    pub variable: String,
    /// What follows the name, such as `certificate`.
    pub member: Option<String>,
    /// Instance group or addon.
    pub group: String,
    job: String,
    /// Names of properties.
    path: Vec<String>,
}

/// What keeps a value beside the instances that get a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    Database,
    StoredData,
}

/// All uses in instance groups and addons.
pub fn uses(manifest: &Tree) -> Vec<Use> {
    let mut found = Vec::new();
    for list in ["instance_groups", "addons"] {
        for group in manifest.items(list) {
            let name = group.str("name").unwrap_or_default();
            placeholder::each_string(group, &mut Pointer::root(), &mut |text, place, _| {
                found.extend(placeholder::scan(text).map(|one| Use {
                    variable: one.root().into(),
                    member: one.sub_keys().next().map(str::to_string),
                    group: name.into(),
                    job: job(group, place),
                    path: property_names(place),
                }));
            });
        }
    }
    found
}

fn job(group: &Tree, place: &Pointer) -> String {
    let [list, nth, ..] = place.tokens() else {
        return String::new();
    };
    let job = nth.parse::<usize>().ok().and_then(|nth| group.items(list).get(nth));
    job.and_then(|job| job.str("name")).unwrap_or_default().into()
}

/// The names below `properties`, without numbers.
fn property_names(place: &Pointer) -> Vec<String> {
    let below = place.tokens().iter().skip_while(|token| *token != "properties").skip(1);
    below.filter(|token| token.parse::<usize>().is_err()).cloned().collect()
}

/// The instance groups and addons that use any of these variables.
pub fn groups(uses: &[Use], variables: &BTreeSet<&str>) -> Vec<String> {
    let found = uses.iter().filter(|one| variables.contains(one.variable.as_str()));
    let groups: BTreeSet<String> = found.map(|one| one.group.clone()).collect();
    groups.into_iter().collect()
}

// === impl Use ===

impl Use {
    /// What keeps the value, by the names of job and properties.
    pub fn storage(&self) -> Option<Storage> {
        let has = |names: &[&str]| self.path.iter().any(|name| names.contains(&name.as_str()));
        let is_part = |part: &&str| self.path.iter().any(|name| name.contains(*part));
        let last = self.path.last().map(String::as_str).unwrap_or_default();
        let is_login = last.contains("password") || last.ends_with("_uri") || last == "uri";
        let is_of_client = is_login && (has(&DATABASE_LOGINS) || last.contains("db_") || last.contains("database_"));
        if ENCRYPTION_WORDS.iter().any(is_part) {
            return Some(Storage::StoredData);
        }
        let is_database = DATABASE_JOBS.iter().any(|part| self.job.contains(part));
        (is_database || has(&DATABASE_USERS) || is_of_client).then_some(Storage::Database)
    }

    pub fn place(&self) -> String {
        let Self { group, job, path, .. } = self;
        match job.as_str() {
            "" => format!("{group}: {}", path.join(".")),
            job => format!("{group}/{job}: {}", path.join(".")),
        }
    }
}

// === impl Storage ===

impl Storage {
    /// What happens if only the value is new, and what to do.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Database => {
                "a database keeps it. Unless its job sets the passwords of existing users when it starts, clients cannot log \
                 in until you have changed the password in the database (ALTER USER or ALTER ROLE) to the new one"
            }
            Self::StoredData => {
                "it encrypts stored data, which cannot be read with a new one. Add a new key beside it as the release \
                 describes, and have it encrypt the data again"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    fn found(job: &str, properties: &str) -> Vec<Use> {
        uses(
            &json::parse(&format!(
                r#"{{"instance_groups": [{{"name": "g", "jobs": [{{"name": "{job}", "properties": {properties}}}]}}]}}"#
            ))
            .unwrap(),
        )
    }

    #[test]
    fn a_use_names_group_job_and_property() {
        let all = found("nats", r#"{"tls": [{"ca": "x ((a.ca)) ((b))"}], "port": 1}"#);
        let text = |one: &Use| format!("{} {:?} {}", one.variable, one.member.as_deref(), one.place());
        let texts: Vec<String> = all.iter().map(text).collect();
        assert_eq!(texts, [r#"a Some("ca") g/nats: tls.ca"#, "b None g/nats: tls.ca"]);
        assert_eq!(groups(&all, &["b"].into()), ["g"]);
        assert_eq!(groups(&all, &["c"].into()), [""; 0]);
    }

    #[test]
    fn values_that_databases_and_stored_data_keep_are_found() {
        use Storage::{Database, StoredData};
        for (job, properties, wanted) in [
            (
                "postgres",
                r#"{"databases": {"roles": [{"password": "((p))"}]}}"#,
                Some(Database),
            ),
            ("pxc-mysql", r#"{"admin_password": "((p))"}"#, Some(Database)),
            ("db", r#"{"seeded_databases": [{"password": "((p))"}]}"#, Some(Database)),
            (
                "uaa",
                r#"{"uaadb": {"roles": [{"password": "((p))"}]}}"#,
                Some(Database),
            ),
            (
                "bbs",
                r#"{"diego": {"bbs": {"sql": {"db_password": "((p))"}}}}"#,
                Some(Database),
            ),
            (
                "credhub",
                r#"{"credhub": {"data_storage": {"password": "((p))"}}}"#,
                Some(Database),
            ),
            (
                "credhub",
                r#"{"encryption": {"keys": [{"key_properties": {"x": "((p))"}}]}}"#,
                Some(StoredData),
            ),
            ("api", r#"{"cc": {"db_encryption_key": "((p))"}}"#, Some(StoredData)),
            ("nats", r#"{"nats": {"password": "((p))"}}"#, None),
            ("uaa", r#"{"uaa": {"clients": {"x": {"secret": "((p))"}}}}"#, None),
        ] {
            assert_eq!(found(job, properties)[0].storage(), wanted, "{job} {properties}");
        }
    }
}
