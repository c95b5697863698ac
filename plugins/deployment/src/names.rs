//! Names of Kubernetes objects: sanitized, cut to their limits, never two inputs for one name.
