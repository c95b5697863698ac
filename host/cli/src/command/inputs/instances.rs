//! The option `--instances`, which several commands have.

use boson_manifest::instances::Spread;
use clap::ValueEnum;

/// Meaning of `instances` of an instance group.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum InstancesArgument {
    /// All instances of the group, spread over its availability zones as BOSH does
    #[default]
    Total,
    /// The instances in each availability zone
    PerZone,
}

impl From<InstancesArgument> for Spread {
    fn from(argument: InstancesArgument) -> Self {
        match argument {
            InstancesArgument::Total => Self::Total,
            InstancesArgument::PerZone => Self::PerZone,
        }
    }
}
