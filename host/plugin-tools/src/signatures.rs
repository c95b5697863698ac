//! Which signatures and attestations of plugins the operator requires, and their verification. `host plugin verify`
//! verifies in the same way.

use crate::evidence;
use crate::signature_error::{Explanation, explain};
use boson_oci::Digest;
use boson_pipeline::Diagnostic;
use boson_plugins::codes;
use boson_signatures::{Attached, IdentityRule, SignatureError, Signed, Trust};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Options about signatures.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Plugins")]
pub struct SignatureArguments {
    /// What to do with plugins from ConfigMaps and registries that no key of --plugin-key and no identity of
    /// --plugin-identity has signed
    #[arg(
        long = "plugin-signatures",
        value_enum,
        value_name = "WHAT",
        default_value_t,
        env = "BOSON_PLUGIN_SIGNATURES"
    )]
    mode: Mode,
    /// What to do with plugins from ConfigMaps and registries for which no key of --plugin-key and no identity of
    /// --plugin-identity has attested how they were built (SLSA provenance)
    #[arg(
        long = "plugin-provenance",
        value_enum,
        value_name = "WHAT",
        default_value_t,
        env = "BOSON_PLUGIN_PROVENANCE"
    )]
    provenance: Mode,
    /// Accept only attestations that name this builder, such as `https://ci.example.com/builder` [default: any builder]
    #[arg(
        long = "plugin-builder",
        value_name = "ID",
        env = "BOSON_PLUGIN_BUILDERS",
        value_delimiter = ','
    )]
    builders: Vec<String>,
    /// Public key of those who sign plugins: a PEM file, such as `cosign.pub`
    #[arg(
        long = "plugin-key",
        value_name = "FILE",
        env = "BOSON_PLUGIN_KEYS",
        value_delimiter = ','
    )]
    keys: Vec<PathBuf>,
    /// Identity of those who sign plugins without a key, such as `https://accounts.google.com=me@example.com`. `*` is
    /// any text without `/`, and `**` any text
    #[arg(
        long = "plugin-identity",
        value_name = "ISSUER=IDENTITY",
        env = "BOSON_PLUGIN_IDENTITIES",
        value_delimiter = ',',
        requires = "trusted_root"
    )]
    identities: Vec<IdentityRule>,
    /// Authorities and logs that vouch for the identities: `trusted_root.json` of Sigstore
    #[arg(
        long = "plugin-trusted-root",
        value_name = "FILE",
        env = "BOSON_PLUGIN_TRUSTED_ROOT",
        requires = "identities"
    )]
    trusted_root: Option<PathBuf>,
}

/// What happens with plugins that are not signed, or whose build is not attested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Mode {
    /// Use them without a check
    #[default]
    Off,
    /// Use them, and report a warning for each deployment
    Warn,
    /// Reject them
    Enforce,
}

/// The rule for signatures and attestations.
#[derive(Debug, Default)]
pub struct Signatures {
    mode: Mode,
    provenance: Mode,
    builders: Vec<String>,
    trust: Trust,
}

// === impl SignatureArguments ===

impl SignatureArguments {
    /// Reads the keys and the trusted root.
    ///
    /// # Errors
    /// A file is not a public key or no trusted root, or nobody is trusted.
    pub fn read(&self) -> anyhow::Result<Signatures> {
        let (trust, _) = evidence::read(&self.keys, self.trusted_root.as_deref(), &self.identities)?;
        for (option, mode) in [("signatures", self.mode), ("provenance", self.provenance)] {
            if mode != Mode::Off && trust.is_empty() {
                anyhow::bail!(
                    "--plugin-{option} requires --plugin-key, or --plugin-identity and --plugin-trusted-root"
                );
            }
        }
        if self.provenance == Mode::Off && !self.builders.is_empty() {
            anyhow::bail!("--plugin-builder has no effect without --plugin-provenance warn or enforce");
        }
        Ok(Signatures {
            mode: self.mode,
            provenance: self.provenance,
            builders: self.builders.clone(),
            trust,
        })
    }
}

// === impl Signatures ===

impl Signatures {
    /// What happens at most with plugins without a signature or an attestation.
    pub fn mode(&self) -> Mode {
        self.mode.max(self.provenance)
    }

    /// The warnings about a component.
    ///
    /// # Errors
    /// It is not signed, or its build is not attested, and has to be.
    pub fn check(&self, component: &[u8], signed: &Signed) -> Result<Vec<Diagnostic>, Diagnostic> {
        let digest = boson_oci::digest(component);
        let Self { trust, builders, .. } = self;
        let error = (self.mode != Mode::Off).then(|| signed.signer(component, trust).err());
        let unsigned = error.flatten().map(|error| explain_unsigned(signed, &error));
        let error = (self.provenance != Mode::Off).then(|| signed.provenance(&digest, trust, builders).err());
        let unattested = error.flatten().map(|error| self.explain_unattested(&error));
        let mut warnings = Vec::new();
        for (mode, explanation) in [(self.mode, unsigned), (self.provenance, unattested)] {
            let Some(Explanation { code, what, help }) = explanation else {
                continue;
            };
            match mode {
                Mode::Enforce => return Err(Diagnostic::error(code, what).help(help)),
                Mode::Warn | Mode::Off => warnings.push(Diagnostic::warning(code, what).help(help)),
            }
        }
        Ok(warnings)
    }

    /// Whether nothing but what is attached to an image is needed: its registry need not be asked again.
    pub fn are_satisfied_by(&self, attached: Attached, image: Option<Digest>, component: &Digest) -> bool {
        let signed = Signed {
            image,
            attached,
            ..Signed::default()
        };
        // There is no signature of the component itself, so its bytes do not matter.
        let Self { trust, builders, .. } = self;
        let is_signed = self.mode == Mode::Off || signed.signer(b"", trust).is_ok();
        is_signed && (self.provenance == Mode::Off || signed.provenance(component, trust, builders).is_ok())
    }

    fn explain_unattested(&self, error: &SignatureError) -> Explanation {
        let of_builder = match self.builders.as_slice() {
            [] => String::new(),
            builders => format!(" by {}", builders.join(" or ")),
        };
        let closest = explain(error).map(|closest| format!("; one attestation {}", closest.what));
        let closest = closest.unwrap_or_default();
        Explanation {
            code: codes::PLUGIN_NO_PROVENANCE,
            what: format!("nobody whom the operator trusts attests that the plugin was built{of_builder}{closest}"),
            help: "attest its build with a trusted key; `host explain plugin-no-provenance` describes how",
        }
    }
}

fn explain_unsigned(signed: &Signed, error: &SignatureError) -> Explanation {
    if let Some(closest) = explain(error) {
        let what = format!("the plugin {}", closest.what);
        return Explanation { what, ..closest };
    }
    let what = match signed.count() {
        0 => "the plugin is not signed".to_string(),
        1 => "the plugin has a signature, but not of a key or identity that the operator trusts".to_string(),
        found => format!("the plugin has {found} signatures, but none of a key or identity that the operator trusts"),
    };
    Explanation {
        code: codes::PLUGIN_NOT_SIGNED,
        what,
        help: "sign the component or its image with a trusted key; `host explain plugin-not-signed` describes how",
    }
}
