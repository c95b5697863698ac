//! Value of a variable of type `certificate`.

use crate::options::{Kind, Options};
use crate::signer::{self, Signer};
use crate::signing::{Profile, SigningKey};
use crate::{ErrorKind, KeySize, RsaKey, SignerError, Source, pem_text};
use boson_document::Tree;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::builder::{self, Builder, CertificateBuilder, Result as Built};
use x509_cert::der::asn1::{Any, BitString, Ia5String, OctetString, SetOfVec};
use x509_cert::der::flagset::FlagSet;
use x509_cert::der::oid::db::{rfc4519, rfc5280};
use x509_cert::der::oid::{AssociatedOid, ObjectIdentifier};
use x509_cert::der::{Decode, Encode, Tag};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages, SubjectAltName,
    SubjectKeyIdentifier,
};
use x509_cert::ext::{Extension, ToExtension};
use x509_cert::name::{Name, RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::SubjectPublicKeyInfoOwned;
use x509_cert::time::{Time, Validity};

/// Names and types of the options, in alphabetical order.
pub(crate) const OPTIONS: &[(&str, Kind)] = &[
    ("alternative_names", Kind::Texts),
    ("ca", Kind::Text),
    ("common_name", Kind::Text),
    ("country", Kind::Text),
    ("duration", Kind::Int64),
    ("extended_key_usage", Kind::Texts),
    ("is_ca", Kind::Bool),
    ("key_length", Kind::Int),
    ("key_usage", Kind::Texts),
    ("locality", Kind::Text),
    ("organization", Kind::Text),
    ("organization_unit", Kind::Text),
    ("self_sign", Kind::Bool),
    ("state", Kind::Text),
];

/// Those of CredHub, which a director passes on. The bosh command line knows the others only.
const CREDHUB_OPTIONS: [&str; 6] = [
    "country",
    "key_usage",
    "locality",
    "organization_unit",
    "self_sign",
    "state",
];

/// What CredHub calls the options that it limits, and how many characters they have at most.
const MAX_ATTRIBUTE_LENGTHS: [(&str, &str, usize); 4] = [
    ("organization_unit", "organization unit", 64),
    ("locality", "locality", 128),
    ("state", "state", 128),
    ("country", "country", 2),
];

const DEFAULT_KEY_BITS: i64 = 3072;
const DEFAULT_VALIDITY_DAYS: i64 = 365;
/// BOSH counts in nanoseconds, 64 bits: more days overflow, and the certificate would be expired from the start.
const MAX_VALIDITY_DAYS: i64 = i64::MAX / 1_000_000_000 / 86_400;

struct Plan {
    size: KeySize,
    days: i64,
    is_ca: bool,
    self_sign: bool,
    ca: String,
    subject: Name,
    key_usage: FlagSet<KeyUsages>,
    usages: Vec<ObjectIdentifier>,
    names: Vec<GeneralName>,
}

/// A new certificate. `signer` is the value of the variable that the option `ca` names.
pub(crate) fn value(options: &Tree, signer: Option<&Tree>, source: &dyn Source) -> Result<Tree, ErrorKind> {
    let options = Options::read("certificate", options, OPTIONS)?;
    let mut plan = Plan::start(&options)?;
    let signer = match plan.ca.as_str() {
        "" => None,
        name => Some(Signer::load(name, signer).map_err(ErrorKind::Signer)?),
    };
    if !plan.is_ca {
        plan.add_leaf(&options, signer.is_some())?;
    }
    let key = source.key(plan.size)?;
    let der = plan.sign(&key, signer.as_ref(), source)?;
    let ca = signer.map_or_else(|| der.clone(), |signer| signer.certificate);
    Ok(Tree::object()
        .with("certificate", pem_text::write("CERTIFICATE", &der))
        .with("private_key", key.private_pem())
        .with("ca", pem_text::write("CERTIFICATE", &ca)))
}

/// Checks the options. `signer`: whether the CA that they name will have a value.
pub(crate) fn check(options: &Tree, signer: bool) -> Result<(), ErrorKind> {
    let options = Options::read("certificate", options, OPTIONS)?;
    let mut plan = Plan::start(&options)?;
    let signed = !plan.ca.is_empty();
    if signed && !signer {
        return Err(ErrorKind::Signer(SignerError::Missing(plan.ca)));
    }
    if plan.is_ca {
        Ok(())
    } else {
        plan.add_leaf(&options, signed)
    }
}

/// Why the bosh command line refuses options or a CA that CredHub accepts.
pub(crate) fn refused_by_bosh(options: &Tree, signer: Option<&Tree>) -> Option<ErrorKind> {
    let mut schema = OPTIONS.to_vec();
    schema.retain(|(name, _)| !CREDHUB_OPTIONS.contains(name));
    let options = match Options::read("certificate", options, &schema) {
        Ok(options) => options,
        Err(cause) => return Some(cause),
    };
    let known = |usage: &String| matches!(usage.as_str(), "client_auth" | "server_auth");
    let is_ca = options.flag("is_ca");
    let mut usages = options.texts("extended_key_usage").into_iter();
    let usage = usages.find(|usage| !is_ca && !known(usage));
    usage
        .map(ErrorKind::UnsupportedUsage)
        .or_else(|| signer::refused_by_bosh(signer?).map(ErrorKind::Signer))
}

/// The size of key that the options ask for.
pub(crate) fn key_size(options: &Options<'_>) -> Result<KeySize, ErrorKind> {
    let bits = match options.integer("key_length") {
        0 => DEFAULT_KEY_BITS,
        bits => bits,
    };
    KeySize::from_bits(bits).ok_or(ErrorKind::InvalidKeyLength(bits))
}

// === impl Plan ===

impl Plan {
    /// The common part of roots, intermediates and leaves.
    fn start(options: &Options<'_>) -> Result<Self, ErrorKind> {
        let size = key_size(options)?;
        let is_ca = options.flag("is_ca");
        let days = match options.integer("duration") {
            days if days <= 0 => DEFAULT_VALIDITY_DAYS,
            days if days <= MAX_VALIDITY_DAYS => days,
            days => return Err(ErrorKind::ExcessiveDuration(days, MAX_VALIDITY_DAYS)),
        };
        let (self_sign, ca) = (options.flag("self_sign"), options.text("ca"));
        if self_sign && !ca.is_empty() {
            return Err(ErrorKind::CaAndSelfSign);
        }
        Ok(Self {
            size,
            days,
            is_ca,
            self_sign,
            ca,
            subject: subject(options)?,
            key_usage: key_usage(&options.texts("key_usage"), is_ca)?,
            usages: Vec::new(),
            names: Vec::new(),
        })
    }

    /// The part for leaves only.
    fn add_leaf(&mut self, options: &Options<'_>, signed: bool) -> Result<(), ErrorKind> {
        if !signed && !self.self_sign {
            return Err(ErrorKind::MissingCa);
        }
        for usage in options.texts("extended_key_usage") {
            self.usages.push(match usage.as_str() {
                "client_auth" => rfc5280::ID_KP_CLIENT_AUTH,
                "server_auth" => rfc5280::ID_KP_SERVER_AUTH,
                "code_signing" => rfc5280::ID_KP_CODE_SIGNING,
                "email_protection" => rfc5280::ID_KP_EMAIL_PROTECTION,
                "timestamping" => rfc5280::ID_KP_TIME_STAMPING,
                _ => return Err(ErrorKind::UnsupportedUsage(usage)),
            });
        }
        if self.usages.is_empty() {
            self.usages.push(rfc5280::ID_KP_SERVER_AUTH);
        }
        self.names = alternative_names(&options.texts("alternative_names"))?;
        Ok(())
    }

    /// The certificate, DER.
    fn sign(self, key: &RsaKey, signer: Option<&Signer>, source: &dyn Source) -> Result<Vec<u8>, ErrorKind> {
        let is_ca = self.is_ca;
        if signer.is_some_and(|signer| signer.key.public_info() != signer.public_info) {
            return Err(signing_error(
                is_ca,
                "x509: provided PrivateKey doesn't match parent's PublicKey",
            ));
        }
        let mut serial = [0; 16];
        source.fill(&mut serial)?;
        let signing = SigningKey(signer.map_or(key, |signer| &signer.key));
        let write = || -> Built<CertificateBuilder<Profile>> {
            let identifier = signer.map_or_else(|| Some(key.identifier()), |signer| signer.identifier.clone());
            let validity = validity(source.now(), self.days)?;
            let issuer = signer.map_or(&self.subject, |signer| &signer.name).clone();
            let extensions = self.extensions(key.identifier(), identifier)?;
            let profile = Profile {
                subject: self.subject,
                issuer,
                extensions,
            };
            let info = SubjectPublicKeyInfoOwned::from_der(key.public_info())?;
            CertificateBuilder::new(profile, SerialNumber::new(&serial)?, validity, info)
        };
        let mut builder = write().map_err(|error| signing_error(is_ca, error))?;
        let body = builder
            .finalize(&signing)
            .map_err(|error| signing_error(is_ca, error))?;
        let signature = signing.0.sign(&body)?;
        let assemble = || {
            builder
                .assemble(BitString::from_bytes(&signature)?, &signing)?
                .to_der()
                .map_err(Into::into)
        };
        assemble().map_err(|error: builder::Error| signing_error(is_ca, error))
    }

    /// The extensions in Go's order.
    fn extensions(&self, own: Vec<u8>, signer: Option<Vec<u8>>) -> Built<Vec<Extension>> {
        let constraints = BasicConstraints {
            ca: self.is_ca,
            path_len_constraint: None,
        };
        let mut list = vec![self.extension(true, &KeyUsage(self.key_usage))?];
        if !self.usages.is_empty() {
            list.push(self.extension(false, &ExtendedKeyUsage(self.usages.clone()))?);
        }
        list.push(self.extension(true, &constraints)?);
        list.push(self.extension(false, &SubjectKeyIdentifier(OctetString::new(own)?))?);
        if let Some(id) = signer {
            let id = AuthorityKeyIdentifier {
                key_identifier: Some(OctetString::new(id)?),
                ..Default::default()
            };
            list.push(self.extension(false, &id)?);
        }
        if !self.names.is_empty() {
            list.push(self.extension(false, &SubjectAltName(self.names.clone()))?);
        }
        Ok(list)
    }

    fn extension<T: AssociatedOid + Encode>(&self, critical: bool, content: &T) -> Built<Extension> {
        Ok((critical, content).to_extension(&self.subject, &[])?)
    }
}

/// What the key may be used for: CredHub's option, else the usage that BOSH's generator writes.
fn key_usage(words: &[String], is_ca: bool) -> Result<FlagSet<KeyUsages>, ErrorKind> {
    let mut usage = FlagSet::default();
    for word in words {
        usage |= match word.as_str() {
            "digital_signature" => KeyUsages::DigitalSignature,
            "non_repudiation" => KeyUsages::NonRepudiation,
            "key_encipherment" => KeyUsages::KeyEncipherment,
            "data_encipherment" => KeyUsages::DataEncipherment,
            "key_agreement" => KeyUsages::KeyAgreement,
            "key_cert_sign" => KeyUsages::KeyCertSign,
            "crl_sign" => KeyUsages::CRLSign,
            "encipher_only" => KeyUsages::EncipherOnly,
            "decipher_only" => KeyUsages::DecipherOnly,
            _ => return Err(ErrorKind::UnsupportedKeyUsage(word.clone())),
        };
    }
    Ok(match (words.is_empty(), is_ca) {
        (false, _) => usage,
        (true, true) => KeyUsages::KeyCertSign | KeyUsages::CRLSign,
        (true, false) => KeyUsages::KeyEncipherment | KeyUsages::DigitalSignature,
    })
}

/// The subject, in Go's order. Country and organization are BOSH's where the options have none.
pub(crate) fn subject(options: &Options<'_>) -> Result<Name, ErrorKind> {
    for (option, what, most) in MAX_ATTRIBUTE_LENGTHS {
        if options.text(option).chars().count() > most {
            return Err(ErrorKind::TooLong(what, most));
        }
    }
    let or = |option: &str, default: &str| {
        Some(options.text(option))
            .filter(|text| !text.is_empty())
            .unwrap_or(default.into())
    };
    let parts = [
        (rfc4519::COUNTRY_NAME, or("country", "US")),
        (rfc4519::ORGANIZATION_NAME, or("organization", "Cloud Foundry")),
        (rfc4519::ORGANIZATIONAL_UNIT_NAME, options.text("organization_unit")),
        (rfc4519::LOCALITY_NAME, options.text("locality")),
        (rfc4519::ST, options.text("state")),
        (rfc4519::COMMON_NAME, options.text("common_name")),
    ];
    name(parts).map_err(|error| signing_error(options.flag("is_ca"), error))
}

/// Parts without text are left out.
fn name<const N: usize>(parts: [(ObjectIdentifier, String); N]) -> x509_cert::der::Result<Name> {
    let mut names = RdnSequence::default();
    for (oid, text) in parts {
        if text.is_empty() {
            continue;
        }
        // Go's choice of string type; for a reader that compares names byte by byte, another type would be another
        // issuer.
        let printable = |c: char| c.is_ascii_alphanumeric() || " '()+,-./:=?".contains(c);
        let tag = if text.chars().all(printable) {
            Tag::PrintableString
        } else {
            Tag::Utf8String
        };
        let value = Any::new(tag, text.as_bytes())?;
        let set = SetOfVec::try_from(vec![AttributeTypeAndValue { oid, value }])?;
        names.push(RelativeDistinguishedName::try_from(set.into_vec())?);
    }
    Ok(Name::hazmat_from_rdn_sequence(names))
}

/// Names first, then addresses, as Go writes them.
pub(crate) fn alternative_names(texts: &[String]) -> Result<Vec<GeneralName>, ErrorKind> {
    let (mut names, mut addresses) = (Vec::new(), Vec::new());
    for text in texts {
        if let Ok(address) = text.parse::<IpAddr>() {
            let bytes = match address.to_canonical() {
                IpAddr::V4(address) => address.octets().to_vec(),
                IpAddr::V6(address) => address.octets().to_vec(),
            };
            let bytes = OctetString::new(bytes).map_err(|error| signing_error(false, error))?;
            addresses.push(GeneralName::IpAddress(bytes));
        } else {
            let name = Ia5String::new(text);
            let refused = |_| signing_error(false, format!("x509: {text:?} cannot be encoded as an IA5String"));
            names.push(GeneralName::DnsName(name.map_err(refused)?));
        }
    }
    names.extend(addresses);
    Ok(names)
}

fn validity(now: SystemTime, days: i64) -> Built<Validity> {
    let length = Duration::from_secs(days.unsigned_abs().saturating_mul(86_400));
    let end = now
        .checked_add(length)
        .ok_or(x509_cert::der::Error::from(x509_cert::der::ErrorKind::DateTime))?;
    Ok(Validity::new(Time::try_from(now)?, Time::try_from(end)?))
}

pub(crate) fn signing_error(is_ca: bool, reason: impl ToString) -> ErrorKind {
    ErrorKind::Signing {
        is_ca,
        reason: reason.to_string(),
    }
}
