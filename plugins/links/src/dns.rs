//! Jobs of BOSH's own DNS: they never become containers, and the names that they make known do not resolve yet.

use crate::codes;
use crate::diagnostic::Report;
use crate::value::{Members, plain};
use boson_document::{Pointer, Tree};

/// Releases whose jobs resolve names on virtual machines.
const RELEASES: [&str; 2] = ["bosh-dns", "bosh-dns-aliases"];

/// Most aliases of one job that are named.
const MOST_ALIASES: usize = 200;

/// Is this a release of BOSH DNS? Warns that the job has no effect, and of every alias that it would make known.
pub fn is_dns(job: &str, release: &str, members: &Members<'_>, report: &mut Report) -> bool {
    if !RELEASES.contains(&release) {
        return false;
    }
    let message = format!(
        "Job '{}' of the release '{release}' has no effect: BOSH DNS does not run in Kubernetes",
        plain(job)
    );
    let help = "links give the addresses of Services, which the cluster's DNS resolves; names of aliases it does not";
    report.warning(codes::DNS_JOB, members.place.clone(), message, help);
    for (domain, place) in aliases(members).into_iter().take(MOST_ALIASES) {
        let message = format!(
            "The alias '{}' does not resolve: aliases are not converted yet",
            plain(domain)
        );
        let help = "where a job uses this name, give it the address of the Service instead";
        report.warning(codes::DNS_ALIAS, place, message, help);
    }
    true
}

/// Names of the job's property `aliases`: a list of maps with `domain` (bosh-dns-aliases), or a map (bosh-dns).
fn aliases<'m>(members: &Members<'m>) -> Vec<(&'m str, Pointer)> {
    let given = members
        .get("properties")
        .and_then(|properties| properties.get("aliases"));
    let place = members.place.at("properties").at("aliases");
    match given {
        Some(Tree::Array(items)) => {
            let items = items.iter().enumerate();
            let domain = |(index, item): (usize, &'m Tree)| Some((item.str("domain")?, place.at(index).at("domain")));
            items.filter_map(domain).collect()
        }
        Some(Tree::Object(map)) => map.keys().map(|domain| (domain.as_str(), place.at(domain))).collect(),
        _ => Vec::new(),
    }
}
