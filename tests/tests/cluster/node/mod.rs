//! Tests whose pods run on a node. They need root; without it they are skipped, except in continuous integration. `make
//! node` runs them alone.

mod carried;
mod conversion;
mod faults;
mod lifecycle;
mod messaging;
mod names;
mod outputs;
mod page;
mod pods;
mod running;
mod survives;
mod unready;
mod walk;
