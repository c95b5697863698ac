//! The plain target: objects of the operator become objects that any cluster accepts.
