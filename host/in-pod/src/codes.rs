//! Explanations of all diagnostic codes of this crate.

use boson_pipeline::codes::Code;

/// All of them.
pub const CODES: &[Code] = &[
    Code {
        name: "deployment-no-key",
        title: "A ConfigMap or Secret lacks a key",
        explanation: "A manifest is under the key `manifest`, an ops file under `ops`, the value of an implicit variable under `value`, or \
                      under the key that follows the `/` in its name.",
    },
    Code {
        name: "deployment-value",
        title: "A Secret holds an invalid value",
        explanation: "Values of variables are text (UTF-8); with the annotation `quarks.cloudfoundry.org/json-value: \"true\"` they are \
                      JSON.",
    },
];
