//! The three steps of the rotation of a CA, which are those of CredHub with `concatenate_cas`. Pure.
//!
//! | step | in the Secret of the CA | `ca` of its certificates |
//! |---|---|---|
//! | 1 | the old CA signs; the new one is beside it, with its key | old, new |
//! | 2 | the new CA signs; the certificate of the old one is beside it | new, old |
//! | 3 | the new CA alone | new |
//!
//! # Guarantees
//! How far a rotation is follows from the Secret alone ([`crate::secret::position`]), and each step is one write of it.
//! The next step waits until all certificates of the CA have this one, and all instances that use them. So a
//! certificate of any instance verifies against what any other one trusts.

use crate::secret::observe::Observed;
use crate::secret::observe::consumers::{Consumers, Leaf};
use crate::secret::position::{Position, TRUSTED_KEY, certificate_beside, position};
use crate::secret::signer::{certificate_request, local_ca};
use crate::secret::stored::desired::{self, CertificateKeys};
use crate::secret::stored::marks;
use boson_api::QuarksSecret;
use boson_api::conditions::Finding;
use boson_api::secret::ROTATING;
use boson_cluster::objects::{annotation, entry};
use boson_credentials::{Issued, concatenated, contains, verifies};
use boson_pipeline::listing::first_of;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use std::time::SystemTime;

/// What a message lists at most.
const MAX_LISTED_WAITS: usize = 3;

/// What the next step waits for; nothing if the CA that ends its service has expired, since nothing verifies against it
/// any more.
pub fn unmet_conditions(secret: &Secret, keys: CertificateKeys, consumers: &Consumers, now: SystemTime) -> Vec<String> {
    let position = position(secret);
    let signing = entry(secret, keys.certificate).unwrap_or_default();
    let beside = certificate_beside(secret).unwrap_or_default();
    let old = if position == Position::Trusting {
        &signing
    } else {
        &beside
    };
    if Issued::from_pem(old).is_none_or(|old| old.not_after <= now) {
        return Vec::new();
    }
    let is_done = |leaf: &&Leaf| {
        let trusts = [&signing, &beside].iter().all(|one| contains(&leaf.ca, one));
        let is_signed = position == Position::Trusting || verifies(&leaf.certificate, &signing);
        trusts && is_signed && !leaf.is_rotating
    };
    let open = consumers.leaves.iter().filter(|leaf| !is_done(leaf));
    let leaves = open.map(|leaf| format!("certificate '{}'", leaf.name));
    leaves.chain(consumers.pending.iter().cloned()).collect()
}

/// The condition of a CA that is being rotated.
pub fn rotation_finding(position: Position, waits: &[String]) -> Option<Finding> {
    let (reason, step) = match position {
        Position::Settled => return None,
        Position::Trusting => ("Trusting", "step 1 of 3: the new CA is trusted beside the old one"),
        Position::Signing => (
            "Signing",
            "step 2 of 3: the new CA signs, and the old one is still trusted",
        ),
    };
    let message = format!("{step}; waiting for {}", first_of(waits, MAX_LISTED_WAITS, ", and "));
    Some(Finding::new(ROTATING, true, reason, message))
}

/// The CA that signs this certificate.
fn signing_ca<'o>(object: &QuarksSecret, observed: &'o Observed) -> Option<&'o str> {
    observed.str(certificate_request(object)?.ca_ref.as_ref()?).ok()
}

/// The CA beside the one that signs this certificate, if that is being rotated.
pub fn trusted_ca(object: &QuarksSecret, observed: &Observed) -> Option<String> {
    let ca = local_ca(object)?;
    certificate_beside(observed.referred.get(&ca.name)?.as_ref()?)
}

pub fn fingerprint(trusted: Option<&String>) -> Option<String> {
    trusted
        .and_then(|text| Issued::from_pem(text))
        .map(|issued| issued.fingerprint)
}

/// The Secret of a certificate with the CAs that its users trust now, if they have changed. The certificate stays.
pub fn with_present_cas(object: &QuarksSecret, observed: &Observed, secret: &Secret) -> Option<Secret> {
    let keys = desired::certificate_keys(object.spec.kind)?;
    let trusted = trusted_ca(object, observed);
    let wanted = fingerprint(trusted.as_ref());
    if annotation(&secret.metadata, marks::TRUSTED) == wanted.as_deref() {
        return None;
    }
    // The first one is that of the certificate. It is another one than the present CA if the value was imported so. The
    // entry of a CA that was rotated itself meanwhile may begin with an earlier one.
    let own = entry(secret, TRUSTED_KEY);
    let certificate = entry(secret, keys.certificate).unwrap_or_default();
    let signing = signing_ca(object, observed);
    let first = signing.filter(|ca| verifies(&certificate, ca)).or(own.as_deref());
    let all = [first, signing.filter(|_| trusted.is_some()), trusted.as_deref()];
    let text = Some(concatenated(all.into_iter().flatten())).filter(|text| !text.is_empty())?;
    let mut next = desired::with_trusted_ca(secret.clone(), wanted);
    let data = next.data.get_or_insert_default();
    data.insert(TRUSTED_KEY.into(), ByteString(text.into_bytes()));
    Some(next)
}
