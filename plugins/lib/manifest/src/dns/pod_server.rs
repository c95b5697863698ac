//! Which jobs need a DNS server within their pod, at the addresses of BOSH DNS. Its container may add addresses to the
//! pod.

use super::{HANDLER_FILE, LINK_LOCAL};
use crate::settings;
use boson_document::Tree;

/// Whether a job needs the server: it has a file of handlers, or a property with an address of BOSH DNS, as `silk-cni`
/// has one for the containers of apps. `quarks.link_local_dns` decides otherwise.
///
/// `job`: as the resolved document has it; `templates`: where its files are, relative to the job.
pub fn needs_pod_server(job: &Tree, templates: &[String]) -> bool {
    let given = settings::of_job(job).and_then(|settings| settings.get("link_local_dns"));
    given.and_then(Tree::as_bool).unwrap_or_else(|| {
        let has_handlers = templates.iter().any(|template| template == HANDLER_FILE);
        has_handlers || job.get("properties").is_some_and(names_address)
    })
}

fn names_address(properties: &Tree) -> bool {
    match properties {
        Tree::String(text) => LINK_LOCAL.contains(&text.as_str()),
        Tree::Array(items) => items.iter().any(names_address),
        Tree::Object(map) => map.values().any(names_address),
        _ => false,
    }
}
