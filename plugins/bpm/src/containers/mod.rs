//! The containers and init containers of a group's pods.

pub mod active_passive;
pub mod container;
pub mod container_probe;
pub mod environment;
pub mod init;
pub mod lifecycle_scripts;
pub mod logs;
pub mod monit_http;
pub mod packages;
pub mod pod_dns;
pub mod pre_render;
pub mod pre_start;
pub mod resources;
pub mod security;
pub mod wait_containers;
pub mod writable_packages;
