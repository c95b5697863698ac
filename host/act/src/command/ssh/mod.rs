//! `host ssh`: a shell in a container of an instance, or a command on several.

mod terminal;

use crate::containers;
use crate::lines::Lines;
use crate::remote::{self, MAX_CONCURRENT_PROGRAMS, Stream};
use crate::selection::{Selection, one_each};
use anyhow::{Context, bail};
use boson_cluster::client::{Ended, ErrorKind, Input};
use boson_commands::exit::ExitError;
use boson_commands::output::{self, Color};
use boson_look::access::{Access, DeploymentArguments};
use boson_look::instances::Instance;
use boson_look::table::{Cell, Table, TableArguments};
use clap::Args;
use futures::{StreamExt, TryStreamExt};
use std::io::IsTerminal;

const EXAMPLES: &str = "\
The shell runs in the container of the instance's first process, or in that of --container (see `host instances --ps`), as the user of the container. \
It is bash if the image has it, otherwise sh. With --command, the output of each instance is printed as it is written, each line after \
`GROUP/INDEX: stdout | ` or `stderr | `, and the exit code is 1 if the command fails on an instance. The command needs the permissions to get the \
BOSHDeployment, to list QuarksStatefulSets and pods, and get and create for pods/exec.

Examples:
  host ssh -d nats broker/0
  host ssh -d nats broker/0 --container nats-nats
  host ssh -d nats broker -c 'df -h /var/vcap/store'
  host ssh -d nats -c 'cat /proc/loadavg' -r --column instance --column stdout";
const HEADER: [&str; 5] = ["Instance", "Stdout", "Stderr", "Exit Code", "Error"];
/// What is shown of each stream of an instance in the table.
const MAX_RESULT_BYTES: usize = 1 << 20;
/// Becomes bash or sh. `$0` and `$@` are what follows.
const SHELL_SCRIPT: &str = "if command -v bash >/dev/null 2>&1; then exec bash \"$@\"; else exec sh \"$@\"; fi";

/// Options of `host ssh`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct SshArguments {
    /// Instances [default: all]
    #[arg(value_name = "GROUP[/INDEX]")]
    selection: Option<Selection>,
    /// Run this command on all selected instances
    #[arg(short, long, value_name = "COMMAND")]
    command: Vec<String>,
    /// Print a table when the command has ended on all instances
    #[arg(short, long, requires = "command")]
    results: bool,
    /// Container [default: that of the first process]
    #[arg(long, value_name = "JOB-PROCESS")]
    container: Option<String>,
    #[command(flatten)]
    deployment: DeploymentArguments,
    #[command(flatten)]
    table: TableArguments,
}

/// What a command did on an instance.
#[derive(Debug)]
struct Outcome {
    instance: String,
    output: Vec<u8>,
    errors: Vec<u8>,
    ended: Ended,
}

// === impl Outcome ===

impl Outcome {
    fn row(&self) -> Vec<Cell> {
        let text = |bytes: &[u8]| Cell::from(String::from_utf8_lossy(bytes).trim_end().to_string());
        let (code, error) = match &self.ended {
            Ended::WithCode(code) => (code.to_string(), String::new()),
            Ended::Failed(why) => (String::new(), why.clone()),
        };
        vec![
            self.instance.as_str().into(),
            text(&self.output),
            text(&self.errors),
            code.into(),
            error.into(),
        ]
    }
}

/// The error for the user; nothing if the command succeeded on all instances.
fn failure_text(outcomes: &[Outcome]) -> Option<String> {
    let failed: Vec<String> = outcomes
        .iter()
        .filter_map(|one| match &one.ended {
            Ended::WithCode(0) => None,
            Ended::WithCode(code) => Some(format!("{} (exit code {code})", one.instance)),
            Ended::Failed(why) => Some(format!("{} ({why})", one.instance)),
        })
        .collect();
    let (count, all) = (failed.len(), outcomes.len());
    (count > 0).then(|| {
        format!(
            "the command failed on {count} of {all} instances: {}",
            failed.join(", ")
        )
    })
}

fn command(arguments: &[&str]) -> Vec<String> {
    let words = ["sh", "-c", SHELL_SCRIPT, "sh"].iter().chain(arguments);
    words.map(ToString::to_string).collect()
}

pub fn run(arguments: &SshArguments, color: Color) -> Result<(), ExitError> {
    let selection = arguments.selection.clone().unwrap_or_default();
    arguments.deployment.run(async |access, found| {
        let instances = one_each(selection.of(Instance::all(&access, &found).await?)?);
        if arguments.command.is_empty() {
            return run_shell(&access, &instances, arguments).await;
        }
        let outcomes = run_on_all(&access, &instances, arguments).await?;
        if arguments.results {
            let rows = outcomes.iter().map(Outcome::row).collect();
            arguments
                .table
                .print(vec![Table::new("results", &HEADER, rows)], color)?;
        }
        match failure_text(&outcomes) {
            Some(why) => bail!(why),
            None => Ok(()),
        }
    })
}

async fn run_shell(access: &Access, instances: &[Instance], arguments: &SshArguments) -> anyhow::Result<()> {
    let [instance] = instances else {
        let names: Vec<String> = instances.iter().map(ToString::to_string).collect();
        bail!(
            "a shell needs one instance, or --command a command for all of them; instances: {}",
            names.join(", ")
        );
    };
    let chosen = containers::of(access, instance, arguments.container.as_deref());
    let container = chosen.with_context(|| instance.to_string())?;
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let input = if is_terminal { Input::Terminal } else { Input::Stream };
    let process = remote::start(access, container, &command(&[]), input).await?;
    match terminal::attach(process, is_terminal).await? {
        Ended::WithCode(0) => Ok(()),
        Ended::WithCode(code) => bail!("the shell ended with exit code {code}"),
        Ended::Failed(why) => bail!(why),
    }
}

/// In the order of the instances.
async fn run_on_all(access: &Access, instances: &[Instance], arguments: &SshArguments) -> anyhow::Result<Vec<Outcome>> {
    let text = arguments.command.join(" ");
    let command = command(&["-c", &text]);
    let each = instances
        .iter()
        .map(|instance| run_on_one(access, instance, arguments, &command));
    let outcomes = futures::stream::iter(each).buffered(MAX_CONCURRENT_PROGRAMS);
    outcomes.try_collect().await
}

/// An error here is one of our own output; those of the instance are part of the outcome.
async fn run_on_one(
    access: &Access,
    instance: &Instance,
    arguments: &SshArguments,
    command: &[String],
) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome {
        instance: instance.to_string(),
        output: Vec::new(),
        errors: Vec::new(),
        ended: Ended::WithCode(0),
    };
    let container = match containers::of(access, instance, arguments.container.as_deref()) {
        Ok(container) => container,
        Err(error) => {
            outcome.ended = Ended::Failed(error.to_string());
            return Ok(outcome);
        }
    };
    let process = match access.cluster.exec(container, command, Input::Nothing).await {
        Ok(process) => process,
        // The same for all instances.
        Err(error) if error.kind == ErrorKind::Forbidden => return Err(access.explain(error)),
        Err(error) => {
            outcome.ended = Ended::Failed(error.kind.to_string());
            return Ok(outcome);
        }
    };
    let mut lines = [Lines::default(), Lines::default()];
    let show = |stream: Stream, line: &str| {
        let word = if stream == Stream::Output { "stdout" } else { "stderr" };
        output::print(&format!("{instance}: {word} | {line}\n"))
    };
    let no_input = async { Ok(()) };
    outcome.ended = remote::read_output(process, no_input, |stream, part| {
        let (all, lines) = match stream {
            Stream::Output => (&mut outcome.output, &mut lines[0]),
            Stream::Error => (&mut outcome.errors, &mut lines[1]),
        };
        if arguments.results {
            let kept = part.len().min(MAX_RESULT_BYTES - all.len());
            all.extend_from_slice(&part[..kept]);
            return Ok(());
        }
        lines.push(part).iter().try_for_each(|line| show(stream, line))?;
        Ok(())
    })
    .await?;
    for (stream, lines) in [Stream::Output, Stream::Error].into_iter().zip(&mut lines) {
        lines.end().iter().try_for_each(|line| show(stream, line))?;
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(instance: &str, ended: Ended) -> Outcome {
        Outcome {
            instance: instance.into(),
            output: b"a\nb\n".to_vec(),
            errors: Vec::new(),
            ended,
        }
    }

    #[test]
    fn a_failure_names_the_instances() {
        let all = [
            outcome("web/0", Ended::WithCode(0)),
            outcome("web/1", Ended::WithCode(3)),
            outcome("web/2", Ended::Failed("it has no pod".into())),
        ];
        assert_eq!(failure_text(&all[..1]), None);
        assert_eq!(
            failure_text(&all).unwrap(),
            "the command failed on 2 of 3 instances: web/1 (exit code 3), web/2 (it has no pod)"
        );
    }

    #[test]
    fn a_row_has_output_and_exit_code_or_error() {
        let row = |ended: Ended| outcome("web/0", ended).row();
        let cells = |texts: [&str; 5]| texts.map(Cell::from).to_vec();
        assert_eq!(row(Ended::WithCode(3)), cells(["web/0", "a\nb", "", "3", ""]));
        assert_eq!(
            row(Ended::Failed("gone".into())),
            cells(["web/0", "a\nb", "", "", "gone"])
        );
    }
}
