//! Identities of keyless signatures: who an issuer says that somebody is.

use std::fmt;
use std::str::FromStr;

/// The longest rule and the longest identity, in bytes.
const MAX_BYTES: usize = 1024;

/// Who has signed something, as the certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// A workflow as an address, or an email address.
    pub name: String,
    /// The OpenID Connect issuer that has identified it.
    pub issuer: String,
}

/// Whose signatures count: `ISSUER=IDENTITY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityRule {
    issuer: String,
    /// `*` is any text without `/`, and `**` any text, as in the filters of GitHub's workflows.
    pattern: String,
}

// === impl IdentityRule ===

impl IdentityRule {
    /// Whether it is about identities of this issuer.
    pub fn is_of(&self, issuer: &str) -> bool {
        self.issuer == issuer
    }

    /// Whether it accepts an identity. None has control characters, which messages would contain.
    pub fn accepts(&self, identity: &Identity) -> bool {
        let is_text = !identity.name.contains(char::is_control);
        is_text && self.is_of(&identity.issuer) && matches(&self.pattern, &identity.name)
    }
}

impl FromStr for IdentityRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("a rule has at most {MAX_BYTES} bytes"));
        }
        let rule = text.split_once('=');
        let (issuer, pattern) = rule.ok_or("expected the issuer, '=' and the identity")?;
        if issuer.is_empty() || issuer.contains('*') {
            return Err("an issuer is an address without '*'".to_string());
        }
        // It would accept everybody who has an account there.
        if pattern.bytes().all(|byte| byte == b'*') {
            return Err("an identity needs more than '*'".to_string());
        }
        Ok(Self {
            issuer: issuer.to_string(),
            pattern: pattern.to_string(),
        })
    }
}

impl fmt::Display for IdentityRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.issuer, self.pattern)
    }
}

/// Whether the whole text matches. Both are bounded, so their product bounds the time.
fn matches(pattern: &str, text: &str) -> bool {
    if text.len() > MAX_BYTES {
        return false;
    }
    // Which numbers of bytes of the text match the pattern so far.
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    // Stars that follow each other are one wildcard.
    for part in pattern.as_bytes().chunk_by(|one, next| [*one, *next] == *b"**") {
        if part[0] == b'*' {
            let is_any = part.len() > 1;
            for (at, byte) in text.bytes().enumerate() {
                ends[at + 1] |= ends[at] && (is_any || byte != b'/');
            }
        } else {
            // From the end, because each comes from the one before.
            for (at, byte) in text.bytes().enumerate().rev() {
                ends[at + 1] = ends[at] && byte == part[0];
            }
            ends[0] = false;
        }
    }
    ends[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_matched_as_a_whole_and_a_star_stays_within_a_name() {
        let tags = "https://github.com/team/*/.github/workflows/release.yml@refs/tags/v*";
        let of = |repository: &str, tag: &str| {
            format!("https://github.com/team/{repository}/.github/workflows/release.yml@refs/tags/{tag}")
        };
        for (pattern, name, is_accepted) in [
            ("me@example.com", "me@example.com".to_string(), true),
            ("me@example.com", "me@example.com.evil.example".to_string(), false),
            ("me@example.com", "some@example.com".to_string(), false),
            ("*@example.com", "me@example.com".to_string(), true),
            ("*@example.com", "me@example.com@evil.example".to_string(), false),
            (tags, of("labels", "v1.0"), true),
            (tags, of("", "v"), true),
            (tags, of("labels", "1.0"), false),
            (tags, of("labels", "v1/2"), false),
            (tags, of("labels/../../evil", "v1"), false),
            ("https://github.com/team/**", of("labels", "v1/2"), true),
            (
                "https://github.com/team/**",
                "https://github.com/team".to_string(),
                false,
            ),
            ("a***b", "a/x/b".to_string(), true),
            ("a?", "ab".to_string(), false),
            ("a*", "a".repeat(MAX_BYTES + 1), false),
        ] {
            assert_eq!(matches(pattern, &name), is_accepted, "{pattern} {name}");
        }
    }

    #[test]
    fn a_rule_names_one_issuer_and_an_identity() {
        let rule: IdentityRule = "https://issuer.example=a=b*".parse().unwrap();
        assert_eq!(rule.to_string(), "https://issuer.example=a=b*");
        let identity = |issuer: &str| Identity {
            name: "a=bc".into(),
            issuer: issuer.into(),
        };
        assert!(rule.accepts(&identity("https://issuer.example")));
        assert!(!rule.accepts(&identity("https://other.example")));
        let long = format!("i={}", "a".repeat(MAX_BYTES));
        for wrong in [
            "",
            "https://issuer.example",
            "=me",
            "https://*.example=me",
            "i=",
            "i=**",
            &long,
        ] {
            assert!(wrong.parse::<IdentityRule>().is_err(), "{wrong}");
        }
    }
}
