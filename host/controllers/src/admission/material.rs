//! The TLS material of the webhook: its own certificate authority, the serving certificate, and when to replace which.
//! Pure, except for [`make`].
//!
//! # Guarantees
//! A certificate is served only after its authority was published to the API server: a new authority is published
//! beside the old one, and signs only after both have been in the configuration for a while.

use crate::secret::member;
use boson_cluster::objects::entry;
use boson_credentials::{ErrorKind, Issued, KeySize, Request, RsaKey, Source, System, generate};
use boson_document::Tree;
use data_encoding::HEXLOWER;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Validity of an authority and of a certificate, in days. Both are replaced when a third is left.
const AUTHORITY_DAYS: u32 = 1095;
const LEAF_DAYS: u32 = 90;
/// How long after its publication an authority signs: by then all API servers have the new configuration.
pub(super) const SIGNING_DELAY: Duration = Duration::from_secs(60);
/// Certificates are backdated by this, because the clocks of two machines differ.
const CLOCK_SKEW: Duration = HOUR;

/// A certificate and its key, PEM.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pair {
    pub certificate: String,
    pub key: String,
}

/// The content of the Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Material {
    /// The authority that signs.
    pub authority: Pair,
    pub next: Option<Pair>,
    /// The certificate of the previous authority: its leaf may still be served by a process.
    pub previous: Option<String>,
    pub leaf: Pair,
    /// The names of the serving certificate.
    pub names: Vec<String>,
    /// The secret part of the address.
    pub path: String,
    /// The key of digests of links. It stays as long as the Secret exists: with another key, all consumers of links
    /// would roll. None in a Secret of an earlier operator.
    pub digest_key: Option<String>,
}

/// Why material cannot be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum MaterialError {
    #[error(transparent)]
    Generate(#[from] ErrorKind),
    /// A generated value lacks a member: a defect.
    #[error("{0}")]
    Member(String),
    #[error("the task crashed")]
    Crashed,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Keep,
    /// There is no usable material: create all of it.
    Make,
    /// Create the next authority, and publish it.
    Announce,
    /// The next authority signs from now on.
    Promote,
    /// Create another certificate with the same authority.
    Renew,
}

/// Decides. `published`: for each configuration, its authorities, which the API server trusts; none if it does not
/// exist.
pub(super) fn plan(
    material: Option<&Material>,
    names: &[String],
    published: &[Option<String>],
    now: SystemTime,
) -> Step {
    let Some(material) = material else { return Step::Make };
    let authority = Issued::from_pem(&material.authority.certificate);
    let Some(authority) = authority.filter(|authority| authority.not_after > now) else {
        return Step::Make;
    };
    if let Some(next) = &material.next {
        let is_in = |bundle: &Option<String>| bundle.as_ref().is_some_and(|all| all.contains(next.certificate.trim()));
        let announced = published.iter().all(is_in);
        let can_sign =
            Issued::from_pem(&next.certificate).is_some_and(|next| next.not_before + CLOCK_SKEW + SIGNING_DELAY <= now);
        if announced && can_sign {
            return Step::Promote;
        }
    } else if is_due(&authority, now) {
        return Step::Announce;
    }
    let leaf = Issued::from_pem(&material.leaf.certificate);
    let is_leaf_due = leaf.is_none_or(|leaf| is_due(&leaf, now) || leaf.not_after > authority.not_after + DAY);
    if is_leaf_due || material.names != names || material.digest_key.is_none() {
        return Step::Renew;
    }
    Step::Keep
}

/// Whether only a third of its validity is left.
fn is_due(issued: &Issued, now: SystemTime) -> bool {
    let life = issued.not_after.duration_since(issued.not_before).unwrap_or_default();
    issued.not_after.checked_sub(life / 3).is_none_or(|due| due <= now)
}

/// The material after a step. Slow, because it generates keys.
///
/// # Errors
/// The system provides no randomness.
#[expect(clippy::disallowed_methods, reason = "the keeper calls it")]
pub(super) fn make(step: Step, old: Option<Material>, names: &[String]) -> Result<Material, MaterialError> {
    let digest_key = old.as_ref().and_then(|old| old.digest_key.clone());
    let digest_key = Some(digest_key.map_or_else(token, Ok)?);
    let Some(old) = old.filter(|_| step != Step::Make) else {
        let authority = authority()?;
        return Ok(Material {
            leaf: leaf(&authority, names)?,
            authority,
            next: None,
            previous: None,
            names: names.to_vec(),
            path: token()?,
            digest_key,
        });
    };
    let old = Material { digest_key, ..old };
    match (step, old.next.clone()) {
        (Step::Announce, _) => Ok(Material {
            next: Some(authority()?),
            ..old
        }),
        (Step::Promote, Some(next)) => Ok(Material {
            leaf: leaf(&next, names)?,
            previous: Some(old.authority.certificate.clone()),
            authority: next,
            next: None,
            names: names.to_vec(),
            ..old
        }),
        (Step::Renew, _) => renew(old, names, SystemTime::now()),
        _ => Ok(old),
    }
}

/// With another certificate of the same authority.
fn renew(old: Material, names: &[String], now: SystemTime) -> Result<Material, MaterialError> {
    // If the certificate is due, two months have passed since the previous authority signed anything. Other names come
    // at any time: another process may still serve a certificate of the previous authority.
    let is_old = Issued::from_pem(&old.leaf.certificate).is_none_or(|leaf| is_due(&leaf, now));
    Ok(Material {
        leaf: leaf(&old.authority, names)?,
        previous: old.previous.filter(|_| !is_old),
        names: names.to_vec(),
        ..old
    })
}

fn authority() -> Result<Pair, MaterialError> {
    let options = options("boson webhook authority", AUTHORITY_DAYS).with("is_ca", true);
    pair(&options, None)
}

fn leaf(authority: &Pair, names: &[String]) -> Result<Pair, MaterialError> {
    let names = names.iter().map(|name| Tree::from(name.as_str())).collect();
    let options = options("boson webhook", LEAF_DAYS)
        .with("ca", "authority")
        .with("alternative_names", Tree::Array(names));
    let signer = Tree::object()
        .with("certificate", authority.certificate.as_str())
        .with("private_key", authority.key.as_str());
    pair(&options, Some(&signer))
}

fn options(name: &str, days: u32) -> Tree {
    Tree::object()
        .with("common_name", name)
        .with("organization", "Boson")
        .with("key_length", 2048_u32)
        .with("duration", days)
}

fn pair(options: &Tree, signer: Option<&Tree>) -> Result<Pair, MaterialError> {
    let request = Request {
        name: "webhook",
        kind: "certificate",
        options,
        signer,
    };
    let value = generate(&request, &BackdatedSystem(System::new())).map_err(|error| error.kind)?;
    let text = |key| member(&value, key).map_err(|error| MaterialError::Member(error.to_string()));
    Ok(Pair {
        certificate: text("certificate")?,
        key: text("private_key")?,
    })
}

fn token() -> Result<String, MaterialError> {
    let mut bytes = [0; 20];
    System::new().fill(&mut bytes)?;
    Ok(HEXLOWER.encode(&bytes))
}

/// The system's randomness, and a clock that is backdated.
struct BackdatedSystem(System);

impl Source for BackdatedSystem {
    fn now(&self) -> SystemTime {
        let now = self.0.now();
        now.checked_sub(CLOCK_SKEW).unwrap_or(now)
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<(), ErrorKind> {
        self.0.fill(bytes)
    }

    fn key(&self, size: KeySize) -> Result<RsaKey, ErrorKind> {
        self.0.key(size)
    }
}

// === impl Material ===

impl Material {
    /// The material in a Secret, if it is complete.
    pub(super) fn read(secret: &Secret) -> Option<Self> {
        let text = |key: &str| entry(secret, key).filter(|text| !text.is_empty());
        let pair = |certificate, key| {
            Some(Pair {
                certificate: text(certificate)?,
                key: text(key)?,
            })
        };
        Some(Self {
            authority: pair("ca.crt", "ca.key")?,
            next: pair("next-ca.crt", "next-ca.key"),
            previous: text("previous-ca.crt"),
            leaf: pair("tls.crt", "tls.key")?,
            names: text("names")?.split(' ').map(str::to_string).collect(),
            path: text("path")?,
            digest_key: text("digest-key"),
        })
    }

    /// The data of the Secret.
    pub(super) fn data(&self) -> BTreeMap<String, ByteString> {
        let names = self.names.join(" ");
        let mut texts = vec![
            ("ca.crt", &self.authority.certificate),
            ("ca.key", &self.authority.key),
            ("tls.crt", &self.leaf.certificate),
            ("tls.key", &self.leaf.key),
            ("names", &names),
            ("path", &self.path),
        ];
        if let Some(next) = &self.next {
            texts.extend([("next-ca.crt", &next.certificate), ("next-ca.key", &next.key)]);
        }
        texts.extend(self.previous.as_ref().map(|previous| ("previous-ca.crt", previous)));
        texts.extend(self.digest_key.as_ref().map(|key| ("digest-key", key)));
        let entry = |(key, text): (&str, &String)| (key.to_string(), ByteString(text.clone().into_bytes()));
        texts.into_iter().map(entry).collect()
    }

    /// The authorities that the API server must trust, PEM.
    pub(super) fn bundle(&self) -> String {
        let next = self.next.as_ref().map(|next| &next.certificate);
        let all = [Some(&self.authority.certificate), next, self.previous.as_ref()];
        all.into_iter()
            .flatten()
            .map(|one| format!("{}\n", one.trim()))
            .collect()
    }
}

impl fmt::Debug for Pair {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pair")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        vec!["a.b.svc".into()]
    }

    #[expect(clippy::disallowed_methods, reason = "certificates of tests are valid from now on")]
    fn after(days: u32) -> SystemTime {
        SystemTime::now() + DAY * days
    }

    #[test]
    fn an_authority_is_replaced_only_after_the_next_was_published() {
        assert_eq!(plan(None, &names(), &[None], after(0)), Step::Make);
        let first = make(Step::Make, None, &names()).unwrap();
        let published = first.bundle();
        assert_eq!(
            plan(Some(&first), &names(), &[Some(published.clone())], after(0)),
            Step::Keep
        );
        assert_eq!(
            plan(Some(&first), &names(), &[Some(published.clone())], after(740)),
            Step::Announce
        );
        let both = make(Step::Announce, Some(first.clone()), &names()).unwrap();
        assert_eq!(both.leaf, first.leaf, "the next authority signs nothing yet");
        assert_eq!(
            plan(Some(&both), &names(), &[Some(published.clone())], after(1)),
            Step::Keep,
            "not published yet"
        );
        let bundle = both.bundle();
        assert!(bundle.starts_with(&published) && bundle.len() > published.len());
        assert_eq!(
            plan(Some(&both), &names(), &[Some(bundle.clone())], after(0)),
            Step::Keep,
            "just published"
        );
        let everywhere = [Some(bundle.clone()), Some(bundle.clone())];
        assert_eq!(plan(Some(&both), &names(), &everywhere, after(1)), Step::Promote);
        for other in [None, Some(published)] {
            let here = [Some(bundle.clone()), other];
            assert_eq!(
                plan(Some(&both), &names(), &here, after(1)),
                Step::Keep,
                "one configuration lacks it"
            );
        }
        let second = make(Step::Promote, Some(both), &names()).unwrap();
        assert!(
            second.bundle().contains(first.authority.certificate.trim()),
            "its leaf may still be served"
        );
        assert_eq!(second.path, first.path);
        assert_eq!(
            plan(Some(&second), &names(), &[Some(bundle.clone())], after(1)),
            Step::Keep
        );
        let third = |now: SystemTime| renew(second.clone(), &names(), now).unwrap();
        assert_eq!(third(after(0)).authority, second.authority);
        assert_eq!(
            third(after(0)).previous,
            second.previous,
            "other names, right after the rotation"
        );
        assert_eq!(third(after(61)).previous, None);
    }

    #[test]
    fn a_certificate_is_renewed_a_month_before_its_end_and_when_its_names_change() {
        let first = make(Step::Make, None, &names()).unwrap();
        assert_eq!(plan(Some(&first), &names(), &[None], after(58)), Step::Keep);
        assert_eq!(plan(Some(&first), &names(), &[None], after(61)), Step::Renew);
        assert_eq!(plan(Some(&first), &["c".to_string()], &[None], after(0)), Step::Renew);
        assert_eq!(
            plan(Some(&first), &names(), &[None], after(1096)),
            Step::Make,
            "all of it has expired"
        );
    }

    #[test]
    fn the_key_of_digests_outlives_all_certificates() {
        let first = make(Step::Make, None, &names()).unwrap();
        assert!(first.digest_key.is_some());
        for step in [Step::Make, Step::Announce, Step::Renew] {
            let next = make(step, Some(first.clone()), &names()).unwrap();
            assert_eq!(next.digest_key, first.digest_key, "{step:?}");
        }
        let earlier = Material {
            digest_key: None,
            ..first
        };
        assert_eq!(plan(Some(&earlier), &names(), &[None], after(0)), Step::Renew);
        assert!(make(Step::Renew, Some(earlier), &names()).unwrap().digest_key.is_some());
    }

    #[test]
    fn an_incomplete_secret_counts_as_empty() {
        let first = make(Step::Make, None, &names()).unwrap();
        let full = make(Step::Announce, Some(first), &names()).unwrap();
        let mut secret = Secret {
            data: Some(full.data()),
            ..Secret::default()
        };
        assert_eq!(Material::read(&secret), Some(full));
        secret.data.as_mut().unwrap().remove("tls.key");
        assert_eq!(Material::read(&secret), None);
    }
}
