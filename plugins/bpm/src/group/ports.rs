//! Ports: `quarks.ports` of all jobs of a group make one list.

use crate::codes;
use boson_document::{Place, Report, Tree};
use boson_manifest::names;
use boson_manifest::syntax::is_label;
use indexmap::IndexMap;
use std::collections::HashMap;

#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Name, a DNS label.
    pub name: String,
    /// `TCP`, `UDP`, `SCTP`.
    pub protocol: String,
    /// Number, in the container and of the Service.
    pub number: u16,
    pub job: String,
    pub place: Place,
}

/// The ports of a job.
pub fn read(quarks: &Tree, job: &str, place: &Place, report: &mut Report) -> Vec<Port> {
    let items = quarks.items("ports").iter().enumerate();
    items
        .filter_map(|(index, item)| port(item, job, &place.at("ports").at(index), report))
        .collect()
}

fn port(item: &Tree, job: &str, place: &Place, report: &mut Report) -> Option<Port> {
    let given = item.str("name")?;
    let name = names::label_value(given);
    if name.is_empty() {
        let text = format!("The name '{given}' of a port has no letter or digit");
        report.error(codes::PORT, place.at("name"), text);
    }
    let protocol = item
        .str("protocol")
        .filter(|text| !text.is_empty())
        .unwrap_or("TCP")
        .to_ascii_uppercase();
    if !matches!(protocol.as_str(), "TCP" | "UDP" | "SCTP") {
        let text = format!("Protocol '{protocol}' of port '{given}' is not one of TCP, UDP, SCTP");
        report.error(codes::PORT, place.at("protocol"), text);
    }
    let number = item.i64("internal").and_then(|number| u16::try_from(number).ok());
    let Some(number) = number.filter(|number| *number > 0) else {
        let message = format!("Port '{given}' has no number from 1 to 65535 under 'internal'");
        report.error(codes::PORT, place.at("internal"), message);
        return None;
    };
    Some(Port {
        name,
        protocol,
        number,
        job: job.into(),
        place: place.clone(),
    })
}

/// The ports of all jobs, equal ones once. Two that share a name or a number are an error.
pub fn merge<'p>(ports: impl Iterator<Item = &'p Port>, report: &mut Report) -> Vec<Port> {
    let mut by_name: IndexMap<String, &Port> = IndexMap::new();
    let mut by_number: HashMap<(String, u16), &Port> = HashMap::new();
    for port in ports {
        let number = (port.protocol.clone(), port.number);
        match (by_name.get(&port.name), by_number.get(&number)) {
            (None, None) => {
                by_name.insert(port.name.clone(), port);
                by_number.insert(number, port);
            }
            (Some(a), Some(b)) if std::ptr::eq(*a, *b) => {}
            (Some(other), _) | (None, Some(other)) => {
                let text = format!("{} conflicts with {}", port.described(), lower(&other.described()));
                report.error(codes::PORT, &port.place, text);
            }
        }
    }
    by_name.into_values().cloned().collect()
}

// === impl Port ===

impl Port {
    fn described(&self) -> String {
        format!(
            "Port '{}' ({} {}) of job '{}'",
            self.name, self.protocol, self.number, self.job
        )
    }
}

/// The text for the middle of a sentence.
fn lower(text: &str) -> String {
    text.replacen("Port", "port", 1)
}

/// May a container's port have this name? Stricter than for Services.
pub fn is_container_port_name(name: &str) -> bool {
    name.len() <= 15 && is_label(name) && !name.contains("--") && name.bytes().any(|b| b.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_container_ports_obey_kubernetes() {
        for (name, is_good) in [
            ("http", true),
            ("h2-0", true),
            ("", false),
            ("80", false),
            ("a--b", false),
            ("-a", false),
            ("A_b.C", false),
            ("a b", false),
            ("sixteen-letters-", false),
            ("more-than-fifteen", false),
        ] {
            assert_eq!(is_container_port_name(name), is_good, "{name}");
        }
    }
}
