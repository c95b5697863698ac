//! `host logs`: the logs of instances, as an archive or as lines.

mod download;
mod filter;
mod lines;

use crate::interrupt::unless_interrupted;
use crate::selection::Selection;
use boson_commands::exit::ExitError;
use boson_look::access::DeploymentArguments;
use boson_look::instances::Instance;
use boson_pipeline::glob::Pattern;
use clap::Args;
use filter::Filter;
use kube::ResourceExt;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Without --follow and --num, writes an archive DEPLOYMENT[.GROUP[.INDEX]]-TIME.tgz with the files below /var/vcap/sys/log of each instance, and with \
the logs of its containers, in the folder `containers`. For several instances, the archive has a folder GROUP.INDEX for each. Its path is printed.

With --follow or --num, prints the logs of the processes and the lines of other log files, each line after `GROUP/INDEX JOB-PROCESS | ` or \
`GROUP/INDEX JOB/FILE | `. --follow also shows new pods and restarted containers, until it is interrupted.

A filter is a pattern for paths below /var/vcap/sys/log, such as `nats/*.log` or `**/*.stderr.log`; an archive has no logs of containers then. The \
command needs the permissions to get the BOSHDeployment, to list QuarksStatefulSets and pods, and get for pods/log; for an archive, also get and \
create for pods/exec.

Examples:
  host logs -d nats
  host logs -d nats broker/0 --only 'nats/*.log' --dir /tmp
  host logs -d nats broker -f --job nats
  host logs -d nats --num 100 -q";

/// Options of `host logs`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct LogsArguments {
    /// Instances [default: all]
    #[arg(value_name = "GROUP[/INDEX]")]
    selection: Option<Selection>,
    /// Print lines as they are written
    #[arg(short, long)]
    follow: bool,
    /// Print this many last lines of each log [default with --follow: 10]
    #[arg(long, value_name = "NUMBER")]
    num: Option<u32>,
    /// Print lines without what is before them
    #[arg(short, long)]
    quiet: bool,
    /// Only logs of this job; repeat it for several
    #[arg(long = "job", value_name = "JOB")]
    jobs: Vec<String>,
    /// Only log files that match
    #[arg(long, value_name = "FILTER", value_delimiter = ',', value_parser = pattern)]
    only: Vec<Pattern>,
    /// Folder of the archive
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
    #[command(flatten)]
    deployment: DeploymentArguments,
}

fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::read(text).ok_or_else(|| "expected a pattern of paths, such as nats/*.log".into())
}

pub fn run(arguments: &LogsArguments) -> Result<(), ExitError> {
    let selection = arguments.selection.clone().unwrap_or_default();
    let filter = Filter {
        jobs: arguments.jobs.clone(),
        only: arguments.only.clone(),
    };
    arguments.deployment.run(async |access, found| {
        let instances = selection.of(Instance::all(&access, &found).await?)?;
        if arguments.follow || arguments.num.is_some() {
            let shown = lines::Shown {
                filter,
                quiet: arguments.quiet,
                num: arguments.num,
            };
            return if arguments.follow {
                lines::follow(&access, &found, &selection, &shown).await
            } else {
                lines::print_last(&access, &instances, &shown).await
            };
        }
        let name = download::name(&found.deployment.name_any(), &selection);
        let written = download::write(&access, &instances, &filter, &arguments.dir, &name);
        // So that no temporary file stays.
        unless_interrupted(written, "no archive was written").await
    })
}
