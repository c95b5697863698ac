//! Access to the cluster: what every controller needs to read, watch and write objects, and to run. It contains nothing
//! that only one controller decides.
//!
//! | module | content |
//! |---|---|
//! | [`client`] | calls to the API server, with timeouts and retries; events, and those that are recorded |
//! | [`cache`] | a digest of each object of a deployment, filled by watches |
//! | [`reconcile`] | watches, queue and back-off of a controller |
//! | [`objects`] | the objects that a controller owns: plan of the writes, name conflicts, drift, versions |
//! | [`namespaces`] | which namespaces are served |
//! | [`lease`] | leader election |
//! | [`metrics`], [`serving`] | metrics and health, over HTTP |
//! | [`consumers`] | which deployments use the values in Secrets, and run with them |
//! | [`changes`] | notices of changes within the process |
//! | [`pull_secret`] | credentials of registries |
//! | [`pods`] | what Kubernetes reports of a pod |
//! | [`client_slots`] | limits for the clients of a server |

pub mod cache;
pub mod changes;
pub mod client;
pub mod client_slots;
pub mod codes;
pub mod consumers;
pub mod lease;
pub mod metrics;
pub mod namespaces;
pub mod objects;
pub mod pods;
pub mod pull_secret;
pub mod reconcile;
pub mod serving;

pub use codes::ALL as CODES;
