//! The pod contract, between an operator and the image that its pods run: the commands of `host util` with their
//! options and variables, and the documents that they read and write. Pods keep the image that they were created with,
//! so an operator meets images of other versions.
//!
//! A variable of the pod has the pod contract version that it was created for. An image that does not serve that
//! version reports an error and does nothing.

/// The newest version that `host util` serves. It changes with everything that an older image would not understand.
pub const POD_CONTRACT_VERSION: u32 = WITH_POD_DNS;
/// The version of pods with a DNS server of their own: an older image has no such server.
pub const WITH_POD_DNS: u32 = 6;
/// The version of pods of groups in several zones: an older image counts the instances of one zone after the other, so
/// that pods would render the files of other instances.
pub const WITH_SEVERAL_ZONES: u32 = 5;
/// The version of pods that resolve links, and store those that the deployment provides.
pub const WITH_LINKS: u32 = 4;
/// The version of pods that mount their job sources.
pub const WITH_JOB_SOURCES: u32 = 3;
/// The version of all other pods, which need nothing newer: so the upgrades that brought the others do not change them.
pub const COMMON_VERSION: u32 = 2;
/// The oldest version that `host util` still serves.
pub const OLDEST_VERSION: u32 = 1;
/// Variable of a container: the version that its pod was made for. A pod without it was made for version 1.
pub const VERSION_VARIABLE: &str = "BOSON_POD_CONTRACT";
/// Variable of the container that renders: the number of AZs. No image reads it, so a pod may keep an earlier number.
pub const AZ_COUNT_VARIABLE: &str = "BOSH_AZ_COUNT";
