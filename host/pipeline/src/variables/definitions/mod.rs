//! What the definitions of variables ask for: how values are generated, in which order, and when again.

pub(super) mod amend;
pub(super) mod circle;
pub(super) mod generate;
pub(super) mod update;
