//! Links from outside of a deployment: the properties of native Secrets, the addresses and instances of native
//! Services.
//!
//! Nothing here knows BOSH's rules: which job gets which link is decided by the links stage.
//!
//! ```text
//! Secret, annotated  ---> properties ---\
//!                                        >--- ExternalLink ---> links stage
//! Service, annotated ---> instances ----/
//!          ^                  ^
//!          name of a Secret   EndpointSlices, Endpoints, Pods
//! ```

pub(crate) mod codes;
mod consumed;
mod instances;
mod marks;
mod native;
mod object;
mod properties;
mod stored;

pub use codes::{NATIVE_LINK_AMBIGUOUS, NATIVE_LINK_LIMIT, NATIVE_LINK_UNUSED};
pub use consumed::consumed;
pub use instances::SERVICE_LABEL;
pub use marks::{deployment, is_marked, names_deployment};
pub use native::{MAX_NATIVE_BYTES, MAX_NATIVE_INSTANCES, MAX_NATIVE_OBJECTS, Native, native};
pub use object::Object;
pub use stored::{read, write};

use crate::scrub::Secrets;
use crate::stage::External;
use boson_document::Tree;

/// The values that no message may contain: the properties of all links.
pub fn secrets(external: &External) -> Secrets {
    let shared = external.deployments.iter().flat_map(|deployment| &deployment.links);
    let links = external.native.iter().chain(shared);
    let properties = links.filter_map(|link| link.content.get("properties").cloned());
    Secrets::of(&Tree::from(properties.collect::<Vec<_>>()))
}
