//! Tests whose pods run on a node. They need root; without it they are skipped, except in continuous integration. `make
//! node` runs them alone.

mod active;
mod conversion;
mod disks;
mod faults;
mod install_page;
mod lifecycle;
mod links;
mod messaging;
mod names;
mod native_links;
mod outputs;
mod packages;
mod page;
mod plugins_in_pods;
mod pod_dns;
mod pods;
mod pre_start;
mod requests;
mod restarts;
mod rotation;
mod run_errand;
mod running;
mod unready;
mod up;
mod work;
