//! Instances of a group over AZs and replicas: index, id, address.
