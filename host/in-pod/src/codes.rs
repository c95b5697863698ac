//! Explanations of all diagnostic codes of this crate.

boson_pipeline::codes::codes! {
    DEPLOYMENT_NO_KEY = "deployment-no-key", "A ConfigMap or Secret lacks a key",
        "A manifest is stored under the key `manifest`, an ops file under `ops`, and the value of an implicit \
         variable under `value`, or under the key after the `/` in its name.";
    DEPLOYMENT_VALUE = "deployment-value", "A Secret contains an invalid value",
        "Values of variables are UTF-8 text. With the annotation `quarks.cloudfoundry.org/json-value: \"true\"` they \
         are JSON.";
}
