//! What the diagnostics about generated values mean.

boson_document::codes! {
    CREDENTIALS_INVALID_OPTIONS = "credentials-invalid-options", "The options of a variable are invalid",
        "Options of the type `password` are `length`; of `user`: `username`, `length`, `exclude_lower`, `exclude_upper`, `exclude_number` and `include_special`; of `certificate`: `common_name`, \
         `organization`, `alternative_names`, `is_ca`, `ca`, `extended_key_usage` (`client_auth`, `server_auth`), `duration` (days) and \
         `key_length` (2048, 3072, 4096). Deployments also support CredHub's options: `self_sign`, `key_usage`, `country`, `state`, `locality`, \
         `organization_unit`, and `code_signing`, `email_protection`, `timestamping` as `extended_key_usage`; `host interpolate` rejects them \
         as `bosh interpolate` does.";
    CREDENTIALS_MISSING_CA = "credentials-missing-ca", "A certificate has no signer",
        "Set `ca` to the name of the variable that holds the signing certificate, `is_ca: true` if it is a CA itself, or, in a \
         deployment, `self_sign: true`.";
    CREDENTIALS_NO_RANDOMNESS = "credentials-no-randomness", "The operating system failed to provide random bytes",
        "Values are generated from the randomness of the operating system, which should never fail. Check the log of the system.";
    CREDENTIALS_SIGNING_FAILED = "credentials-signing-failed", "A certificate could not be created",
        "A name contains characters that certificates do not allow (alternative names are ASCII), or the private key of the CA does not \
         belong to its certificate.";
    CREDENTIALS_UNSUPPORTED_TYPE = "credentials-unsupported-type", "Values of this type cannot be generated",
        "The types are `password`, `certificate`, `rsa`, `ssh` and `user`. Set the values of other types yourself.";
    CREDENTIALS_UNUSABLE_CA = "credentials-unusable-ca", "A CA cannot sign",
        "The value of the variable that `ca` names needs a `certificate` and a `private_key` in PEM; the key as `RSA PRIVATE KEY` \
         or, except in `host interpolate`, as `PRIVATE KEY`, without a passphrase. The CA needs a value before the certificates that it signs: list it first.";
}
