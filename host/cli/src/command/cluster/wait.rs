//! `host wait`: waits for a condition of a deployment that is current, also for its ConfigMaps and Secrets.

use boson_api::ConditionStatus;
use boson_commands::duration::duration;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_controllers::waiting::{End, WaitError, Waiting};
use boson_look::access::{Access, PlaceArguments};
use clap::Args;
use std::str::FromStr;
use std::time::Duration;

const EXAMPLES: &str = "\
Unlike kubectl wait, it checks that the conditions describe the current content of the ConfigMaps and Secrets in spec.manifest, spec.ops, \
spec.cloudConfig, spec.runtimeConfigs and spec.vars. It does not compare documents at URLs, and Secrets of variables that the manifest uses but does not \
define.

Exit codes: 0 the condition is met, 1 the current deployment cannot be converted or applied (its message is shown) or the API server \
rejects the request, 2 wrong usage, 124 the timeout has expired.

Examples:
  kubectl apply -f ops.yaml && host wait nats
  host wait nats -n messaging --for=condition=Applied --timeout=10m";

/// Wait until a condition of a deployment is met for the current content of its documents
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct WaitArguments {
    /// BOSHDeployment: NAME or boshdeployment/NAME
    #[arg(value_parser = name)]
    deployment: String,
    /// Wait for this condition: condition=TYPE or condition=TYPE=STATUS
    #[arg(long = "for", value_name = "CONDITION", default_value = "condition=Ready")]
    wanted: Wanted,
    /// Maximum time to wait, such as 90s, 5m or 1h; 0 checks once
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    place: PlaceArguments,
}

/// A condition, as kubectl wait takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    condition: String,
    status: ConditionStatus,
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text
            .strip_prefix("condition=")
            .ok_or("expected condition=TYPE, such as condition=Ready")?;
        let (condition, status) = rest.split_once('=').unwrap_or((rest, "True"));
        let status = match status.to_lowercase().as_str() {
            "true" => ConditionStatus::True,
            "false" => ConditionStatus::False,
            "unknown" => ConditionStatus::Unknown,
            _ => return Err("expected True, False or Unknown".into()),
        };
        if condition.is_empty() {
            return Err("expected condition=TYPE, such as condition=Ready".into());
        }
        Ok(Self {
            condition: condition.into(),
            status,
        })
    }
}

/// The name, also in kubectl's form.
fn name(text: &str) -> Result<String, String> {
    let name = match text.split_once('/') {
        None => text,
        Some(("boshdeployment" | "boshdeployments" | "bdpl" | "boshdeployment.quarks.cloudfoundry.org", name)) => name,
        Some((kind, _)) => return Err(format!("'{kind}' is not a BOSHDeployment")),
    };
    if name.is_empty() {
        Err("the name is empty".into())
    } else {
        Ok(name.into())
    }
}

pub fn run(arguments: &WaitArguments) -> Result<(), ExitError> {
    arguments.place.run(async |access| wait(&access, arguments).await)
}

async fn wait(access: &Access, arguments: &WaitArguments) -> anyhow::Result<()> {
    let waiting = Waiting {
        namespace: access.namespace.clone(),
        deployment: arguments.deployment.clone(),
        condition: arguments.wanted.condition.clone(),
        status: arguments.wanted.status,
        timeout: arguments.timeout,
    };
    let mut progress = |what: &str| output::eprint(&format!("{what}\n"));
    let end = waiting.run(&access.cluster, &mut progress).await;
    let title = format!("boshdeployment.quarks.cloudfoundry.org/{}", arguments.deployment);
    let end = end.map_err(|error| match error {
        WaitError::Api(error) => access.explain(error),
        error => error.into(),
    })?;
    match end {
        End::Met => Ok(output::print(&format!("{title} condition met\n"))?),
        End::Failed(why) => {
            output::eprint(&format!("error: {title} has failed: {why}\n"));
            Err(ExitError::Input.into())
        }
        End::TimedOut(what) => {
            output::eprint(&format!(
                "error: timed out waiting for the condition on {title}: {what}\n"
            ));
            Err(ExitError::TimedOut.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_and_names_are_written_as_for_kubectl() {
        let wanted = |text: &str| text.parse::<Wanted>().map(|wanted| (wanted.condition, wanted.status));
        assert_eq!(wanted("condition=Ready"), Ok(("Ready".into(), ConditionStatus::True)));
        assert_eq!(
            wanted("condition=Applied=false"),
            Ok(("Applied".into(), ConditionStatus::False))
        );
        for bad in ["Ready", "condition=", "condition=Ready=maybe", "delete"] {
            assert!(wanted(bad).is_err(), "{bad}");
        }
        assert_eq!(name("bdpl/nats"), Ok("nats".into()));
        assert!(name("pod/nats").is_err() && name("").is_err());
    }
}
