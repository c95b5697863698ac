//! Authentication: challenges and tokens of registries. Pure: no I/O.

use crate::credentials::Credentials;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_auth::{ChallengeRef, parse_challenges};
use reqwest::Url;
use reqwest::header::HeaderValue;
use serde_json::Value;
use std::collections::BTreeSet;

/// The authentication that a registry requires.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// A token from a token server.
    Bearer {
        /// Address of the token server.
        realm: String,
        /// The service that the token is for.
        service: Option<String>,
    },
    /// User name and password.
    Basic,
}

/// The challenge of the `WWW-Authenticate` headers. Tokens are preferred to passwords, as each is valid for one
/// repository only.
pub(crate) fn challenge<'h>(headers: impl Iterator<Item = &'h str>) -> Option<Challenge> {
    let mut basic = None;
    for header in headers {
        for challenge in parse_challenges(header).unwrap_or_default() {
            if let (true, Some(realm)) = (
                challenge.scheme.eq_ignore_ascii_case("bearer"),
                parameter(&challenge, "realm"),
            ) {
                let service = parameter(&challenge, "service");
                return Some(Challenge::Bearer { realm, service });
            }
            if challenge.scheme.eq_ignore_ascii_case("basic") {
                basic = Some(Challenge::Basic);
            }
        }
    }
    basic
}

fn parameter(challenge: &ChallengeRef<'_>, name: &str) -> Option<String> {
    let found = challenge.params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.to_unescaped())
}

/// The address of the token server, if it is allowed: it receives the password. `without_tls`: hosts that may be used
/// without TLS. A token server must be listed itself, even if its registry is listed.
pub(crate) fn realm(text: &str, without_tls: &BTreeSet<String>) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (may_ask(&url, without_tls) && url.username().is_empty() && url.password().is_none()).then_some(url)
}

/// Whether a request may be sent there: with TLS, or to a host that may be used without.
pub(crate) fn may_ask(url: &Url, without_tls: &BTreeSet<String>) -> bool {
    url.scheme() == "https" || url.scheme() == "http" && without_tls.contains(&place(url))
}

/// `HOST`, or `HOST:PORT` where the port is not the scheme's own.
fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// The header with the token in this answer, if it has a valid one.
pub(crate) fn bearer(answer: &[u8]) -> Option<HeaderValue> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let token = ["token", "access_token"]
        .iter()
        .filter_map(|name| answer.get(name).and_then(Value::as_str))
        .find(|token| !token.is_empty())?;
    secret(&format!("Bearer {token}"))
}

/// The header with user name and password.
pub(crate) fn basic(credentials: &Credentials) -> Option<HeaderValue> {
    let pair = format!("{}:{}", credentials.username, credentials.password);
    secret(&format!("Basic {}", STANDARD.encode(pair)))
}

/// Marked as sensitive, so that it is not printed.
fn secret(text: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::from_str(text).ok()?;
    header.set_sensitive(true);
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_asked_for_before_passwords() {
        let bearer = |service: Option<&str>| {
            Some(Challenge::Bearer {
                realm: "https://a/t".into(),
                service: service.map(Into::into),
            })
        };
        for (headers, wanted) in [
            (vec![r#"Bearer realm="https://a/t",service="r""#], bearer(Some("r"))),
            (
                vec![r#"Basic realm="x""#, r#"bearer Realm="https://a/t""#],
                bearer(None),
            ),
            (vec![r#"Basic realm="x", Bearer realm="https://a/t""#], bearer(None)),
            (vec![r#"Basic realm="x""#], Some(Challenge::Basic)),
            (vec!["Bearer service=\"r\"", "Negotiate", "\"", ""], None),
            (vec![], None),
        ] {
            assert_eq!(challenge(headers.iter().copied()), wanted, "{headers:?}");
        }
    }

    #[test]
    fn passwords_are_sent_over_tls_but_to_hosts_that_are_listed() {
        let listed = BTreeSet::from(["a".to_string(), "b:5000".to_string()]);
        for (text, good) in [
            ("https://other/t?x=y", true),
            ("http://a/t", true),
            ("http://a:80/t", true),
            ("http://b:5000/t", true),
            ("http://b/t", false),
            ("http://a:5000/t", false),
            ("http://other/t", false),
            ("https://u:p@a/t", false),
            ("http://a@other/t", false),
            ("file:///etc/passwd", false),
            ("/t", false),
        ] {
            assert_eq!(realm(text, &listed).is_some(), good, "{text}");
        }
    }

    #[test]
    fn a_token_is_what_a_header_takes() {
        for (answer, good) in [
            (r#"{"token":"abc"}"#, true),
            (r#"{"token":"","access_token":"abc"}"#, true),
            (r#"{"token":"a\nb"}"#, false),
            (r#"{"token":"a\u0000b"}"#, false),
            (r#"{"token":7}"#, false),
            (r#"{"token":""}"#, false),
            ("{}", false),
            ("", false),
        ] {
            assert_eq!(bearer(answer.as_bytes()).is_some(), good, "{answer}");
        }
        assert!(!format!("{:?}", bearer(br#"{"token":"CANARY"}"#)).contains("CANARY"));
    }
}
