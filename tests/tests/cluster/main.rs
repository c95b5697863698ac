//! Tests against a real Kubernetes control plane (see `boson_tests::cluster`). Its programs come from
//! `$KUBEBUILDER_ASSETS` or `.ci/kubernetes`; if they are missing these tests fail, they are never skipped.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod additional_kinds;
mod admission;
mod all_features;
mod bad_input;
mod cf_deployment;
mod chart;
mod claims;
mod cloud_config;
mod commands;
mod connection;
mod crashes;
mod day2;
mod definitions;
mod deploy;
mod diff;
mod documented;
mod drift;
mod drivers;
mod events;
mod example;
mod faults;
mod fields;
mod guests;
mod headless;
mod held_back;
mod host_deploy;
mod idle;
mod import;
mod installed;
mod instance_states;
mod invalid_additions;
mod job_sources;
mod jobs;
mod kubectl_plugin;
mod kubelet;
mod leader_election;
mod link_certificates;
mod link_deaths;
mod link_deletions;
mod link_mistakes;
mod link_pods;
mod link_races;
mod link_requests;
mod links;
mod look;
mod memory;
mod missing_setup;
mod modes;
mod mutated_manifests;
mod mutating;
mod native_link_input;
mod native_links;
mod neighbors;
mod node;
mod objects;
mod operator;
mod operator_process;
mod operator_tasks;
mod plugin_images;
mod plugin_objects;
mod plugins;
mod pod_labels;
mod rbac;
mod reader;
mod restarts;
mod retained;
mod rollout;
mod rollout_deaths;
mod rotate;
mod run_errand;
mod runtime_config;
mod secrets;
mod shared_cluster;
mod signing;
mod small_deployment;
mod stored_values;
mod uninstall;
mod unready;
mod upgrades;
mod valid_objects;
mod web;
mod work;
mod world;
