//! An instance of Sigstore in a test: its authorities, its logs, its trusted root, and the bundles that cosign would
//! write with it. A change of a bundle or root is a change of its JSON.

use anyhow::{Context, Result, ensure};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use std::fs;
use std::ops::Range;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// The media type of bundles.
pub const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const STATEMENT: &str = "application/vnd.in-toto+json";
const ISSUER_OF_IDENTITY: &[u64] = &[1, 3, 6, 1, 4, 1, 57264, 1, 8];
const TIMESTAMPS_OF_LOGS: &[u64] = &[1, 3, 6, 1, 4, 1, 11129, 2, 4, 2];
const ECDSA_SHA256: &[u64] = &[1, 2, 840, 10045, 4, 3, 2];
const COMMON_NAME: &[u64] = &[2, 5, 4, 3];
const BASIC_CONSTRAINTS: &[u64] = &[2, 5, 29, 19];
const KEY_USAGE: &[u64] = &[2, 5, 29, 15];
const EXTENDED_KEY_USAGE: &[u64] = &[2, 5, 29, 37];
const ALTERNATIVE_NAMES: &[u64] = &[2, 5, 29, 17];
const CODE_SIGNING: &[u64] = &[1, 3, 6, 1, 5, 5, 7, 3, 3];
const TIME_STAMPING: &[u64] = &[1, 3, 6, 1, 5, 5, 7, 3, 8];
/// How long a certificate of a signature is valid before and after now, in seconds.
const VALID_SECONDS: i64 = 300;
/// How long an authority is, in seconds.
const AUTHORITY_SECONDS: i64 = 86_400 * 365;
const SEQUENCE: u8 = 0x30;
const OCTETS: u8 = 4;
const UTF8: u8 = 12;

/// Authorities and logs.
pub struct Sigstore {
    authority: Key,
    log: Key,
    certificate_log: Key,
    timestamps: Key,
    /// Of the author: cosign makes one for each signature.
    author: Key,
    now: i64,
}

#[derive(Clone, Debug)]
pub struct Author {
    pub name: String,
    pub issuer: String,
    /// Whether the log of certificates has recorded the certificate.
    pub is_logged: bool,
    /// From when to when the certificate is valid, in seconds after now.
    pub valid_seconds: [i64; 2],
}

struct Key {
    pair: EcdsaKeyPair,
    /// SubjectPublicKeyInfo.
    info: Vec<u8>,
}

// === impl Author ===

impl Author {
    pub fn new(name: &str, issuer: &str) -> Self {
        let (name, issuer) = (name.to_owned(), issuer.to_owned());
        Self {
            name,
            issuer,
            is_logged: true,
            valid_seconds: [-VALID_SECONDS, VALID_SECONDS],
        }
    }
}

// === impl Key ===

impl Key {
    fn new() -> Result<Self> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).context("a key")?;
        let info = pair.public_key().as_der().context("a public key")?.as_ref().to_vec();
        Ok(Self { pair, info })
    }

    fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let signature = self.pair.sign(&SystemRandom::new(), bytes).context("a signature")?;
        Ok(signature.as_ref().to_vec())
    }

    fn id(&self) -> Vec<u8> {
        sha256(&self.info)
    }

    /// A certificate by the authority, for `valid`, in seconds since 1970.
    fn certificate(&self, subject: &str, valid: &Range<i64>, info: &[u8], extensions: &[Vec<u8>]) -> Result<Vec<u8>> {
        let body = self.certificate_body(subject, valid, info, extensions)?;
        let signature = [&[0], self.sign(&body)?.as_slice()].concat();
        Ok(tlv(
            SEQUENCE,
            &[&body, &tlv(SEQUENCE, &[&oid(ECDSA_SHA256)]), &tlv(3, &[&signature])],
        ))
    }

    fn certificate_body(
        &self,
        subject: &str,
        valid: &Range<i64>,
        info: &[u8],
        extensions: &[Vec<u8>],
    ) -> Result<Vec<u8>> {
        let name = |name: &str| {
            let pair = tlv(SEQUENCE, &[&oid(COMMON_NAME), &tlv(UTF8, &[name.as_bytes()])]);
            tlv(SEQUENCE, &[&tlv(0x31, &[&pair])])
        };
        let serial = [&[1][..], sha256(subject.as_bytes()).get(..8).unwrap_or_default()].concat();
        Ok(tlv(
            SEQUENCE,
            &[
                &[0xa0, 3, 2, 1, 2],
                &tlv(2, &[&serial]),
                &tlv(SEQUENCE, &[&oid(ECDSA_SHA256)]),
                &name("authority"),
                &tlv(SEQUENCE, &[&time(valid.start)?, &time(valid.end)?]),
                &name(subject),
                info,
                &tlv(
                    0xa3,
                    &[&tlv(
                        SEQUENCE,
                        &extensions.iter().map(Vec::as_slice).collect::<Vec<_>>(),
                    )],
                ),
            ],
        ))
    }
}

// === impl Sigstore ===

impl Sigstore {
    /// A new one.
    ///
    /// # Errors
    /// The clock is wrong.
    pub fn new() -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        Ok(Self {
            authority: Key::new()?,
            log: Key::new()?,
            certificate_log: Key::new()?,
            timestamps: Key::new()?,
            author: Key::new()?,
            now: i64::try_from(now)?,
        })
    }

    /// The trusted root, as `cosign trusted-root create` writes it.
    ///
    /// # Errors
    /// A key cannot sign.
    pub fn root(&self) -> Result<Value> {
        let valid = json!({"start": "2020-01-01T00:00:00Z"});
        let log = |key: &Key| {
            json!({"baseUrl": "https://log.example", "hashAlgorithm": "SHA2_256",
                "publicKey": {"rawBytes": STANDARD.encode(&key.info), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": valid},
                "logId": {"keyId": STANDARD.encode(key.id())}})
        };
        let authority = |chain: &[Vec<u8>]| {
            let certificates = chain.iter().map(|one| json!({"rawBytes": STANDARD.encode(one)}));
            json!({"subject": {"organization": "example", "commonName": "example"}, "uri": "https://authority.example",
                "certChain": {"certificates": certificates.collect::<Vec<_>>()}, "validFor": valid})
        };
        let (root, timestamps) = (self.authority_certificate()?, self.timestamp_certificate()?);
        Ok(json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(&self.log)], "ctlogs": [log(&self.certificate_log)],
            "certificateAuthorities": [authority(std::slice::from_ref(&root))],
            "timestampAuthorities": [authority(&[timestamps, root])],
        }))
    }

    /// The bundle of `cosign sign-blob` for these bytes.
    ///
    /// # Errors
    /// A key cannot sign.
    pub fn signature(&self, author: &Author, bytes: &[u8]) -> Result<Value> {
        let certificate = self.author_certificate(author)?;
        let signature = STANDARD.encode(self.author.sign(bytes)?);
        let body = json!({"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": {
            "data": {"hash": {"algorithm": "sha256", "value": HEXLOWER.encode(&sha256(bytes))}},
            "signature": {"content": signature, "publicKey": {"content": STANDARD.encode(pem(&certificate))}}}});
        let mut bundle = self.bundle(&certificate, &body)?;
        bundle["messageSignature"] = json!({"signature": signature,
            "messageDigest": {"algorithm": "SHA2_256", "digest": STANDARD.encode(sha256(bytes))}});
        Ok(bundle)
    }

    /// The bundle of `cosign sign` or `cosign attest` for a statement about what has this digest.
    ///
    /// # Errors
    /// A key cannot sign.
    pub fn statement(&self, author: &Author, digest: &str, kind: &str, predicate: &Value) -> Result<Value> {
        let certificate = self.author_certificate(author)?;
        let payload = json!({"_type": "https://in-toto.io/Statement/v1", "predicateType": kind, "predicate": predicate,
            "subject": [{"digest": {"sha256": digest.trim_start_matches("sha256:")}}]});
        let payload = payload.to_string();
        let signed = format!("DSSEv1 {} {STATEMENT} {} {payload}", STATEMENT.len(), payload.len());
        let signature = STANDARD.encode(self.author.sign(signed.as_bytes())?);
        let envelope = json!({"payload": STANDARD.encode(&payload), "payloadType": STATEMENT,
            "signatures": [{"sig": signature}]});
        let hash = |bytes: &[u8]| json!({"algorithm": "sha256", "value": HEXLOWER.encode(&sha256(bytes))});
        let body = json!({"apiVersion": "0.0.1", "kind": "dsse", "spec": {
            "envelopeHash": hash(envelope.to_string().as_bytes()), "payloadHash": hash(payload.as_bytes()),
            "signatures": [{"signature": signature, "verifier": STANDARD.encode(pem(&certificate))}]}});
        let mut bundle = self.bundle(&certificate, &body)?;
        bundle["dsseEnvelope"] = envelope;
        Ok(bundle)
    }

    /// The annotations of version 2 of `cosign sign` for a payload: signature, certificate and entry of the log.
    ///
    /// # Errors
    /// A key cannot sign.
    pub fn annotations(&self, author: &Author, payload: &[u8]) -> Result<[String; 3]> {
        let bundle = self.signature(author, payload)?;
        let text = |pointer: &str| {
            let found = bundle.pointer(pointer).and_then(Value::as_str);
            found.map(str::to_owned).context("a bundle")
        };
        let certificate = STANDARD.decode(text("/verificationMaterial/certificate/rawBytes")?)?;
        let entry = json!({
            "SignedEntryTimestamp": text("/verificationMaterial/tlogEntries/0/inclusionPromise/signedEntryTimestamp")?,
            "Payload": {
                "body": text("/verificationMaterial/tlogEntries/0/canonicalizedBody")?,
                "integratedTime": text("/verificationMaterial/tlogEntries/0/integratedTime")?.parse::<u64>()?,
                "logIndex": text("/verificationMaterial/tlogEntries/0/logIndex")?.parse::<u64>()?,
                "logID": HEXLOWER.encode(&self.log.id()),
            },
        });
        Ok([
            text("/messageSignature/signature")?,
            pem(&certificate),
            entry.to_string(),
        ])
    }

    /// Puts the time of an entry of the log into a bundle, as the log would confirm it: seconds after now.
    ///
    /// # Errors
    /// A key cannot sign.
    pub fn set_time(&self, bundle: &mut Value, seconds: i64) -> Result<()> {
        let entry = bundle
            .pointer_mut("/verificationMaterial/tlogEntries/0")
            .context("an entry")?;
        let body = entry["canonicalizedBody"].as_str().context("a body")?.to_owned();
        let time = self.now + seconds;
        entry["integratedTime"] = time.to_string().into();
        entry["inclusionPromise"] = self.promise(&body, time)?;
        Ok(())
    }

    /// Puts the timestamp of an authority into a bundle.
    ///
    /// # Errors
    /// openssl is missing.
    pub fn add_timestamp(&self, bundle: &mut Value) -> Result<()> {
        let pointers = ["/messageSignature/signature", "/dsseEnvelope/signatures/0/sig"];
        let signature = pointers.iter().find_map(|pointer| bundle.pointer(pointer)?.as_str());
        let token = self.timestamp(&STANDARD.decode(signature.context("a signature")?)?)?;
        bundle["verificationMaterial"]["timestampVerificationData"] =
            json!({"rfc3161Timestamps": [{"signedTimestamp": STANDARD.encode(token)}]});
        Ok(())
    }

    fn bundle(&self, certificate: &[u8], body: &Value) -> Result<Value> {
        let body = body.to_string();
        // Three entries: the one of the bundle, one beside it, and one more.
        let leaf = |bytes: &[u8]| sha256(&[&[0], bytes].concat());
        let node = |left: &[u8], right: &[u8]| sha256(&[&[1], left, right].concat());
        let (beside, last) = (leaf(b"beside"), leaf(b"last"));
        let root = node(&node(&beside, &leaf(body.as_bytes())), &last);
        let note = format!("log.example - 1\n3\n{}\n", STANDARD.encode(&root));
        let hint = self.log.id();
        let signed = [hint.get(..4).unwrap_or_default(), &self.log.sign(note.as_bytes())?].concat();
        let body = STANDARD.encode(body);
        let entry = json!({
            "logIndex": "1", "logId": {"keyId": STANDARD.encode(self.log.id())},
            "kindVersion": {"kind": if is_statement(&body)? { "dsse" } else { "hashedrekord" }, "version": "0.0.1"},
            "integratedTime": self.now.to_string(), "inclusionPromise": self.promise(&body, self.now)?,
            "inclusionProof": {
                "logIndex": "1", "treeSize": "3", "rootHash": STANDARD.encode(&root),
                "hashes": [STANDARD.encode(&beside), STANDARD.encode(&last)],
                "checkpoint": {"envelope": format!("{note}\n\u{2014} log.example {}\n", STANDARD.encode(signed))},
            },
            "canonicalizedBody": body,
        });
        Ok(json!({"mediaType": BUNDLE, "verificationMaterial": {
            "certificate": {"rawBytes": STANDARD.encode(certificate)}, "tlogEntries": [entry]}}))
    }

    /// The signed time of an entry.
    fn promise(&self, body: &str, time: i64) -> Result<Value> {
        let id = HEXLOWER.encode(&self.log.id());
        let signed = format!(r#"{{"body":"{body}","integratedTime":{time},"logID":"{id}","logIndex":1}}"#);
        Ok(json!({"signedEntryTimestamp": STANDARD.encode(self.log.sign(signed.as_bytes())?)}))
    }

    fn authority_certificate(&self) -> Result<Vec<u8>> {
        let valid = self.now - AUTHORITY_SECONDS..self.now + AUTHORITY_SECONDS;
        let extensions = [
            extension(BASIC_CONSTRAINTS, true, &tlv(SEQUENCE, &[&[1, 1, 0xff]])),
            extension(KEY_USAGE, true, &[3, 2, 1, 6]),
        ];
        self.authority
            .certificate("authority", &valid, &self.authority.info, &extensions)
    }

    fn timestamp_certificate(&self) -> Result<Vec<u8>> {
        let valid = self.now - AUTHORITY_SECONDS..self.now + AUTHORITY_SECONDS;
        let extensions = [
            extension(KEY_USAGE, true, &[3, 2, 7, 0x80]),
            extension(EXTENDED_KEY_USAGE, true, &tlv(SEQUENCE, &[&oid(TIME_STAMPING)])),
        ];
        self.authority
            .certificate("timestamps", &valid, &self.timestamps.info, &extensions)
    }

    /// The certificate of an author, first without and then with the timestamp of the log of certificates.
    fn author_certificate(&self, author: &Author) -> Result<Vec<u8>> {
        let [from, to] = author.valid_seconds;
        let valid = self.now + from..self.now + to;
        let tag = if author.name.contains("://") { 0x86 } else { 0x81 };
        let mut extensions = vec![
            extension(KEY_USAGE, true, &[3, 2, 7, 0x80]),
            extension(EXTENDED_KEY_USAGE, false, &tlv(SEQUENCE, &[&oid(CODE_SIGNING)])),
            extension(
                ALTERNATIVE_NAMES,
                true,
                &tlv(SEQUENCE, &[&tlv(tag, &[author.name.as_bytes()])]),
            ),
            extension(ISSUER_OF_IDENTITY, false, &tlv(UTF8, &[author.issuer.as_bytes()])),
        ];
        if author.is_logged {
            let body = self
                .authority
                .certificate_body("author", &valid, &self.author.info, &extensions)?;
            let list = self.log_timestamp(&body)?;
            extensions.push(extension(TIMESTAMPS_OF_LOGS, false, &tlv(OCTETS, &[&list])));
        }
        self.authority
            .certificate("author", &valid, &self.author.info, &extensions)
    }

    /// The list with the timestamp of the log of certificates, as RFC 6962 writes it.
    fn log_timestamp(&self, body: &[u8]) -> Result<Vec<u8>> {
        let time = (u64::try_from(self.now)? * 1000).to_be_bytes();
        let length = u32::try_from(body.len())?.to_be_bytes();
        let of_issuer = sha256(&self.authority.info);
        let signed = [&[0, 0], &time[..], &[0, 1], &of_issuer, &length[1..], body, &[0, 0]].concat();
        let signature = sized(&self.certificate_log.sign(&signed)?)?;
        let one = [
            &[0],
            self.certificate_log.id().as_slice(),
            &time,
            &[0, 0, 4, 3],
            &signature,
        ]
        .concat();
        sized(&sized(&one)?)
    }

    /// The reply of a timestamp authority, by openssl.
    fn timestamp(&self, signature: &[u8]) -> Result<Vec<u8>> {
        let scratch = tempfile::tempdir()?;
        let write = |name: &str, content: &[u8]| fs::write(scratch.path().join(name), content);
        let run = |arguments: &[&str]| {
            let output = Command::new("openssl")
                .args(arguments)
                .current_dir(scratch.path())
                .output()?;
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            anyhow::Ok(())
        };
        let key = self.timestamps.pair.to_pkcs8v1().context("a key")?;
        let key = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(key)
        );
        write("key.pem", key.as_bytes())?;
        write("signer.pem", pem(&self.timestamp_certificate()?).as_bytes())?;
        write("serial", b"01\n")?;
        write("signature", signature)?;
        write(
            "ts.cnf",
            b"[tsa]\ndefault_tsa = one\n[one]\nserial = serial\nsigner_digest = sha256\ndefault_policy = 1.2.3.4\n\
              digests = sha256\ness_cert_id_alg = sha256\n",
        )?;
        run(&[
            "ts",
            "-query",
            "-data",
            "signature",
            "-sha256",
            "-cert",
            "-out",
            "query",
        ])?;
        let reply = [
            "ts",
            "-reply",
            "-config",
            "ts.cnf",
            "-queryfile",
            "query",
            "-inkey",
            "key.pem",
        ];
        run(&[&reply[..], &["-signer", "signer.pem", "-out", "reply"]].concat())?;
        Ok(fs::read(scratch.path().join("reply"))?)
    }
}

fn is_statement(body: &str) -> Result<bool> {
    let body: Value = serde_json::from_slice(&STANDARD.decode(body)?)?;
    Ok(body["kind"] == "dsse")
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    digest(&SHA256, bytes).as_ref().to_vec()
}

fn pem(certificate: &[u8]) -> String {
    let text = STANDARD.encode(certificate);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}

/// With two bytes for the length.
fn sized(bytes: &[u8]) -> Result<Vec<u8>> {
    Ok([&u16::try_from(bytes.len())?.to_be_bytes(), bytes].concat())
}

/// An element of DER with this content.
fn tlv(tag: u8, content: &[&[u8]]) -> Vec<u8> {
    let content = content.concat();
    let length = content.len().to_be_bytes();
    let length = length.split_at(length.iter().take_while(|byte| **byte == 0).count()).1;
    let mut bytes = vec![tag];
    match (content.len(), u8::try_from(length.len())) {
        (short @ 0..=127, _) => bytes.extend(u8::try_from(short)),
        (_, count) => {
            bytes.extend(count.map(|count| 0x80 | count));
            bytes.extend_from_slice(length);
        }
    }
    [bytes, content].concat()
}

fn oid(arcs: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (first, rest) = arcs.split_at(arcs.len().min(2));
    let first = first.iter().fold(0, |all, arc| all * 40 + arc);
    for arc in [&[first], rest].concat() {
        let digits: Vec<u64> = (0..9).map(|at| (arc >> (7 * at)) & 0x7f).collect();
        let most = digits.iter().rposition(|digit| *digit != 0).unwrap_or_default();
        for (at, digit) in digits.iter().enumerate().take(most + 1).rev() {
            let more = if at == 0 { 0 } else { 0x80 };
            bytes.extend(u8::try_from(*digit).map(|digit| digit | more));
        }
    }
    tlv(6, &[&bytes])
}

fn extension(name: &[u64], is_critical: bool, value: &[u8]) -> Vec<u8> {
    let critical: &[u8] = if is_critical { &[1, 1, 0xff] } else { &[] };
    tlv(SEQUENCE, &[&oid(name), critical, &tlv(OCTETS, &[value])])
}

/// A UTCTime, by openssl's rules without a calendar crate: days since 1970 as a date.
fn time(seconds: i64) -> Result<Vec<u8>> {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // The civil calendar in eras of 400 years from 1 March 0000.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + carry;
    ensure!((1950..2050).contains(&year), "a year that UTCTime has");
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let text = format!("{:02}{month:02}{day:02}{hour:02}{minute:02}{second:02}Z", year % 100);
    Ok(tlv(23, &[text.as_bytes()]))
}
