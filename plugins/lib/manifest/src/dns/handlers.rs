//! Handlers of BOSH DNS: what answers for the names below a domain. The job `bosh-dns` has a list of them as a
//! property, and other jobs have files with such lists.

use super::aliases::alias_error;
use boson_document::{Pointer, Tree, json};
use std::net::{IpAddr, SocketAddr};

/// Where rendered lists of handlers are, relative to the job. They are valid on the instance that has the file.
pub const HANDLER_FILE: &str = "dns/handlers.json";
/// Most handlers of a list.
pub const MAX_HANDLERS: usize = 1_000;

/// What answers for a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    pub domain: String,
    pub source: Source,
}

/// Where the answers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Other servers, `ip[:port]`.
    Servers(Vec<String>),
    /// A server with an interface over HTTP, by its URL without a path behind it.
    Http(String),
    /// There is no such name.
    NoSuchName,
    /// It is not answered.
    Refused,
}

/// Why a list cannot be used, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerError {
    /// Within the list.
    pub at: Pointer,
    pub message: String,
}

// === impl Handler ===

impl Handler {
    /// Reads a list. BOSH's server does not start with a faulty one.
    pub fn list(items: &[Tree]) -> (Vec<Self>, Vec<HandlerError>) {
        let (mut all, mut errors) = (Vec::new(), Vec::new());
        if items.len() > MAX_HANDLERS {
            let message = format!("There are more than {MAX_HANDLERS} handlers");
            errors.push(HandlerError {
                at: Pointer::root(),
                message,
            });
        }
        for (index, item) in items.iter().take(MAX_HANDLERS).enumerate() {
            let at = Pointer::root().at(index);
            let Some(domain) = item.str("domain").filter(|domain| alias_error(domain).is_none()) else {
                let message = "A handler has no 'domain', or none that DNS can have".into();
                errors.push(HandlerError { at, message });
                continue;
            };
            let source = item.get("source").cloned().unwrap_or_default();
            if let Some(source) = Source::read(&source, &at.at("source"), &mut errors) {
                let domain = domain.trim_end_matches('.').to_ascii_lowercase();
                all.push(Self { domain, source });
            }
        }
        (all, errors)
    }

    /// Reads the file of a job.
    ///
    /// # Errors
    /// BOSH's server does not start with such a file.
    pub fn file(text: &str) -> Result<Vec<Self>, String> {
        let tree = json::parse(text).map_err(|_| "it is no JSON".to_string())?;
        let items = tree.as_array().ok_or("it is no list of handlers")?;
        let (all, errors) = Self::list(items);
        match errors.first() {
            Some(error) => Err(format!("{} ({})", error.message, error.at)),
            None => Ok(all),
        }
    }

    /// In the zone document.
    pub(super) fn tree(&self) -> Tree {
        let servers = match &self.source {
            Source::Servers(servers) => servers.clone(),
            _ => Vec::new(),
        };
        let tree = Tree::object()
            .with("domain", self.domain.as_str())
            .with("recursors", servers);
        match &self.source {
            Source::Servers(_) => tree,
            Source::Http(url) => tree.with("url", url.as_str()),
            Source::NoSuchName => tree.with("denied", "NXDOMAIN"),
            Source::Refused => tree.with("denied", "REFUSED"),
        }
    }
}

// === impl Source ===

impl Source {
    fn read(tree: &Tree, at: &Pointer, errors: &mut Vec<HandlerError>) -> Option<Self> {
        let mut error = |at: Pointer, message: String| errors.push(HandlerError { at, message });
        match tree.str("type") {
            Some("dns") => {
                let (servers, bad) = servers(tree.items("recursors"));
                for index in bad {
                    error(at.at("recursors").at(index), RECURSOR.into());
                }
                Some(Self::Servers(servers))
            }
            Some("http") => {
                let url = tree.str("url").filter(|url| authority(url).is_some());
                if url.is_none() {
                    let message = "The source of a handler has no URL of the form 'http://<host>[:<port>]'";
                    error(at.at("url"), message.into());
                }
                url.map(|url| Self::Http(url.trim_end_matches('/').into()))
            }
            Some("deny") if tree.str("response") == Some("REFUSED") => Some(Self::Refused),
            Some("deny") => Some(Self::NoSuchName),
            other => {
                let kind = other.unwrap_or_default();
                let message = format!("The source of a handler has the type '{kind}' instead of dns, http or deny");
                error(at.at("type"), message);
                None
            }
        }
    }

    /// Whether it is a server in the pod or on the VM itself.
    pub fn is_local(&self) -> bool {
        let Self::Http(url) = self else { return false };
        let authority = authority(url).unwrap_or_default();
        let host = match authority.strip_prefix('[') {
            Some(rest) => rest.split(']').next(),
            None => authority.split(':').next(),
        };
        let host = host.unwrap_or_default();
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

/// What is wrong with an entry of a list of recursors.
pub(super) const RECURSOR: &str = "A recursor is an IP address, with or without a port";

/// The addresses of a list, and the numbers of the entries that are none.
pub(super) fn servers(items: &[Tree]) -> (Vec<String>, Vec<usize>) {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (index, item) in items.iter().enumerate() {
        match item.as_str().filter(|text| is_server(text)) {
            Some(text) => good.push(text.to_string()),
            None => bad.push(index),
        }
    }
    (good, bad)
}

fn is_server(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok() || text.parse::<SocketAddr>().is_ok()
}

/// Host and port of a URL.
fn authority(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("http://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let is_sound =
        !authority.is_empty() && rest.bytes().all(|byte| byte.is_ascii_graphic()) && !authority.contains('@');
    is_sound.then_some(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let tree = json::parse(text).unwrap();
        let (all, errors) = Handler::list(tree.as_array().unwrap());
        let errors = errors
            .into_iter()
            .map(|error| format!("{} {}", error.at, error.message));
        (
            all.iter().map(|one| json::to_text(&one.tree())).collect(),
            errors.collect(),
        )
    }

    #[test]
    fn each_source_has_its_form() {
        let text = r#"[{"domain": "Apps.Internal.", "cache": {"enabled": false}, "source": {"type": "http", "url": "http://127.0.0.1:8053/"}},
            {"domain": "corp", "source": {"type": "dns", "recursors": ["10.0.0.1", "[::1]:53"]}},
            {"domain": "no", "source": {"type": "deny", "response": "NXDOMAIN"}}, {"domain": "never", "source": {"type": "deny", "response": "REFUSED"}}]"#;
        let wanted = [
            r#"{"domain":"apps.internal","recursors":[],"url":"http://127.0.0.1:8053"}"#,
            r#"{"domain":"corp","recursors":["10.0.0.1","[::1]:53"]}"#,
            r#"{"domain":"no","recursors":[],"denied":"NXDOMAIN"}"#,
            r#"{"domain":"never","recursors":[],"denied":"REFUSED"}"#,
        ];
        assert_eq!(read(text), (wanted.map(String::from).into(), vec![]));
    }

    #[test]
    fn faults_have_their_places() {
        let text = r#"[{"source": {"type": "deny"}}, {"domain": "a", "source": {"type": "dns", "recursors": ["x"]}},
            {"domain": "b", "source": {"type": "http", "url": "https://x"}}, {"domain": "c", "source": {"type": "file"}}, 1]"#;
        let wanted = [
            "/0 A handler has no 'domain', or none that DNS can have",
            "/1/source/recursors/0 A recursor is an IP address, with or without a port",
            "/2/source/url The source of a handler has no URL of the form 'http://<host>[:<port>]'",
            "/3/source/type The source of a handler has the type 'file' instead of dns, http or deny",
            "/4 A handler has no 'domain', or none that DNS can have",
        ];
        assert_eq!(read(text).1, wanted);
    }

    #[test]
    fn a_file_is_sound_or_has_a_reason() {
        assert_eq!(Handler::file("[]\n"), Ok(vec![]));
        for (text, why) in [
            ("", "it is no JSON"),
            ("{}", "it is no list of handlers"),
            ("[{}]", "A handler has no 'domain', or none that DNS can have (/0)"),
        ] {
            assert_eq!(Handler::file(text), Err(why.into()), "{text}");
        }
    }

    #[test]
    fn servers_of_the_same_machine_are_local() {
        let is_local = |url: &str| Source::Http(url.into()).is_local();
        for url in ["http://127.0.0.1:8053", "http://localhost", "http://[::1]:80/x"] {
            assert!(is_local(url), "{url}");
        }
        assert!(!is_local("http://10.0.0.1:8053") && !is_local("http://localhost.example.com"));
    }
}
