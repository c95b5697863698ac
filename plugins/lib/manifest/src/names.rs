//! Names of Kubernetes objects: sanitized, cut to their limits, and checked for conflicts.
//!
//! A [`Names`] knows the deployment and gives the name of everything made for it. A name over its limit keeps its first
//! characters and ends in the md5 of the whole. Sanitizing removes differences (`a_b` and `a-b` get the same name):
//! code that makes objects from several inputs [claims](NameClaims::claim) each name, so that a conflict is an error
//! and not a lost object.

use boson_contract::types::Deployment;
use md5::{Digest, Md5};
use std::collections::HashMap;

/// Longest DNS label: Services, containers, ports' hosts, label values.
pub const MAX_LABEL_LENGTH: usize = 63;
/// Longest DNS name: Secrets, and the full address of a Service.
pub const MAX_SUBDOMAIN_LENGTH: usize = 253;
/// Longest name of a StatefulSet: its pods carry name and revision hash in one label.
pub const MAX_STATEFUL_SET_LENGTH: usize = 52;
/// Length of an md5 in hexadecimal digits.
const DIGEST_DIGITS: usize = 32;

/// Why there is no such name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing is left of it once it is sanitized.
    #[error("The name '{input}' of the {what} has no letter or digit that Kubernetes accepts in names")]
    Empty {
        /// What it names: `instance group`.
        what: &'static str,
        /// As the user wrote it.
        input: String,
    },
    /// Names of Services begin with the deployment's, and must begin with a letter.
    #[error("The deployment name '{deployment}' does not begin with a letter, as names of Kubernetes Services must")]
    NoLetter { deployment: String },
    /// What follows the Service's name in an address is too long for the digest of a shortened name.
    #[error(
        "The address '{service}{suffix}' has more than {MAX_SUBDOMAIN_LENGTH} characters, and '{suffix}' is too long to shorten the name"
    )]
    AddressTooLong {
        /// Name of the Service before it is cut.
        service: String,
        /// All from the first dot on.
        suffix: String,
    },
    /// Two inputs have the same name.
    #[error("{first} and {second} have the same {kind} name '{name}' in Kubernetes")]
    Conflict {
        /// Kind of the object.
        kind: &'static str,
        name: String,
        /// Who has it.
        first: String,
        /// Who wants it too.
        second: String,
    },
}

/// A DNS label of any text: `_` to `-`, lower case, nothing outside `[a-z0-9-]`, no `-` at either end. May be empty;
/// not cut.
pub fn label(text: &str) -> String {
    canonical(text).trim_matches('-').to_string()
}

/// The value of a label that names `text`.
pub fn label_value(text: &str) -> String {
    cut(&label(text), "", MAX_LABEL_LENGTH)
}

/// BOSH's canonical form of a name, as parts of DNS names have it.
pub fn canonical(text: &str) -> String {
    kept(text, false)
}

/// A DNS subdomain of any text: as [`label`], but dots stay between labels that are not empty. May be empty; not cut.
pub fn subdomain(text: &str) -> String {
    let kept = kept(text, true);
    let labels: Vec<&str> = kept
        .split('.')
        .map(|part| part.trim_matches('-'))
        .filter(|part| !part.is_empty())
        .collect();
    labels.join(".")
}

fn kept(text: &str, dots: bool) -> String {
    let lower = text
        .chars()
        .map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() });
    lower
        .filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-' || (dots && *c == '.'))
        .collect()
}

/// A name of at most `limit` characters that ends in `ending`: the base, or its first characters and its digest.
///
/// A limit that the digest does not fit into cuts the digest.
pub fn cut(base: &str, ending: &str, limit: usize) -> String {
    let space = limit.saturating_sub(ending.len());
    if base.len() <= space {
        return format!("{base}{ending}");
    }
    let digest = format!("{:x}", Md5::digest(base));
    let start: String = base.chars().take(space.saturating_sub(DIGEST_DIGITS)).collect();
    format!("{start}{}{ending}", &digest[..DIGEST_DIGITS.min(space)])
}

/// What [`cut`] gives for a name with another ending and limit, from what it gave at [`MAX_LABEL_LENGTH`]: a name is
/// cut once, however many objects are named after it.
pub fn cut_again(name: &str, ending: &str, limit: usize) -> String {
    let space = limit.saturating_sub(ending.len());
    let start = MAX_LABEL_LENGTH - DIGEST_DIGITS;
    let digest = name.get(start..).filter(|digest| is_digest(digest));
    match digest {
        Some(digest) if (DIGEST_DIGITS..MAX_LABEL_LENGTH).contains(&space) => {
            format!("{}{digest}{ending}", &name[..space - DIGEST_DIGITS])
        }
        _ => cut(name, ending, limit),
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == DIGEST_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Name of a container, an init container or a volume of a pod.
pub fn container(parts: &[&str]) -> String {
    label_value(&parts.join("-"))
}

/// The names of one deployment's objects.
#[derive(Clone, Debug)]
pub struct Names {
    deployment: String,
    subdomain: String,
    /// `<cluster domain>`
    domain: String,
    /// `.<namespace>.svc.<cluster domain>`
    suffix: String,
}

// === impl Names ===

impl Names {
    /// The names of a deployment in this namespace.
    ///
    /// # Errors
    /// A deployment whose sanitized name does not begin with a letter.
    pub fn new(deployment: &str, namespace: &str, cluster_domain: &str) -> Result<Self, NameError> {
        let (name, subdomain) = (label(deployment), subdomain(deployment));
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Err(NameError::NoLetter {
                deployment: deployment.into(),
            });
        }
        let domain = cluster_domain.trim_matches('.');
        Ok(Self {
            deployment: name,
            subdomain,
            domain: domain.into(),
            suffix: format!(".{namespace}.svc.{domain}"),
        })
    }

    /// The names of this deployment.
    ///
    /// # Errors
    /// As [`Names::new`].
    pub fn of(deployment: &Deployment) -> Result<Self, NameError> {
        Self::new(&deployment.name, &deployment.namespace, &deployment.cluster_domain)
    }

    /// The deployment as a label value and as the beginning of other names.
    pub fn deployment(&self) -> String {
        cut(&self.deployment, "", MAX_LABEL_LENGTH)
    }

    // --- QuarksJobs of the conversion ---

    /// QuarksJob that writes the desired manifest.
    pub fn variable_interpolation(&self) -> String {
        cut(&format!("var-interpolation-{}", self.deployment), "", MAX_LABEL_LENGTH)
    }

    /// QuarksJob that writes the resolved groups.
    pub fn data_gathering(&self) -> String {
        cut(&format!("data-gathering-{}", self.deployment), "", MAX_LABEL_LENGTH)
    }

    /// QuarksJob that writes the rendered bpm.
    pub fn bpm_configs(&self) -> String {
        cut(&format!("bpm-configs-{}", self.deployment), "", MAX_LABEL_LENGTH)
    }

    /// Is this the name of one of these?
    pub fn is_conversion(&self, job: &str) -> bool {
        let all = [self.variable_interpolation(), self.data_gathering(), self.bpm_configs()];
        all.iter().any(|name| name == job)
    }

    // --- Secrets ---

    /// Secret with the manifest, ops applied.
    pub fn with_ops(&self) -> String {
        self.secret("with-ops", "")
    }

    /// Secret with the manifest, variables replaced; without a version: the series.
    pub fn desired_manifest(&self, version: Option<u32>) -> String {
        self.secret("desired-manifest", &version_ending(version))
    }

    /// Secret with the links that the deployment provides; without a version: the series.
    pub fn links(&self, version: Option<u32>) -> String {
        self.secret("links", &version_ending(version))
    }

    /// Secret with the links from outside of the deployment; without a version: the series.
    pub fn external_links(&self, version: Option<u32>) -> String {
        self.secret("external-links", &version_ending(version))
    }

    /// Secret with the resolved document of a group; without a version: the series.
    ///
    /// # Errors
    /// A group name of which nothing is left.
    pub fn resolved(&self, group: &str, version: Option<u32>) -> Result<String, NameError> {
        let rest = format!("ig-resolved.{}", group_label(group)?);
        Ok(self.secret(&rest, &version_ending(version)))
    }

    /// Secret with the rendered bpm of a group; without a version: the series.
    ///
    /// # Errors
    /// A group name of which nothing is left.
    pub fn bpm(&self, group: &str, version: Option<u32>) -> Result<String, NameError> {
        Ok(self.secret(&format!("bpm.{}", group_label(group)?), &version_ending(version)))
    }

    /// QuarksSecret and Secret of a variable that the manifest defines.
    ///
    /// # Errors
    /// A variable name of which nothing is left.
    pub fn variable(&self, variable: &str) -> Result<String, NameError> {
        Ok(self.secret(&named("var-", variable, "variable")?, ""))
    }

    /// Secret of a variable that the manifest only uses, made by the user.
    ///
    /// # Errors
    /// A variable name of which nothing is left.
    pub fn implicit_variable(&self, variable: &str) -> Result<String, NameError> {
        Ok(self.secret(&named("var-implicit-", variable, "variable")?, ""))
    }

    /// Is this the name of a Secret with the value of a variable of this deployment?
    pub fn is_variable(&self, secret: &str) -> bool {
        secret
            .strip_prefix(&self.subdomain)
            .is_some_and(|rest| rest.starts_with(".var-"))
    }

    /// Image pull Secret of a release with credentials.
    ///
    /// # Errors
    /// A release name of which nothing is left.
    pub fn release_credentials(&self, release: &str) -> Result<String, NameError> {
        Ok(self.secret(&named("release-", release, "release")?, ""))
    }

    /// Secret with the properties of a link.
    pub fn link(&self, kind: &str, name: &str) -> String {
        let base = subdomain(&format!("link-{}-{kind}-{name}", self.subdomain));
        cut(&base, "", MAX_SUBDOMAIN_LENGTH)
    }

    /// ConfigMap with the job sources of a group that have this digest.
    ///
    /// # Errors
    /// A group name of which nothing is left.
    pub fn job_sources(&self, group: &str, digest: &str) -> Result<String, NameError> {
        Ok(self.secret(&format!("job-sources.{}", group_label(group)?), &format!("-{digest}")))
    }

    // --- what `host deploy` stores ---

    /// ConfigMap that records a deploy.
    pub fn revision(&self, number: u64) -> String {
        self.secret("revision", &format!("-{number}"))
    }

    /// ConfigMap with a document: `manifest`, `ops`, `cloud-config` or `runtime-config`.
    pub fn document(&self, key: &str, digest: &str) -> String {
        self.secret(key, &format!("-{digest}"))
    }

    /// Secret with the value of a variable since this deploy.
    ///
    /// # Errors
    /// A variable name of which nothing is left.
    pub fn given_variable(&self, variable: &str, revision: u64) -> Result<String, NameError> {
        Ok(self.secret(&named("given-", variable, "variable")?, &format!("-{revision}")))
    }

    fn secret(&self, rest: &str, ending: &str) -> String {
        cut(&format!("{}.{rest}", self.subdomain), ending, MAX_SUBDOMAIN_LENGTH)
    }

    // --- workloads ---

    /// QuarksStatefulSet, or QuarksJob of an errand: `<deployment>-<group>`.
    ///
    /// # Errors
    /// A group name of which nothing is left.
    pub fn group(&self, group: &str) -> Result<String, NameError> {
        Ok(cut(&self.group_base(group)?, "", MAX_LABEL_LENGTH))
    }

    /// StatefulSet of a version of a group in its zone number `az` (from 0; none: a group without zones).
    ///
    /// # Errors
    /// A group name of which nothing is left.
    pub fn stateful_set(&self, group: &str, az: Option<u32>, version: u32) -> Result<String, NameError> {
        let zone = az.map_or_else(String::new, |az| format!("-z{az}"));
        let ending = format!("{zone}-v{version}");
        Ok(cut(&self.group_base(group)?, &ending, MAX_STATEFUL_SET_LENGTH))
    }

    fn group_base(&self, group: &str) -> Result<String, NameError> {
        Ok(format!("{}-{}", self.deployment, group_label(group)?))
    }

    // --- Services ---

    /// Headless Service of a group.
    ///
    /// # Errors
    /// A group name of which nothing is left, a namespace and domain that are too long.
    pub fn service(&self, group: &str) -> Result<String, NameError> {
        self.fit(self.group_base(group)?)
    }

    /// Service of the instance with this `spec.index`.
    ///
    /// # Errors
    /// As [`Names::service`].
    pub fn instance_service(&self, group: &str, index: u32) -> Result<String, NameError> {
        self.fit(format!("{}-{index}", self.group_base(group)?))
    }

    /// Full DNS name of a group's headless Service: `link().address`.
    ///
    /// # Errors
    /// As [`Names::service`].
    pub fn group_address(&self, group: &str) -> Result<String, NameError> {
        Ok(self.service(group)? + &self.suffix)
    }

    /// Full DNS name of an instance's Service: `spec.address`.
    ///
    /// # Errors
    /// As [`Names::service`].
    pub fn instance_address(&self, group: &str, index: u32) -> Result<String, NameError> {
        Ok(self.instance_service(group, index)? + &self.suffix)
    }

    /// Full DNS name of any Service of the deployment's namespace.
    pub fn address(&self, service: &str) -> String {
        format!("{service}{}", self.suffix)
    }

    /// Full DNS name of a Service of another namespace.
    pub fn address_in(&self, service: &str, namespace: &str) -> String {
        format!("{service}.{namespace}.svc.{}", self.domain)
    }

    fn fit(&self, service: String) -> Result<String, NameError> {
        let limit = MAX_SUBDOMAIN_LENGTH
            .saturating_sub(self.suffix.len())
            .min(MAX_LABEL_LENGTH);
        // With no character before it, a digest could begin the name with a digit.
        if service.len() > limit && limit <= DIGEST_DIGITS {
            return Err(NameError::AddressTooLong {
                service,
                suffix: self.suffix.clone(),
            });
        }
        Ok(cut(&service, "", limit))
    }
}

fn group_label(group: &str) -> Result<String, NameError> {
    not_empty(label(group), group, "instance group")
}

/// Sanitized together, as the predecessor did: users know these names.
fn named(prefix: &str, input: &str, what: &'static str) -> Result<String, NameError> {
    not_empty(subdomain(input), input, what)?;
    Ok(subdomain(&format!("{prefix}{input}")))
}

/// `sanitized`: what is left of the input.
fn not_empty(sanitized: String, input: &str, what: &'static str) -> Result<String, NameError> {
    if sanitized.is_empty() {
        return Err(NameError::Empty {
            what,
            input: input.into(),
        });
    }
    Ok(sanitized)
}

fn version_ending(version: Option<u32>) -> String {
    version.map_or_else(String::new, |version| format!("-v{version}"))
}

/// The names in use, and who uses them.
#[derive(Clone, Debug, Default)]
pub struct NameClaims(HashMap<(&'static str, String), String>);

// === impl NameClaims ===

impl NameClaims {
    /// Takes a name of a kind (`Service`) for an input (`instance group 'nats'`). The same input may take it again.
    ///
    /// # Errors
    /// Another input has it.
    pub fn claim(&mut self, kind: &'static str, name: &str, by: &str) -> Result<(), NameError> {
        let first = self.0.entry((kind, name.to_string())).or_insert_with(|| by.to_string());
        if first == by {
            return Ok(());
        }
        Err(NameError::Conflict {
            kind,
            name: name.into(),
            first: first.clone(),
            second: by.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names::new("nats-deployment", "default", "cluster.local").unwrap()
    }

    #[test]
    fn the_sources_examples_have_the_sources_names() {
        let names = names();
        assert_eq!(names.with_ops(), "nats-deployment.with-ops");
        assert_eq!(names.desired_manifest(Some(1)), "nats-deployment.desired-manifest-v1");
        assert_eq!(
            names.resolved("nats", Some(1)).unwrap(),
            "nats-deployment.ig-resolved.nats-v1"
        );
        assert_eq!(names.bpm("nats", None).unwrap(), "nats-deployment.bpm.nats");
        assert_eq!(
            names.variable("nats-password").unwrap(),
            "nats-deployment.var-nats-password"
        );
        assert_eq!(
            names.implicit_variable("system-domain").unwrap(),
            "nats-deployment.var-implicit-system-domain"
        );
        assert_eq!(
            names.release_credentials("nats").unwrap(),
            "nats-deployment.release-nats"
        );
        assert_eq!(names.link("nats", "nats-tls"), "link-nats-deployment-nats-nats-tls");
        assert_eq!(names.group("nats").unwrap(), "nats-deployment-nats");
        assert_eq!(names.stateful_set("nats", None, 1).unwrap(), "nats-deployment-nats-v1");
        assert_eq!(
            names.stateful_set("nats", Some(0), 2).unwrap(),
            "nats-deployment-nats-z0-v2"
        );
        assert_eq!(names.service("nats").unwrap(), "nats-deployment-nats");
        assert_eq!(
            names.instance_address("nats", 1).unwrap(),
            "nats-deployment-nats-1.default.svc.cluster.local"
        );
        assert_eq!(
            names.group_address("nats").unwrap(),
            "nats-deployment-nats.default.svc.cluster.local"
        );
        assert_eq!(names.variable_interpolation(), "var-interpolation-nats-deployment");
    }

    #[test]
    fn texts_are_sanitized() {
        for (text, as_label, as_subdomain) in [
            ("Diego_Cell", "diego-cell", "diego-cell"),
            ("-a.b-", "ab", "a.b"),
            ("a.-b..c.", "a-bc", "a.b.c"),
            ("/cred/hub", "credhub", "credhub"),
            ("é!", "", ""),
        ] {
            assert_eq!(
                (label(text).as_str(), subdomain(text).as_str()),
                (as_label, as_subdomain),
                "{text}"
            );
        }
        assert_eq!(names().variable("-x_Y.").unwrap(), "nats-deployment.var--x-y");
    }

    #[test]
    fn a_long_service_name_keeps_31_characters_and_its_digest() {
        let group = "g".repeat(60);
        let full = format!("nats-deployment-{group}-7");
        let expected = format!("{}{:x}", &full[..31], Md5::digest(&full));
        assert_eq!(names().instance_service(&group, 7).unwrap(), expected);
        assert_eq!(expected.len(), 63);
        let fits = "g".repeat(63 - "nats-deployment-".len());
        assert_eq!(names().service(&fits).unwrap(), format!("nats-deployment-{fits}"));
    }

    #[test]
    fn a_long_address_cuts_the_service_until_its_digest_has_no_room() {
        let group = "g".repeat(40);
        let domain = |suffix: usize| "d".repeat(suffix - ".ns.svc.".len());
        let tight = Names::new("dep", "ns", &domain(220)).unwrap();
        let address = tight.instance_address(&group, 0).unwrap();
        assert_eq!(address.len(), 253);
        assert!(address.starts_with('d'), "{address}");
        let over = Names::new("dep", "ns", &domain(221)).unwrap();
        assert!(matches!(
            over.instance_address(&group, 0),
            Err(NameError::AddressTooLong { .. })
        ));
        assert!(
            over.instance_address("g", 0).is_ok(),
            "a name that needs no cut is fine"
        );
    }

    #[test]
    fn a_stateful_set_is_cut_before_its_ending() {
        let name = names().stateful_set(&"g".repeat(60), Some(1), 12).unwrap();
        assert_eq!(name.len(), MAX_STATEFUL_SET_LENGTH);
        assert!(name.starts_with("nats-deploym") && name.ends_with("-z1-v12"), "{name}");
        let other = names()
            .stateful_set(&format!("{}x", "g".repeat(59)), Some(1), 12)
            .unwrap();
        assert_ne!(name, other);
        let most = names().stateful_set(&"g".repeat(60), Some(u32::MAX), u32::MAX).unwrap();
        assert_eq!(most.len(), MAX_STATEFUL_SET_LENGTH);
    }

    #[test]
    fn a_name_that_was_cut_is_not_cut_from_its_cut_form() {
        for length in [1, 31, 40, 62, 63, 64, 200] {
            let full = "g".repeat(length);
            let set = cut(&full, "", MAX_LABEL_LENGTH);
            let expected = cut(&full, "-z1-v12", MAX_STATEFUL_SET_LENGTH);
            assert_eq!(
                cut_again(&set, "-z1-v12", MAX_STATEFUL_SET_LENGTH),
                expected,
                "{length}"
            );
        }
    }

    #[test]
    fn a_long_secret_is_cut_at_253() {
        let name = names().resolved(&"g".repeat(300), Some(3)).unwrap();
        assert_eq!(name.len(), MAX_SUBDOMAIN_LENGTH);
        assert!(name.ends_with("-v3"));
    }

    #[test]
    fn names_that_cannot_be_are_refused() {
        for deployment in ["3scale", "", "__", "-9a"] {
            assert!(
                matches!(Names::new(deployment, "ns", "d"), Err(NameError::NoLetter { .. })),
                "{deployment}"
            );
        }
        assert!(matches!(
            names().group("__"),
            Err(NameError::Empty {
                what: "instance group",
                ..
            })
        ));
        assert!(matches!(
            names().variable("//"),
            Err(NameError::Empty { what: "variable", .. })
        ));
    }

    #[test]
    fn two_inputs_never_have_one_name() {
        let mut claims = NameClaims::default();
        claims.claim("Service", "dep-a-0", "instance group 'a-0'").unwrap();
        claims.claim("Service", "dep-a-0", "instance group 'a-0'").unwrap();
        claims.claim("Secret", "dep-a-0", "instance group 'a'").unwrap();
        let error = claims
            .claim("Service", "dep-a-0", "instance 0 of instance group 'a'")
            .unwrap_err();
        let text = "instance group 'a-0' and instance 0 of instance group 'a' have the same Service name 'dep-a-0' in Kubernetes";
        assert_eq!(error.to_string(), text);
    }
}
