//! `host cloud-check`: finds what is wrong with a deployment, and resolves it as the user chooses.

mod foreign;
mod problem;
mod read;
mod resolve;
mod scan;

use anyhow::bail;
use boson_commands::confirm::Confirmation;
use boson_commands::exit::ExitError;
use boson_commands::output::{self, Color};
use boson_look::access::{Access, DeploymentArguments, Found};
use boson_look::table::TableArguments;
use clap::Args;
use k8s_openapi::jiff::Timestamp;
use problem::{Problem, Resolution, table};
use std::io::{BufRead, IsTerminal};

const EXAMPLES: &str = "\
Problems are pods of nodes that do not exist (missing_vm) or are not ready (unresponsive_agent), pods that should have been deleted (stuck_vm), claims \
that are missing or have lost their PersistentVolume (missing_disk), missing Secrets and ConfigMaps (missing_secret), and fields that others have set in \
objects of the operator (changed_object). Kubernetes and the operator resolve most of them without help: a pod is created again, a deleted object is \
written again, and a changed field has its value again, unless only others have set it.

--auto recreates pods whose node does not exist, and skips all other problems. --resolution applies to the problems that have it. Pods are deleted \
without an answer of their node, so make sure first that a node that is not ready is off. What has changed since it was checked is left alone.

The command needs the permissions to get the BOSHDeployment, and to list QuarksStatefulSets, pods and PersistentVolumeClaims. With those to get nodes, and \
to list StatefulSets, Services, Secrets and ConfigMaps, it checks these, too; it reads no content of Secrets. Resolutions need delete for pods and \
PersistentVolumeClaims, and patch for StatefulSets, Services and QuarksStatefulSets.

Examples:
  host cloud-check -d nats --report
  host cck -d nats --resolution recreate_vm --yes";

/// Options of `host cloud-check`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CloudCheckArguments {
    /// Resolve problems automatically
    #[arg(short, long, conflicts_with_all = ["report", "resolution"])]
    auto: bool,
    /// Apply this resolution to all problems that have it; repeat it for several
    #[arg(long, value_enum, value_name = "RESOLUTION", conflicts_with = "report")]
    resolution: Vec<Resolution>,
    /// Only report problems: exit code 1 if there are some
    #[arg(short, long)]
    report: bool,
    #[command(flatten)]
    deployment: DeploymentArguments,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    table: TableArguments,
}

/// # Errors
/// See [`ExitError`].
pub fn run(arguments: &CloudCheckArguments, color: Color) -> Result<(), ExitError> {
    arguments
        .deployment
        .run(async |access, found| check(&access, &found, arguments, color).await)
}

async fn check(access: &Access, found: &Found, arguments: &CloudCheckArguments, color: Color) -> anyhow::Result<()> {
    let seen = read::read(access, found).await?;
    let problems = scan::problems(&found.deployment, &seen, Timestamp::now());
    let mut shown = table(&problems);
    shown.notes = seen.notes;
    arguments.table.print(vec![shown], color)?;
    if problems.is_empty() {
        return Ok(());
    }
    if arguments.report {
        bail!("{} problem(s) found", problems.len());
    }
    let mut answers: Vec<(&Problem, Resolution)> = Vec::new();
    for problem in &problems {
        let resolution = if arguments.auto {
            problem.default_resolution()
        } else if arguments.resolution.is_empty() {
            ask(problem)?
        } else {
            problem.resolution_of(&arguments.resolution)
        };
        answers.push((problem, resolution));
    }
    arguments.confirmation.ask("")?;
    for (problem, resolution) in answers {
        resolve::resolve(access, found, problem, resolution).await?;
    }
    Ok(())
}

/// Asks what to do about a problem.
fn ask(problem: &Problem) -> anyhow::Result<Resolution> {
    let all = problem.resolutions();
    if !std::io::stdin().is_terminal() {
        bail!("standard input is not a terminal: use --auto, --resolution or --report");
    }
    let options = (1..)
        .zip(all)
        .map(|(number, one)| format!("{number}: {}\n", one.plan()));
    let text = format!("\n{}{} (1): ", options.collect::<String>(), problem.description);
    loop {
        output::eprint(&text);
        let mut answer = String::new();
        let bytes = std::io::stdin().lock().read_line(&mut answer)?;
        if bytes == 0 {
            bail!("no answer");
        }
        if let Some(chosen) = parse_answer(all, &answer) {
            return Ok(chosen);
        }
    }
}

/// None: the answer is not the number of a resolution. Without an answer, the problem is skipped.
fn parse_answer(all: &[Resolution], answer: &str) -> Option<Resolution> {
    let number: usize = match answer.trim() {
        "" => 1,
        text => text.parse().ok()?,
    };
    all.get(number.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_the_number_of_a_resolution() {
        let all = [Resolution::Ignore, Resolution::DeleteVmReference];
        for (answer, wanted) in [
            ("\n", Some(Resolution::Ignore)),
            ("2\n", Some(Resolution::DeleteVmReference)),
            ("0\n", None),
            ("3\n", None),
            ("y\n", None),
        ] {
            assert_eq!(parse_answer(&all, answer), wanted, "{answer:?}");
        }
    }
}
