//! Test objects, as a cluster would return them.

use boson_api::{QuarksJob, QuarksJobSpec};
use serde_json::Value;

/// A QuarksJob `a` with this spec.
pub(super) fn asked(spec: Value) -> QuarksJob {
    let spec: QuarksJobSpec = serde_json::from_value(spec).unwrap();
    let mut object = QuarksJob::new("a", spec);
    object.metadata.namespace = Some("n".into());
    object.metadata.uid = Some("uid-a".into());
    object.metadata.generation = Some(1);
    object
}
