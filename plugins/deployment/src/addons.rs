//! Which addons go where, by BOSH's placement rules.
