//! The macro that makes a component of a plugin.

/// Exports a plugin: its stage, and its type. `boson_plugin::export!(resources: MyLabels);`
#[macro_export]
macro_rules! export {
    (ops: $plugin:ty) => {
        $crate::component!($plugin, ops, {
            impl $crate::ops::bindings::exports::boson::ops::operations::Guest: $crate::ops::Ops {
                apply(request: $crate::ops::ApplyRequest) -> Result<$crate::ops::Applied, Vec<$crate::types::Diagnostic>>;
                find(request: $crate::ops::FindRequest) -> Result<$crate::ops::Found, Vec<$crate::types::Diagnostic>>;
            }
        });
    };
    (variables: $plugin:ty) => {
        $crate::component!($plugin, variables, {
            impl $crate::variables::bindings::exports::boson::variables::interpolation::Guest: $crate::variables::Variables {
                plan(request: $crate::variables::PlanRequest) -> Result<$crate::variables::VariablesPlan, Vec<$crate::types::Diagnostic>>;
                interpolate(request: $crate::variables::InterpolateRequest) -> Result<$crate::variables::Interpolated, Vec<$crate::types::Diagnostic>>;
            }
        });
    };
    (links: $plugin:ty) => {
        $crate::component!($plugin, links, {
            impl $crate::links::bindings::exports::boson::links::resolution::Guest: $crate::links::Links {
                resolve(request: $crate::links::LinksRequest) -> Result<$crate::links::Resolved, Vec<$crate::types::Diagnostic>>;
                addresses(request: $crate::links::LinksRequest) -> Result<$crate::links::ResolvedAddresses, Vec<$crate::types::Diagnostic>>;
            }
        });
    };
    (render: $plugin:ty) => {
        $crate::component!($plugin, render, {
            impl $crate::render::bindings::exports::boson::render::templates::Guest: $crate::render::Render {
                render(request: $crate::render::RenderRequest) -> Result<$crate::render::Files, Vec<$crate::types::Diagnostic>>;
            }
        });
    };
    (bpm: $plugin:ty) => {
        $crate::component!($plugin, bpm, {
            impl $crate::bpm::bindings::exports::boson::bpm::conversion::Guest: $crate::bpm::Bpm {
                convert_deployment(request: $crate::bpm::DeploymentRequest) -> Result<$crate::bpm::Converted, Vec<$crate::types::Diagnostic>>;
                convert_group(request: $crate::bpm::GroupRequest) -> Result<$crate::bpm::Converted, Vec<$crate::types::Diagnostic>>;
            }
        });
    };
    (resources: $plugin:ty) => {
        $crate::component!($plugin, resources, {
            impl $crate::resources::bindings::exports::boson::resources::transformation::Guest: $crate::resources::Resources {
                transform(view: $crate::resources::View) -> Result<$crate::resources::Edits, Vec<$crate::types::Diagnostic>>;
            }
        });
    };
    (checks: $plugin:ty) => {
        const _: () = {
            struct Component;
            $crate::describe!(Component, $plugin, $crate::checks::bindings::exports::boson::types::about);
            impl $crate::checks::bindings::exports::boson::checks::policy::Guest for Component {
                fn check(view: $crate::checks::View, context: $crate::types::Context) -> Vec<$crate::types::Diagnostic> {
                    $crate::console::show_panics();
                    match $crate::private::settings::<$plugin>(&context) {
                        Ok(settings) => <$plugin as $crate::checks::Checks>::check(view, settings, context),
                        Err(errors) => errors,
                    }
                }
            }
            $crate::checks::bindings::export!(Component with_types_in $crate::checks::bindings);
        };
    };
}

/// A component whose functions may fail.
#[doc(hidden)]
#[macro_export]
macro_rules! component {
    ($plugin:ty, $stage:ident, {
        impl $guest:path: $trait:path { $($function:ident($request:ident: $kind:ty) -> $reply:ty;)* }
    }) => {
        const _: () = {
            struct Component;
            $crate::describe!(Component, $plugin, $crate::$stage::bindings::exports::boson::types::about);
            impl $guest for Component {
                $(
                    fn $function($request: $kind, context: $crate::types::Context) -> $reply {
                        $crate::console::show_panics();
                        let settings = $crate::private::settings::<$plugin>(&context)?;
                        <$plugin as $trait>::$function($request, settings, context)
                    }
                )*
            }
            $crate::$stage::bindings::export!(Component with_types_in $crate::$stage::bindings);
        };
    };
}

/// The description of a component.
#[doc(hidden)]
#[macro_export]
macro_rules! describe {
    ($component:ty, $plugin:ty, $about:path) => {
        const _: () = {
            use $about as about;
            impl about::Guest for $component {
                fn describe() -> about::Description {
                    let code = |code: &$crate::Code| about::Code {
                        name: code.name.into(),
                        title: code.title.into(),
                        explanation: code.explanation.into(),
                    };
                    about::Description {
                        name: <$plugin as $crate::Plugin>::NAME.into(),
                        version: <$plugin as $crate::Plugin>::VERSION.into(),
                        settings_schema: $crate::private::schema::<$plugin>(),
                        codes: <$plugin as $crate::Plugin>::CODES.iter().map(code).collect(),
                        more: Vec::new(),
                    }
                }
            }
        };
    };
}
