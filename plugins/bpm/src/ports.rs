//! Ports: `quarks.ports` of all jobs of a group make one list.

use crate::codes;
use crate::job::Job;
use crate::report::{Place, Report};
use boson_deployment::names;
use boson_document::Tree;

/// A port.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Name, a DNS label.
    pub name: String,
    /// `TCP`, `UDP`, `SCTP`.
    pub protocol: String,
    /// Number, in the container and of the Service.
    pub number: u16,
    /// Whose it is.
    pub job: String,
    /// Where it is given.
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
    let name = names::cut(&names::label(given), "", names::LABEL_LIMIT);
    if name.is_empty() {
        report.error(
            codes::PORT,
            &place.at("name"),
            format!("The name '{given}' of a port has no letter or digit"),
        );
    }
    let protocol = item
        .str("protocol")
        .filter(|text| !text.is_empty())
        .unwrap_or("TCP")
        .to_ascii_uppercase();
    if !matches!(protocol.as_str(), "TCP" | "UDP" | "SCTP") {
        let text = format!("Protocol '{protocol}' of port '{given}' is not one of TCP, UDP, SCTP");
        report.error(codes::PORT, &place.at("protocol"), text);
    }
    let number = item
        .get("internal")
        .and_then(Tree::as_i64)
        .and_then(|number| u16::try_from(number).ok());
    let Some(number) = number.filter(|number| *number > 0) else {
        report.error(
            codes::PORT,
            &place.at("internal"),
            format!("Port '{given}' has no number from 1 to 65535 under 'internal'"),
        );
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
pub fn merge(jobs: &[Job], report: &mut Report) -> Vec<Port> {
    let mut out: Vec<Port> = Vec::new();
    for port in jobs.iter().flat_map(|job| &job.quarks.ports) {
        let same_name = |other: &&Port| other.name == port.name;
        let same_number = |other: &&Port| (&other.protocol, other.number) == (&port.protocol, port.number);
        match out.iter().find(|other| same_name(other) || same_number(other)) {
            None => out.push(port.clone()),
            Some(other) if same_name(&other) && same_number(&other) => {}
            Some(other) => {
                let text = format!(
                    "Port '{}' ({} {}) of job '{}' conflicts with port '{}' ({} {}) of job '{}'",
                    port.name,
                    port.protocol,
                    port.number,
                    port.job,
                    other.name,
                    other.protocol,
                    other.number,
                    other.job
                );
                report.error(codes::PORT, &port.place, text);
            }
        }
    }
    out
}

/// May a container's port have this name? Stricter than for Services.
pub fn is_container_port_name(name: &str) -> bool {
    name.len() <= 15 && !name.contains("--") && name.bytes().any(|b| b.is_ascii_lowercase())
}
