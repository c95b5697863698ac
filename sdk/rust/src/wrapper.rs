//! The trait of a stage with a rule.

/// Defines the trait. Its methods call the functions of the rule, in the module `rule`.
#[allow(unused_macros, reason = "without the features of stages with rules")]
macro_rules! wrapper {
    ($trait:ident { $($function:ident($request:ident) -> $reply:ident;)* }) => {
        /// A wrapper of this stage. Each method returns the reply of the rule, unless the plugin overrides it.
        pub trait $trait: $crate::Plugin {
            $(
                /// The function of the contract with this name.
                ///
                /// # Errors
                /// What is wrong with the input.
                fn $function(
                    request: $request,
                    settings: Self::Settings,
                    context: $crate::types::Context,
                ) -> Result<$reply, Vec<$crate::types::Diagnostic>> {
                    let _ = settings;
                    rule::$function(&request, &context)
                }
            )*
        }
    };
}
