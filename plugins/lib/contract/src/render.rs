//! `wit/render`.

use std::borrow::Cow;

/// A template to render.
#[derive(Clone, Debug)]
pub struct Template<'a> {
    /// `<job>/<source>`.
    pub name: Cow<'a, str>,
    /// Its ERB source.
    pub text: Cow<'a, str>,
}

/// A rendered file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// Name of the template.
    pub name: String,
    /// The text that the template gives.
    pub content: String,
}

/// [Converts](crate::bindings) the records of this module to those of generated bindings, and back.
#[macro_export]
macro_rules! render_records {
    ($wit:ident) => {
        $crate::record!($crate::render::Template<'_>, $wit::Template { name, text });
        $crate::record!($crate::render::Rendered, $wit::Rendered { name, content });
    };
}
