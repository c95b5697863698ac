//! Which signatures of plugins the operator requires, and their verification.

use boson_controllers::codes;
use boson_controllers::conversion::Signed;
use boson_pipeline::Diagnostic;
use boson_signatures::Keys;
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

/// What happens with plugins that are not signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Use them; signatures are not read
    #[default]
    Off,
    /// Use them, and report a warning for each deployment
    Warn,
    /// Reject them
    Enforce,
}

/// The rule for signatures.
#[derive(Debug, Default)]
pub struct Signatures {
    mode: Mode,
    keys: Keys,
}

// === impl SignatureArguments ===

impl SignatureArguments {
    /// Reads the keys.
    ///
    /// # Errors
    /// A file is not a public key, or no key was given.
    pub fn read(&self) -> anyhow::Result<Signatures> {
        let mut keys = Keys::default();
        for (file, text) in self.keys.iter().zip(crate::files::read_all(&self.keys)?) {
            let malformed = |_| {
                let name = file.display();
                anyhow::anyhow!(
                    "'{name}' is not a public key in PEM: ECDSA with P-256, Ed25519, or RSA from 2048 bits on"
                )
            };
            keys.add(&text).map_err(malformed)?;
        }
        if self.mode != Mode::Off && keys.is_empty() {
            anyhow::bail!("--plugin-signatures requires a public key: --plugin-key FILE");
        }
        Ok(Signatures { mode: self.mode, keys })
    }
}

// === impl Signatures ===

impl Signatures {
    /// What happens with plugins that are not signed.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The warnings about a component.
    ///
    /// # Errors
    /// It is not signed, and has to be.
    pub fn check(&self, component: &[u8], signed: &Signed) -> Result<Vec<Diagnostic>, Box<Diagnostic>> {
        if self.mode == Mode::Off || self.is_signed(component, signed) {
            return Ok(Vec::new());
        }
        let found = usize::from(signed.component.is_some()) + signed.attached.len();
        let what = match found {
            0 => "the plugin is not signed".to_string(),
            1 => "the plugin has a signature, but not of a key that the operator trusts".to_string(),
            found => format!("the plugin has {found} signatures, but none of a key that the operator trusts"),
        };
        let help = "sign the component or its image with a trusted key; `host explain plugin-not-signed` describes how";
        match self.mode {
            Mode::Enforce => Err(Box::new(Diagnostic::error(codes::PLUGIN_NOT_SIGNED, what).help(help))),
            Mode::Warn | Mode::Off => Ok(vec![Diagnostic::warning(codes::PLUGIN_NOT_SIGNED, what).help(help)]),
        }
    }

    fn is_signed(&self, component: &[u8], signed: &Signed) -> bool {
        let own = signed.component.as_ref();
        let of_image = |digest: &String| signed.attached.iter().any(|one| one.is_of(digest, &self.keys));
        own.is_some_and(|signature| self.keys.have_signed(component, signature))
            || signed.image.as_ref().is_some_and(of_image)
    }
}
