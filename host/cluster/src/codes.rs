//! Explanations of all diagnostic codes of this crate.

boson_pipeline::codes::codes! {
    OPERATOR_FLAWED_OBJECT = "operator-flawed-object", "An object of the operator lacks a part that it must have",
        "The operator has read or built an object without a name, namespace, UID or owner, or of another form than its kind \
         has. It writes nothing for this object, because the result would belong to no object or to the wrong one, and tries \
         again later. This is a defect of the operator, not of your input: please report it, with the message and the log of \
         the operator.";
}
