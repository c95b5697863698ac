//! Which signatures and attestations of plugins the operator requires, and their verification. `host plugin verify`
//! verifies in the same way.

use crate::evidence::KeyNames;
use boson_document::Code;
use boson_pipeline::Diagnostic;
use boson_plugins::codes;
use boson_sandbox::Digest;
use boson_signatures::{Attached, Keys, Provenance, Signed, Signer};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Options about signatures.
#[derive(Args, Clone, Debug)]
pub struct SignatureArguments {
    /// What to do with plugins from ConfigMaps and registries that no key of --plugin-key has signed
    #[arg(
        long = "plugin-signatures",
        value_enum,
        value_name = "WHAT",
        default_value_t,
        env = "BOSON_PLUGIN_SIGNATURES",
        help_heading = "Plugins"
    )]
    mode: Mode,
    /// What to do with plugins from ConfigMaps and registries for which no key of --plugin-key has attested how they
    /// were built (SLSA provenance)
    #[arg(
        long = "plugin-provenance",
        value_enum,
        value_name = "WHAT",
        default_value_t,
        env = "BOSON_PLUGIN_PROVENANCE",
        help_heading = "Plugins"
    )]
    provenance: Mode,
    /// Accept only attestations that name this builder, such as `https://ci.example.com/builder` [default: any builder]
    #[arg(
        long = "plugin-builder",
        value_name = "ID",
        env = "BOSON_PLUGIN_BUILDERS",
        value_delimiter = ',',
        help_heading = "Plugins"
    )]
    builders: Vec<String>,
    /// Public key of those who sign plugins: a PEM file, such as `cosign.pub`
    #[arg(
        long = "plugin-key",
        value_name = "FILE",
        env = "BOSON_PLUGIN_KEYS",
        value_delimiter = ',',
        help_heading = "Plugins"
    )]
    keys: Vec<PathBuf>,
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
    keys: Keys,
}

/// What a plugin lacks.
struct Lack {
    code: &'static Code,
    what: String,
    help: &'static str,
}

// === impl SignatureArguments ===

impl SignatureArguments {
    /// Reads the keys.
    ///
    /// # Errors
    /// A file is not a public key, or no key was given.
    pub fn read(&self) -> anyhow::Result<Signatures> {
        let (keys, _) = KeyNames::read(&self.keys)?;
        if self.mode != Mode::Off && keys.is_empty() {
            anyhow::bail!("--plugin-signatures requires a public key: --plugin-key FILE");
        }
        if self.provenance != Mode::Off && keys.is_empty() {
            anyhow::bail!("--plugin-provenance requires a public key: --plugin-key FILE");
        }
        if self.provenance == Mode::Off && !self.builders.is_empty() {
            anyhow::bail!("--plugin-builder has no effect without --plugin-provenance warn or enforce");
        }
        Ok(Signatures {
            mode: self.mode,
            provenance: self.provenance,
            builders: self.builders.clone(),
            keys,
        })
    }
}

// === impl Signatures ===

impl Signatures {
    /// Requires a signature of one of the keys.
    pub fn enforced(keys: Keys) -> Self {
        Self {
            mode: Mode::Enforce,
            keys,
            ..Self::default()
        }
    }

    /// Requires an attestation of the build, too, by one of these builders; none: by any.
    pub fn with_provenance(self, builders: Vec<String>) -> Self {
        Self {
            provenance: Mode::Enforce,
            builders,
            ..self
        }
    }

    /// What happens at most with plugins without a signature or an attestation.
    pub fn mode(&self) -> Mode {
        self.mode.max(self.provenance)
    }

    /// The warnings about a component.
    ///
    /// # Errors
    /// It is not signed, or its build is not attested, and has to be.
    pub fn check(&self, component: &[u8], signed: &Signed) -> Result<Vec<Diagnostic>, Box<Diagnostic>> {
        let digest = Digest::of(component).to_string();
        let unsigned = (self.mode != Mode::Off && self.signer(component, signed).is_none()).then(|| unsigned(signed));
        let is_attested = self.provenance == Mode::Off || self.provenance(&digest, signed).is_some();
        let unattested = (!is_attested).then(|| self.unattested());
        let mut warnings = Vec::new();
        for (mode, lack) in [(self.mode, unsigned), (self.provenance, unattested)] {
            let Some(Lack { code, what, help }) = lack else {
                continue;
            };
            match mode {
                Mode::Enforce => return Err(Box::new(Diagnostic::error(code, what).help(help))),
                Mode::Warn | Mode::Off => warnings.push(Diagnostic::warning(code, what).help(help)),
            }
        }
        Ok(warnings)
    }

    /// Whether nothing but what is attached to an image is needed: its registry need not be asked again.
    pub fn are_satisfied_by(&self, attached: Attached, image: &str, component: &str) -> bool {
        let signed = Signed {
            image: Some(image.to_string()),
            attached,
            ..Signed::default()
        };
        // There is no signature of the component itself, so its bytes do not matter.
        let is_signed = self.mode == Mode::Off || self.signer(b"", &signed).is_some();
        is_signed && (self.provenance == Mode::Off || self.provenance(component, &signed).is_some())
    }

    /// The key that has signed a component or its image.
    pub fn signer(&self, component: &[u8], signed: &Signed) -> Option<Signer<'_>> {
        signed.signer(component, &self.keys)
    }

    /// The attestation of the build of the component with this digest, `sha256:` and 64 digits.
    pub fn provenance(&self, component: &str, signed: &Signed) -> Option<Provenance<'_>> {
        signed.provenance(component, &self.keys, &self.builders)
    }

    fn unattested(&self) -> Lack {
        let of_builder = match self.builders.as_slice() {
            [] => String::new(),
            builders => format!(" by {}", builders.join(" or ")),
        };
        Lack {
            code: codes::PLUGIN_NO_PROVENANCE,
            what: format!("no trusted key attests that the plugin was built{of_builder}"),
            help: "attest its build with a trusted key; `host explain plugin-no-provenance` describes how",
        }
    }
}

fn unsigned(signed: &Signed) -> Lack {
    let what = match signed.count() {
        0 => "the plugin is not signed".to_string(),
        1 => "the plugin has a signature, but not of a key that the operator trusts".to_string(),
        found => format!("the plugin has {found} signatures, but none of a key that the operator trusts"),
    };
    Lack {
        code: codes::PLUGIN_NOT_SIGNED,
        what,
        help: "sign the component or its image with a trusted key; `host explain plugin-not-signed` describes how",
    }
}
