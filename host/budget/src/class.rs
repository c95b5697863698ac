//! The kinds of shares, and their order.

/// What a share is for, in the order in which a conversion asks: never for an earlier class while it holds a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Documents that are being read, as bytes.
    Reading,
    /// Documents of a conversion, and data made from them.
    Documents,
    /// Releases of a conversion.
    Releases,
    /// Machine code of components, while they are loaded. Requests do not wait.
    Code,
    /// One call of a plugin; takes a place as well.
    Call,
    /// Compiling a component. It waits until there is room, and does not delay other requests.
    Compiling,
}
