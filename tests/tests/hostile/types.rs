//! Components whose types or composition are large.

use super::{is_alive, load, normal, ops, refused};
use boson_tests::component::component_of;
use boson_tests::wrapper::wrapper;
use wasm_encoder::{
    Alias, ComponentExportKind, ComponentImportSection, ComponentInstanceSection, ComponentOuterAliasKind,
    ComponentSection, ComponentTypeRef, ComponentTypeSection, ComponentValType, InstanceType, Module, RawSection,
    TypeSection, ValType,
};
use wasmparser::{Validator, WasmFeatures};

/// Numbers of types and of components that a component has defined.
fn defined(component: &[u8]) -> (u32, u32) {
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let types = validator.validate_all(component).unwrap();
    let types = types.as_ref();
    (types.component_type_count(), types.component_count())
}

/// The component with another import: an instance with this name that has an instance, called `long`, with this number
/// of functions.
fn importing(mut component: Vec<u8>, name: &str, long: &str, functions: u32) -> Vec<u8> {
    let (first, _) = defined(&component);
    let mut section = ComponentTypeSection::new();
    let mut inner = InstanceType::new();
    let none: [(&str, ComponentValType); 0] = [];
    inner.ty().function().params(none).result(None);
    for nth in 0..functions {
        inner.export(format!("f{nth}").as_str(), ComponentTypeRef::Func(0));
    }
    section.instance(&inner);
    let mut outer = InstanceType::new();
    outer.alias(Alias::Outer {
        kind: ComponentOuterAliasKind::Type,
        count: 1,
        index: first,
    });
    outer.export(long, ComponentTypeRef::Instance(0));
    section.instance(&outer);
    section.append_to_component(&mut component);
    let mut imports = ComponentImportSection::new();
    imports.import(name, ComponentTypeRef::Instance(first + 1));
    imports.append_to_component(&mut component);
    component
}

#[test]
fn ten_thousand_functions_in_an_instance_with_a_long_name_are_counted() {
    let long = "x".repeat(60_000);
    let component = importing(normal(), "evil:many/functions@1.0.0", &long, 10_000);
    refused(&component, "imports function 'evil:many/functions@1.0.0#xxxx");
    refused(&component, "and 9992 more; a plugin may");
}

#[test]
fn a_wrapper_may_not_import_more_of_its_interface_than_there_is() {
    let wrapper = wrapper("ops", "operations", &["apply", "find"], 1, "").unwrap();
    let long = "x".repeat(60_000);
    let component = importing(wrapper, "boson:ops/operations@1.1.0", &long, 10_000);
    refused(&component, "does not fit the sandbox: ");
}

#[test]
fn functions_with_other_types_than_the_contract_are_refused_when_they_are_loaded() {
    let types =
        "package evil:types@1.0.0; world w { export boson:types/about@1.0.0; export boson:ops/operations@1.0.0; }";
    let odd = r#"(module (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
        (func (export "boson:types/about@1.0.0#describe") (result i32) unreachable)
        (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
        (func (export "boson:ops/operations@1.0.0#find") (param i32) (result i32) unreachable))"#;
    let component = component_of(odd, "ops", "w", &[("w.wit", types)]).unwrap();
    assert!(load(&component).is_ok(), "the types of the contract");
    // The same component, but `find` takes what `apply` takes.
    let component = wat::parse_str(
        r#"(component
            (core module $m (func (export "f") (param i32)))
            (core instance $i (instantiate $m))
            (func $f (param "a" u32) (canon lift (core func $i "f")))
            (instance $about (export "describe" (func $f)))
            (instance $ops (export "apply" (func $f)) (export "find" (func $f)))
            (export "boson:types/about@1.0.0" (instance $about))
            (export "boson:ops/operations@1.0.0" (instance $ops)))"#,
    );
    refused(
        &component.unwrap(),
        "was built for another contract: the function 'describe' of boson:types/about@1.0.0",
    );
    let component = wat::parse_str(
        r#"(component
            (instance $none)
            (export "boson:types/about@1.0.0" (instance $none))
            (export "boson:ops/operations@1.0.0" (instance $none)))"#,
    );
    refused(
        &component.unwrap(),
        "was built for another contract: the function 'describe' of boson:types/about@1.0.0",
    );
}

/// Components in components, and an instance of each.
fn nested(depth: usize) -> Vec<u8> {
    let mut inner = wat::parse_str("(component)").unwrap();
    for _ in 0..depth {
        let mut outer = inner[..8].to_vec();
        RawSection { id: 4, data: &inner }.append_to_component(&mut outer);
        inner = outer;
    }
    inner
}

/// The component with another one inside.
fn with_inside(mut outer: Vec<u8>, inner: &[u8]) -> Vec<u8> {
    RawSection { id: 4, data: inner }.append_to_component(&mut outer);
    outer
}

#[test]
fn components_may_be_nested_and_the_compiler_survives_deep_nesting() {
    assert!(load(&with_inside(normal(), &nested(50))).is_ok());
    refused(&with_inside(normal(), &nested(20_000)), "");
    is_alive();
}

/// A component whose parts each have two instances of the next: two to the power of `depth`.
fn multiplied(depth: usize) -> String {
    let mut text = r#"(component $c0 (core module $m (memory 1)) (core instance (instantiate $m)))"#.to_string();
    for nth in 1..=depth {
        let below = nth - 1;
        text =
            format!("(component $c{nth} {text} (instance (instantiate $c{below})) (instance (instantiate $c{below})))");
    }
    format!("(component {text} (instance (instantiate $c{depth})))")
}

#[test]
fn instances_that_multiply_are_refused_before_they_exist() {
    for depth in [7, 16] {
        let component = wat::parse_str(multiplied(depth)).unwrap();
        // Instantiated in the component of a plugin.
        let (_, index) = defined(&normal());
        let mut plugin = with_inside(normal(), &component);
        let mut section = ComponentInstanceSection::new();
        section.instantiate(index, [] as [(&str, ComponentExportKind, u32); 0]);
        section.append_to_component(&mut plugin);
        refused(&plugin, "");
    }
    is_alive();
}

/// A module with this number of function types, each with this number of parameters.
fn typed(count: usize, params: usize) -> Vec<u8> {
    let mut section = TypeSection::new();
    for nth in 0..count {
        let kinds = [ValType::I32, ValType::I64];
        // All different, because equal types are stored once.
        let kind = |bit: usize| kinds[(nth >> (bit % 24)) & 1];
        section.ty().function((0..params).map(kind), []);
    }
    let mut module = Module::new();
    module.section(&section);
    module.finish()
}

/// The engine would keep 430 MB for 10 MB of types.
#[test]
fn many_large_types_are_refused() {
    let mut component = normal();
    RawSection {
        id: 1,
        data: &typed(20_000, 500),
    }
    .append_to_component(&mut component);
    refused(&component, "has more than 256 KiB of types");
    let exports: String = (0..500_000)
        .map(|nth| format!("(export \"e{nth}\" (func $f))"))
        .collect();
    let module = wat::parse_str(format!("(module (func $f) {exports})")).unwrap();
    let mut component = normal();
    RawSection { id: 1, data: &module }.append_to_component(&mut component);
    refused(
        &component,
        "has more than 4 MiB of imports, exports, aliases and instances",
    );
    is_alive();
}

#[test]
fn aliases_and_exports_without_number_are_refused_or_have_no_effect() {
    let aliases: String = (0..50_000)
        .map(|nth| format!("(alias outer 1 $t (type $a{nth}))"))
        .collect();
    let text = format!("(component (type $t u32) (component {aliases}))");
    let inner = wat::parse_str(text).unwrap();
    let _ = load(&with_inside(ops("unreachable", ""), &inner));
    let exports: String = (0..20_000)
        .map(|nth| format!("(export \"e{nth}\" (type $t))"))
        .collect();
    let component = wat::parse_str(format!("(component (type $t u32) {exports})")).unwrap();
    refused(&component, "exports no stage; expected one of");
    refused(&component, "and 19992 more");
    is_alive();
}
