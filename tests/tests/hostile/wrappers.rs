//! Wrappers, which call the rule of their stage.

use super::{SANDBOX, is_alive, is_short, load, normal};
use boson_document::json;
use boson_sandbox::json_call::JsonCallError;
use boson_sandbox::{Error, ErrorKind, Plugin};
use boson_tests::component::component_of;
use boson_tests::wrapper::{COMMON, wrapper};

fn call(plugin: &Plugin) -> Result<String, Error> {
    match SANDBOX.call_json(plugin, "find", &json::parse(super::FIND).unwrap()) {
        Ok(reply) => Ok(json::to_text(&reply.value)),
        Err(JsonCallError::Plugin(failure, _)) => {
            is_short(&failure);
            Err(failure)
        }
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn three_wrappers_that_each_call_sixteen_times_end() {
    let many = load(&wrapper("ops", "operations", &["apply", "find"], 16, "").unwrap()).unwrap();
    let mut chain = load(&normal()).unwrap();
    for _ in 0..3 {
        chain = many.clone().wrap(chain).unwrap();
    }
    match call(&chain) {
        Ok(reply) => assert_eq!(reply, r#"{"value":7,"more":[]}"#),
        Err(failure) => assert_eq!(failure.kind, ErrorKind::Deadline, "{failure}"),
    }
    is_alive();
}

/// A wrapper whose `find` calls the rule with what is at this address.
fn passing(body: &str) -> Plugin {
    let module = format!(
        r#"(module
            (import "boson:ops/operations@1.0.0" "find" (func $find (param i32 i32)))
            (import "boson:ops/operations@1.0.0" "apply" (func $apply (param i32 i32))) {COMMON}
            (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
            (func (export "boson:ops/operations@1.0.0#find") (param i32) (result i32) {body} (i32.const 4096)))"#
    );
    let wrapper = load(&component_of(&module, "ops", "ops-wrapper", &[]).unwrap()).unwrap();
    wrapper.wrap(load(&normal()).unwrap()).unwrap()
}

#[test]
fn arguments_for_the_rule_are_read_like_a_reply() {
    let kinds = [ErrorKind::Malformed, ErrorKind::Trapped, ErrorKind::OverOutput];
    // Arguments or the place for the reply are outside of the memory, or not aligned; a text is.
    let text = "(i32.store (i32.const 8192) (i32.const -16)) (i32.store (i32.const 8196) (i32.const 64))";
    for body in [
        "(call $find (i32.const -4) (i32.const 4096))".to_string(),
        "(call $find (i32.const 8193) (i32.const 4096))".to_string(),
        "(call $find (local.get 0) (i32.const -8))".to_string(),
        "(call $find (local.get 0) (i32.const 4097))".to_string(),
        format!("{text} (call $find (i32.const 8192) (i32.const 4096))"),
    ] {
        let failure = call(&passing(&body)).unwrap_err();
        assert!(kinds.contains(&failure.kind), "{body}: {failure}");
    }
    is_alive();
}

#[test]
fn a_million_files_for_the_rule_are_too_many() {
    // `files` of `apply` is the third member of the request: two texts, then the list. Each file is two empty texts.
    let files = "(drop (memory.grow (i32.const 300)))
        (i32.store offset=16 (i32.const 8192) (i32.const 524288)) (i32.store offset=20 (i32.const 8192) (i32.const 1000000))
        (call $apply (i32.const 8192) (i32.const 4096))";
    let failure = call(&passing(files)).unwrap_err();
    assert_eq!(failure.kind, ErrorKind::OverOutput, "{failure}");
    is_alive();
}
