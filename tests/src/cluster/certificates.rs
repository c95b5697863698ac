//! The certificates of a control plane: one authority that signs everything, created with `openssl`.

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An authority with its files in one directory.
#[derive(Debug)]
pub(super) struct Authority {
    directory: PathBuf,
}

// === impl Authority ===

impl Authority {
    /// Creates `ca.crt` and `ca.key`.
    pub(super) fn new(directory: &Path) -> Result<Self> {
        let authority = Self {
            directory: directory.to_path_buf(),
        };
        let usage = "keyUsage=critical,keyCertSign,cRLSign,digitalSignature";
        authority.openssl(&[
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "30",
            "-keyout",
            "ca.key",
            "-out",
            "ca.crt",
            "-subj",
            "/CN=boson tests",
            "-addext",
            usage,
        ])?;
        Ok(authority)
    }

    /// Creates `NAME.crt` and `NAME.key` for servers and clients.
    pub(super) fn issue(&self, name: &str, subject: &str, names: &str) -> Result<()> {
        let [key, request, certificate, extensions] = ["key", "csr", "crt", "ext"].map(|kind| format!("{name}.{kind}"));
        let mut wanted = "basicConstraints=CA:FALSE\nkeyUsage=digitalSignature,keyEncipherment\n\
                          extendedKeyUsage=serverAuth,clientAuth\n"
            .to_string();
        if !names.is_empty() {
            wanted.push_str(&format!("subjectAltName={names}\n"));
        }
        fs::write(self.directory.join(&extensions), wanted)?;
        self.openssl(&[
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-keyout",
            &key,
            "-out",
            &request,
            "-subj",
            subject,
        ])?;
        self.openssl(&[
            "x509",
            "-req",
            "-in",
            &request,
            "-out",
            &certificate,
            "-days",
            "30",
            "-CA",
            "ca.crt",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-extfile",
            &extensions,
        ])
    }

    /// Creates `service-accounts.key`.
    pub(super) fn service_account_key(&self) -> Result<()> {
        self.openssl(&["genrsa", "-out", "service-accounts.key", "2048"])
    }

    /// A kubeconfig that holds the certificate of this name.
    pub(super) fn kubeconfig(&self, name: &str, server: &str) -> Result<String> {
        let [ca, certificate, key] = ["ca.crt".to_string(), format!("{name}.crt"), format!("{name}.key")]
            .map(|file| fs::read(self.directory.join(file)).map(|bytes| STANDARD.encode(bytes)));
        Ok(format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             contexts: [{{name: test, context: {{cluster: test, user: {name}}}}}]\n\
             clusters: [{{name: test, cluster: {{server: '{server}', certificate-authority-data: {ca}}}}}]\n\
             users: [{{name: {name}, user: {{client-certificate-data: {certificate}, client-key-data: {key}}}}}]\n",
            ca = ca?,
            certificate = certificate?,
            key = key?,
        ))
    }

    fn openssl(&self, arguments: &[&str]) -> Result<()> {
        let output = Command::new("openssl")
            .args(arguments)
            .current_dir(&self.directory)
            .output()
            .context("openssl is missing")?;
        if !output.status.success() {
            bail!(
                "openssl {}: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(())
    }
}
