//! Explanations of the diagnostics of `host blame`.

boson_document::codes! {
    BLAME_NO_FIELD = "blame-no-field", "The object has no such field",
        "Name a field as in the printed object: `spec.ports[0].port`, `spec.ports.name=http.port`, or as a JSON pointer, \
         `/spec/ports/0/port`. `*` stands for any part of a name.";
    BLAME_NO_OBJECT = "blame-no-object", "The conversion has no such object",
        "Name an object as kubectl does: `StatefulSet/nats-broker-v1`. `host convert` with the same options prints all \
         objects. With `--target quarks`, they are those of the operator's kinds.";
    BLAME_TOO_MANY = "blame-too-many", "The question is about too many fields",
        "Each field needs many calls of plugins. Name a field, or use fewer `*`.";
}
