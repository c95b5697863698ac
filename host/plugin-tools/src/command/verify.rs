//! `host plugin verify`: whether a plugin is signed, as an operator that enforces signatures verifies it.

use crate::artifacts;
use crate::command::pack;
use crate::core_module;
use crate::evidence::{Names, TrustArguments};
use crate::signature_error::{Explanation, explain};
use boson_commands::columns::indented;
use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Color, Form};
use boson_document::{Tree, json};
use boson_oci::{Digest, parse_digest};
use boson_pipeline::Diagnostic;
use boson_pipeline::report::clean;
use boson_plugins::codes;
use boson_registry::Attachments;
use boson_signatures::{Provenance, SignatureError, Signed, Signer, Subject};
use clap::{ArgGroup, Args};
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
An operator with `--plugin-signatures enforce` and the same keys and identities uses exactly the plugins that this command accepts; with --provenance, \
one with `--plugin-provenance enforce`, too. Signatures and attestations of an image are read from its registry: those that \
`cosign sign` and `cosign attest` attach. No other server is asked. For a file, name them. The exit code is 1 if the plugin is not signed. Credentials \
are those of `docker login`.

Examples:
  host plugin verify oci://registry.example.com/team/my-labels:1.0 --key cosign.pub
  host plugin verify my-labels.wasm --key cosign.pub --signature my-labels.sigstore.json
  host plugin verify oci://registry.example.com/team/my-labels:1.0 --key cosign.pub --provenance --builder https://ci.example.com
  host plugin verify oci://registry.example.com/team/my-labels:1.0 --trusted-root trusted_root.json --identity https://accounts.example.com=me@example.com";

/// Options of `host plugin verify`.
#[derive(Args, Debug)]
#[command(after_help = ABOUT, group(ArgGroup::new("signers").required(true).multiple(true).args(["keys", "identities"])))]
pub struct VerifyArguments {
    /// The component: a file, or `oci://HOST[:PORT]/PATH[:TAG][@sha256:DIGEST]`
    component: PathBuf,
    #[command(flatten)]
    trust: TrustArguments,
    /// Signature of the component: a bundle of `cosign sign-blob`, or a signature in base64
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    /// Require an attestation of the build, too (SLSA provenance)
    #[arg(long)]
    provenance: bool,
    /// Accept only attestations that name this builder; repeat it for several
    #[arg(long = "builder", value_name = "ID", requires = "provenance")]
    builders: Vec<String>,
    /// Attestation of the component's build: a bundle of `cosign attest-blob`, or its envelope
    #[arg(long, value_name = "FILE", requires = "provenance")]
    attestation: Option<PathBuf>,
    /// Form of the result
    #[arg(long, short, value_enum, default_value_t, value_name = "FORM")]
    output: Form,
}

/// A component with what is attached to its image.
pub struct Found {
    pub bytes: Vec<u8>,
    /// Its image with the digest, if it is in a registry.
    pub image: Option<String>,
    pub attachments: Attachments,
}

struct Verified<'v> {
    component: Digest,
    image: Option<&'v str>,
    signer: Signer,
    provenance: Option<Provenance>,
}

// === impl Found ===

impl Found {
    /// Reads a component, and from a registry also what is attached to its image.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> Result<Self, Diagnostic> {
        Ok(match artifacts::with_attachments(path)? {
            Some((pulled, attachments)) => Self {
                bytes: pulled.component,
                image: Some(pulled.pinned),
                attachments,
            },
            None => Self {
                bytes: pack::component(path)?,
                image: None,
                attachments: Attachments::default(),
            },
        })
    }

    pub fn image_digest(&self) -> Option<Digest> {
        parse_digest(self.image.as_deref()?.split_once('@')?.1)
    }
}

pub fn run(arguments: &VerifyArguments, color: Color) -> Result<(), ExitError> {
    let fail = |error: Diagnostic| exit::fail(error, color);
    let (trust, names) = arguments.trust.read()?;
    let found = Found::read(&arguments.component).map_err(fail)?;
    let is_signed = arguments.signature.is_some() || arguments.attestation.is_some();
    if is_signed && core_module::is_at(&arguments.component) {
        return Err(fail(pack::signed_module(&arguments.component)));
    }
    let signed = Signed {
        component: pack::text_of(arguments.signature.as_deref())?,
        statement: pack::text_of(arguments.attestation.as_deref())?,
        image: found.image_digest(),
        attached: found.attachments.attached(),
    };
    let name = clean::line(&match &found.image {
        Some(image) => image.clone(),
        None => arguments.component.display().to_string(),
    });
    let component = boson_oci::digest(&found.bytes);
    let subject = format!("'{name}', component {component},");
    let signer = signed.signer(&found.bytes, &trust);
    let signer = signer.map_err(|error| fail(unsigned_error(&subject, &signed, &names, &error)))?;
    let attested = || signed.provenance(&component, &trust, &arguments.builders);
    let provenance = arguments.provenance.then(attested).transpose();
    let provenance = provenance.map_err(|error| fail(unattested_error(arguments, &subject, &names, &error)))?;
    let verified = Verified {
        component,
        image: found.image.as_deref(),
        signer,
        provenance,
    };
    let text = match arguments.output {
        Form::Text => text(&verified, &names),
        Form::Json => json::to_lines(&tree(&verified, &names)),
    };
    Ok(output::print(&text)?)
}

fn unsigned_error(subject: &str, signed: &Signed, names: &Names, error: &SignatureError) -> Diagnostic {
    if let Some(Explanation { code, what, help }) = explain(error) {
        let help = format!("{help}; expected a signature by {}", names.all());
        return Diagnostic::error(code, format!("{subject} {what}")).help(help);
    }
    let trusted = names.all();
    let what = match signed.count() {
        0 => format!("is not signed; expected a signature by {trusted}"),
        1 => format!("has a signature, but not by {trusted}"),
        found => format!("has {found} signatures, but none by {trusted}"),
    };
    let help = match signed.image {
        Some(_) => "sign the image with `cosign sign`, or trust the key or identity of who has signed it",
        None => {
            "pass the signature of the component with --signature, or trust the key or identity of who has signed it"
        }
    };
    Diagnostic::error(codes::PLUGIN_NOT_SIGNED, format!("{subject} {what}")).help(help)
}

fn unattested_error(arguments: &VerifyArguments, subject: &str, names: &Names, error: &SignatureError) -> Diagnostic {
    let builder = match arguments.builders.as_slice() {
        [] => String::new(),
        builders => format!(" by {}", builders.join(" or ")),
    };
    let trusted = names.all();
    let closest = explain(error).map(|closest| format!("; one attestation {}", closest.what));
    let closest = closest.unwrap_or_default();
    let what = format!("{subject} has no attestation of a build{builder} that {trusted} has signed{closest}");
    Diagnostic::error(codes::PLUGIN_NO_PROVENANCE, what)
        .help("attach one with `cosign attest --type slsaprovenance1`, or pass one with --attestation")
}

fn of(subject: Subject) -> &'static str {
    match subject {
        Subject::Component => "component",
        Subject::Image => "image",
    }
}

fn text(verified: &Verified<'_>, names: &Names) -> String {
    let row = |name: &str, value: String| [name.to_string(), value];
    let by = |signer: &Signer| format!("the {}, by {}", of(signer.subject), names.name(&signer.author));
    let mut rows = vec![row("component", verified.component.to_string())];
    rows.extend(verified.image.map(|image| row("image", image.to_string())));
    rows.push(row("signed", by(&verified.signer)));
    if let Some(Provenance { signer, builder }) = &verified.provenance {
        rows.push(row("attested", by(signer)));
        rows.extend(builder.clone().map(|builder| row("built by", builder)));
    }
    format!("verified\n{}", indented(&rows))
}

fn tree(verified: &Verified<'_>, names: &Names) -> Tree {
    let by = |signer: &Signer| names.add_to(Tree::object().with("of", of(signer.subject)), &signer.author);
    let provenance = verified.provenance.as_ref();
    let provenance = provenance.map(|one| by(&one.signer).with_some("builder", one.builder.as_deref()));
    Tree::object()
        .with("verified", true)
        .with("component", verified.component.to_string())
        .with_some("image", verified.image)
        .with("signature", by(&verified.signer))
        .with_some("provenance", provenance)
}
