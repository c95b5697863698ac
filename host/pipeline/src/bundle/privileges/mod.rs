//! Privileges of pods beyond those that every pod has. A plugin determines the content of pods, but must not thereby
//! gain access to nodes or the cluster: a pod gets only what the deployment asks for (its bpm.yml, the job property
//! `quarks`, the group's `env`) and what an administrator allows the plugin.

mod granted;
mod requested;

use crate::Diagnostic;
use crate::author::Author;
use crate::bundle::codes;
use crate::object::{name, object_error};
use boson_document::Tree;
use boson_manifest::dns::ACCOUNT;
use boson_manifest::sysctl;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::str::FromStr;

pub use granted::of_group;

/// A privilege of a pod: `privileged`, or with a value `capabilities=NET_ADMIN`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Privilege {
    field: &'static str,
    /// `None`: any value.
    value: Option<String>,
}

/// All privileges, by the names of the Kubernetes fields.
pub const FIELDS: [&str; 17] = [
    "allowPrivilegeEscalation",
    "appArmorProfile",
    "automountServiceAccountToken",
    "capabilities",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostPath",
    "hostPort",
    "hostProcess",
    "privileged",
    "procMount",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
    "serviceAccountName",
    "sysctls",
];

pub type Privileges = BTreeSet<Privilege>;

/// The privileges that the pods of a deployment may have, whichever plugin creates them.
#[derive(Clone, Debug, Default)]
pub struct GrantedPrivileges {
    /// By workload name: what its instance group asks for.
    groups: HashMap<String, Privileges>,
    /// Name of the Deployment that runs the deployment's DNS servers: its pods use their own account.
    dns: Option<String>,
}

/// The part of a pod that asks for a privilege.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Requester<'t> {
    Pod,
    Container(&'t str),
    InitContainer(&'t str),
}

#[derive(Clone, Debug)]
struct Request<'t> {
    privilege: Privilege,
    by: Requester<'t>,
    /// The field: `spec.template.spec.hostNetwork`.
    field: String,
}

/// The privileges that the pods of an object ask for, sorted.
pub fn of_object(object: &Tree) -> Privileges {
    let requests = requested::of_object(object).into_iter();
    requests.map(|request| request.privilege).collect()
}

// === impl Privilege ===

impl Privilege {
    fn any(field: &'static str) -> Self {
        Self { field, value: None }
    }

    fn of(field: &'static str, value: impl Into<String>) -> Self {
        Self {
            field,
            value: Some(value.into()),
        }
    }
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}", self.field),
            None => f.write_str(self.field),
        }
    }
}

impl FromStr for Privilege {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (field, value) = text
            .split_once('=')
            .map_or((text, None), |(field, value)| (field, Some(value)));
        let field = FIELDS.into_iter().find(|known| *known == field);
        let field = field.ok_or_else(|| format!("unknown privilege; the privileges are {}", FIELDS.join(", ")))?;
        let value = value.map(|value| match field {
            "capabilities" => capability(value),
            "sysctls" => sysctl::with_dots(value),
            _ => value.to_string(),
        });
        Ok(Self { field, value })
    }
}

/// Kubernetes and BPM accept capabilities with and without the prefix.
fn capability(name: &str) -> String {
    let name = name.to_ascii_uppercase();
    name.strip_prefix("CAP_").map(str::to_string).unwrap_or(name)
}

/// Whether the set has this privilege, or every value of its field.
fn contains(privileges: &Privileges, privilege: &Privilege) -> bool {
    privileges.contains(privilege) || privileges.contains(&Privilege::any(privilege.field))
}

// === impl GrantedPrivileges ===

impl GrantedPrivileges {
    /// Allows the Deployment with this name to use the ServiceAccount of the DNS servers.
    pub fn grant_dns(&mut self, deployment: String) {
        self.dns = Some(deployment);
    }

    /// Grants a workload the privileges that its group requests.
    pub fn grant(&mut self, workload: String, privileges: Privileges) {
        self.groups.insert(workload, privileges);
    }

    /// Checks the pods that an object creates. `before`: the object before the plugin changed it; `allowed`: what an
    /// administrator allows the plugin.
    ///
    /// A plugin that changes nothing of what the pods run may change an object with privileges that it does not have.
    ///
    /// # Errors
    /// The first privilege that a pod asks for and may not have.
    pub(crate) fn check(
        &self,
        object: &Tree,
        before: Option<&Tree>,
        author: &Author,
        allowed: &Privileges,
    ) -> Result<(), Diagnostic> {
        let group = match object.str("kind") {
            Some("QuarksStatefulSet" | "QuarksJob") => self.groups.get(name(object)),
            _ => None,
        };
        let is_dns = object.str("kind") == Some("Deployment") && self.dns.as_deref() == Some(name(object));
        let account = Privilege::of("serviceAccountName", ACCOUNT);
        let unchanged = before.filter(|before| requested::runs_the_same(before, object));
        let unchanged: Privileges = unchanged.map(of_object).unwrap_or_default();
        let requests = requested::of_object(object);
        let refused = requests
            .iter()
            .filter(|request| !unchanged.contains(&request.privilege))
            .filter(|request| !is_dns || request.privilege != account)
            .filter(|request| !contains(allowed, &request.privilege))
            .find(|request| !group.is_some_and(|group| is_allowed(group, request)));
        refused.map_or(Ok(()), |request| Err(refused_error(object, request, author)))
    }
}

/// Whether a workload of a group with these privileges may have this one.
fn is_allowed(group: &Privileges, request: &Request<'_>) -> bool {
    // As in BOSH, pre-start scripts run as root, and so do the containers that copy releases.
    let is_of_scripts =
        matches!(request.by, Requester::InitContainer(_)) && request.privilege == Privilege::of("runAsUser", "0");
    is_of_scripts || contains(group, &request.privilege)
}

fn refused_error(object: &Tree, Request { privilege, by, field }: &Request<'_>, author: &Author) -> Diagnostic {
    let who = match by {
        Requester::Pod => "its pods ask".to_string(),
        Requester::Container(name) => format!("its container '{name}' requests"),
        Requester::InitContainer(name) => format!("its init container '{name}' requests"),
    };
    let why = format!("{who} for '{privilege}' in {field}, which the deployment does not request");
    let help = format!(
        "request it in bpm.yml, the job property quarks.run or the group's env.bosh.agent.settings, or allow it with \
         --allow-privilege {}{privilege}",
        author.prefix()
    );
    object_error(object, codes::BUNDLE_PRIVILEGE, &why).help(help)
}
