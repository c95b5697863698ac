//! Sections that no engine needs: names of functions, and others of any content.

use super::{failure, is_alive, load, ops};
use boson_componentize::component;
use boson_sandbox::ErrorKind;
use boson_tests::component::core_module;
use boson_tests::host;
use boson_tests::wrapper::COMMON;
use wasm_encoder::{
    Alias, ComponentBuilder, ComponentExportKind, ComponentOuterAliasKind, ComponentType, ComponentTypeRef,
    ComponentValType, CustomSection, Encode, InstanceType, PrimitiveValType, Section, TypeBounds,
};

#[test]
fn names_of_functions_are_shortened_and_cannot_control_a_terminal() {
    let long = "n".repeat(90_000);
    let many: String = (0..40)
        .map(|nth| {
            format!(
                "(func $f{nth} (@name \"{nth}\\1b[31m\\0a\\e2\\80\\ae{long}\") (call $f{}))\n",
                nth + 1
            )
        })
        .collect();
    let extra = format!("{many} (func $f40 (@name \"\\07{long}\") unreachable)");
    let failure = failure(&load(&ops("(call $f0) (i32.const 4096)", &extra)).unwrap());
    assert_eq!(failure.kind, ErrorKind::Trapped);
    assert!(!failure.functions.is_empty());
    for name in &failure.functions {
        assert!(name.len() < 600 && !name.contains(char::is_control), "{name:?}");
    }
}

/// Names by Rust's mangling, which may refer to their own parts: this one doubles with each letter.
#[test]
fn a_mangled_name_that_multiplies_is_shortened() {
    let mut name = "_RINvC1a1b".to_string();
    let mut at = name.len() - 2;
    name.push_str("TC1cC1dE");
    for _ in 0..40 {
        let back = at_base_62(at - 2);
        at = name.len();
        name.push_str(&format!("TB{back}B{back}E"));
    }
    name.push('E');
    let trap = format!("(func $f (@name \"{name}\") unreachable)");
    let failure = failure(&load(&ops("(call $f) (i32.const 4096)", &trap)).unwrap());
    assert_eq!(failure.kind, ErrorKind::Trapped);
    is_alive();
}

/// A position in a mangled name.
fn at_base_62(number: usize) -> String {
    const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let (mut number, mut text) = (number.saturating_sub(1), Vec::new());
    loop {
        text.push(DIGITS[number % 62]);
        number /= 62;
        if number == 0 {
            break;
        }
    }
    text.reverse();
    format!("{}_", String::from_utf8(text).unwrap())
}

/// The core module of a plugin.
fn module() -> Vec<u8> {
    let text = format!(
        r#"(module {COMMON}
            (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
            (func (export "boson:ops/operations@1.0.0#find") (param i32) (result i32) unreachable))"#
    );
    core_module(&text, "ops", "ops", &[]).unwrap()
}

/// The bytes with a custom section at their end.
fn with_section(mut bytes: Vec<u8>, name: &str, data: &[u8]) -> Vec<u8> {
    let section = CustomSection {
        name: name.into(),
        data: data.into(),
    };
    bytes.push(section.id());
    section.encode(&mut bytes);
    bytes
}

#[test]
fn custom_sections_of_any_content_are_refused_or_ignored() {
    let noise = boson_tests::compiled::noise(20_000);
    for name in [
        "name",
        "producers",
        "dylink.0",
        "target_features",
        "component-type:evil",
        ".debug_info",
        "",
        "\u{1b}[31m",
    ] {
        for data in [&[][..], &[0xff; 9], &noise] {
            // In a core module, which has to become a component.
            match component(&with_section(module(), name, data)) {
                Ok(made) => drop(load(&made).map(|plugin| plugin.digest)),
                Err(error) => assert!(error.to_string().len() < 10_000, "{name}: {error}"),
            }
            // In the component.
            let made = component(&module()).unwrap();
            assert!(load(&with_section(made, name, data)).is_ok(), "{name}");
        }
    }
    let many = (0..2000).fold(module(), |bytes, nth| {
        with_section(bytes, &format!("x{nth}"), &noise[..1000])
    });
    assert!(load(&component(&many).unwrap()).is_ok());
    is_alive();
}

/// An interface type with a type `t`; with a number, `t` is the type of the world with this number.
fn interface(used: Option<u32>) -> InstanceType {
    let mut interface = InstanceType::new();
    match used {
        Some(index) => {
            interface.alias(Alias::Outer {
                kind: ComponentOuterAliasKind::Type,
                count: 1,
                index,
            });
        }
        None => {
            let field = ("f", ComponentValType::Primitive(PrimitiveValType::U8));
            interface.ty().defined_type().record([field]);
        }
    }
    interface.export("t", ComponentTypeRef::Type(TypeBounds::Eq(0)));
    interface
}

/// A `component-type` section that is valid, but no WIT text has its packages: `b:b` uses a type of `a:a`, and `a:a`
/// one of `b:b`.
fn circular_world() -> Vec<u8> {
    let mut world = ComponentType::new();
    for (nth, name) in ["a:a/x", "b:b/y", "a:a/z"].into_iter().enumerate() {
        let instance = u32::try_from(nth).unwrap();
        // Types alternate: an interface, and its `t`.
        world.ty().instance(&interface((instance * 2).checked_sub(1)));
        world.import(name, ComponentTypeRef::Instance(instance * 2));
        world.alias(Alias::InstanceExport {
            instance,
            kind: ComponentExportKind::Type,
            name: "t",
        });
    }
    let mut package = ComponentType::new();
    package.ty().component(&world);
    package.export("evil:circle/w", ComponentTypeRef::Component(0));
    let mut section = ComponentBuilder::default();
    section.custom_section(&CustomSection {
        name: "wit-component-encoding".into(),
        data: [4, 0][..].into(),
    });
    let package = section.type_component(None, &package);
    section.export("w", ComponentExportKind::Type, package, None);
    section.finish()
}

/// The decoder of worlds orders packages by recursion, without end if they use each other. Nothing can catch a stack
/// that overflows, so commands make components in a process of its own.
#[test]
fn packages_of_a_world_that_use_each_other_do_not_end_the_command() {
    let scratch = tempfile::tempdir().unwrap();
    let module = with_section(module_without_world(), "component-type:circle", &circular_world());
    std::fs::write(scratch.path().join("circle.wasm"), module).unwrap();
    for command in [
        &["plugin", "inspect", "circle.wasm"][..],
        &["plugin", "pack", "bpm", "circle.wasm"],
        &["run-plugin", "circle.wasm", "--call", "describe"],
    ] {
        let ran = host(scratch.path(), command.iter().copied()).unwrap();
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        let error =
            "error[plugin-core-module]: no component can be made of the core module 'circle.wasm': it is nested";
        assert!(ran.stderr.contains(error), "{}", ran.stderr);
        assert!(!ran.stderr.contains("overflowed"), "{}", ran.stderr);
    }
}

fn module_without_world() -> Vec<u8> {
    wat::parse_str(format!("(module {COMMON})")).unwrap()
}
