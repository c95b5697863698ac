//! The diagnostics of links from outside of the deployment.

boson_document::codes! {
    NATIVE_LINK_ANNOTATION = "native-link-annotation", "An annotation of a native link is invalid",
        "`quarks.cloudfoundry.org/provides` of a Secret or Service is a JSON object with the `name` and the `type` of the \
         link, for example '{\"name\":\"nats\",\"type\":\"nats\"}'. Other members are not allowed.";
    NATIVE_LINK_AMBIGUOUS = "native-link-ambiguous", "Several native objects provide the same link",
        "One Secret has the properties of a link, and one Service has its address and instances. Two Secrets, or two \
         Services, with the same name and type of a link for the same deployment are an error, because either of them \
         could be the wrong one. Remove `quarks.cloudfoundry.org/provides` from one of them, or give it another link \
         name. `host convert --native` also reports two different Secrets of the same name with the links of another \
         deployment.";
    NATIVE_LINK_NO_SECRET = "native-link-no-secret", "The Secret that a Service names does not provide the link",
        "`quarks.cloudfoundry.org/link-provider-name` of a Service is the name of the Secret with the properties of the \
         link (or, as in the predecessor, the name of the link). The Secret needs the annotations \
         `quarks.cloudfoundry.org/deployment-name` and `quarks.cloudfoundry.org/provides`, with the same values as the \
         Service. In a cluster, the deployment continues automatically when the Secret exists.";
    NATIVE_LINK_NO_DATA = "native-link-no-data", "The Secret of a link has no data",
        "Each key of the Secret is a property of the link, and dots in a key separate levels. A link without properties \
         needs no Secret: annotate only the Service.";
    NATIVE_LINK_KEY = "native-link-key", "A key of a link's Secret cannot be a property",
        "Dots in a key separate levels: `nats.password` is the property `password` of the map `nats`. So a Secret cannot \
         have the keys `nats` and `nats.password`, and no level has an empty name.";
    NATIVE_LINK_VALUE = "native-link-value", "A value of a link's Secret cannot be read",
        "Values are UTF-8 text. If the Secret has the annotation `quarks.cloudfoundry.org/json-value: \"true\"`, each \
         value is JSON, so that a property can be a number, a list or a map.";
    NATIVE_LINK_NO_ENDPOINTS = "native-link-no-endpoints", "The Service of a link has no selector and no endpoints",
        "The instances of a link are the pods that the Service selects. A Service without a selector needs an \
         EndpointSlice with the label `kubernetes.io/service-name`, Endpoints with its name, or the type ExternalName.";
    NATIVE_LINK_NO_INSTANCES = "native-link-no-instances", "The Service of a link selects no pod",
        "The link has an address, but no instances. A template that expects an instance fails. In a cluster, the \
         deployment is updated when the pods have addresses. With `host convert`, pass the pods or the EndpointSlices \
         of the Service to `--native`, too.";
    NATIVE_LINK_LIMIT = "native-link-limit", "Native links are too many or too large",
        "The Secrets and Services that provide links to one deployment are at most 256, with at most 2 MiB of data and \
         2,000 instances. A file of `--native` has at most 256 YAML documents.";
    NATIVE_LINK_UNUSED = "native-link-unused", "An object has no effect on the conversion",
        "`--native` reads Secrets and Services with the annotations of links for the converted deployment in its \
         namespace, and the Pods, EndpointSlices and Endpoints of these Services. Of a deployment that the manifest names \
         under `consumes`, it reads the Secret with the links that the deployment shares.";
}
