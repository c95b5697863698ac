//! What the diagnostics about generated values mean: name, title, explanation (Markdown).

/// Codes of [`crate::Cause::code`].
pub const CODES: &[(&str, &str, &str)] = &[
    (
        "credentials-invalid-options",
        "The options of a variable are wrong",
        "A variable of type `password` takes `length`; `user` takes `username`, `length`, `exclude_lower`, `exclude_upper`, `exclude_number` and `include_special`; `certificate` takes `common_name`, \
         `organization`, `alternative_names`, `is_ca`, `ca`, `extended_key_usage` (`client_auth`, `server_auth`), `duration` (days) and \
         `key_length` (2048, 3072, 4096). Deployments take CredHub's options, too: `self_sign`, `key_usage`, `country`, `state`, `locality`, \
         `organization_unit`, and `code_signing`, `email_protection`, `timestamping` as `extended_key_usage`; `host interpolate` refuses them \
         as `bosh interpolate` does.",
    ),
    (
        "credentials-missing-ca",
        "A certificate has no signer",
        "Set `ca` to the name of the variable that holds the signing certificate, `is_ca: true` if it is a CA itself, or, in a \
         deployment, `self_sign: true`.",
    ),
    (
        "credentials-no-randomness",
        "The system gave no random bytes or key",
        "Values are made from the randomness of the operating system. It should never fail; check the system's log.",
    ),
    (
        "credentials-signing-failed",
        "A certificate could not be written",
        "A name in it has characters that certificates do not take (alternative names are ASCII), or the private key of the CA does not \
         belong to its certificate.",
    ),
    (
        "credentials-unsupported-type",
        "Values of this type cannot be generated",
        "The types are `password`, `certificate`, `rsa`, `ssh` and `user`. Values of others have to be given.",
    ),
    (
        "credentials-unusable-ca",
        "A CA cannot sign",
        "The value of the variable that `ca` names has a `certificate` and a `private_key`, both as PEM, the key as \
         `RSA PRIVATE KEY` (PKCS#1; `openssl rsa -traditional` converts). It must have its value before the certificates that it signs: \
         list it first.",
    ),
];
