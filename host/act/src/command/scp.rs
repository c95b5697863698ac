//! `host scp`: copies files between this machine and containers of instances.

use crate::containers;
use crate::remote::{self, MAX_CONCURRENT_PROGRAMS};
use crate::selection::{Selection, one_each};
use crate::unpack::{pack, rewind, unpack};
use anyhow::{Context, bail, ensure};
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_look::access::{Access, DeploymentArguments};
use boson_look::instances::Instance;
use clap::Args;
use futures::StreamExt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
One of the two paths is GROUP[/INDEX]:PATH, or :PATH for all instances. An upload goes to all selected instances. For a download from several, the \
local path must contain ((instance_id)), which is replaced by GROUP-INDEX. A local path with a colon needs `./` before it.

Files are read and written in the container of the instance's first process, or in that of --container, as the user of the container, by the process \
wrapper: the image needs no `tar`. Containers of a pod share /var/vcap/data, store, sys and jobs. Symbolic links in a folder are left out of a \
download, and followed in an upload. The command needs the permissions to get the BOSHDeployment, to list QuarksStatefulSets and pods, and get and \
create for pods/exec.

Examples:
  host scp -d nats ./debug.conf broker:/var/vcap/data/nats/debug.conf
  host scp -d nats -r broker/0:/var/vcap/jobs/nats/config .
  host scp -d nats broker:/var/vcap/data/nats/dump '/tmp/((instance_id)).dump'";
/// Replaced in local paths, as in BOSH.
const INSTANCE_ID: &str = "((instance_id))";

/// Options of `host scp`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ScpArguments {
    /// File or folder to copy
    #[arg(value_name = "SOURCE")]
    source: Place,
    /// Where to copy it: a folder, or the new name
    #[arg(value_name = "TARGET")]
    target: Place,
    /// Copy folders
    #[arg(short, long)]
    recursive: bool,
    /// Container [default: that of the first process]
    #[arg(long, value_name = "JOB-PROCESS")]
    container: Option<String>,
    #[command(flatten)]
    deployment: DeploymentArguments,
}

/// A path on this machine or in instances.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Local(String),
    Remote { selection: Selection, path: String },
}

enum Direction<'a> {
    Up { from: &'a str, to: &'a str },
    Down { from: &'a str, to: &'a str },
}

// === impl Place ===

impl std::str::FromStr for Place {
    type Err = crate::selection::SelectionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_local = ["/", "./", "../", "~"].iter().any(|begin| text.starts_with(begin));
        let Some((selection, path)) = text.split_once(':').filter(|_| !is_local) else {
            return Ok(Self::Local(text.to_string()));
        };
        let selection = if selection.is_empty() {
            Selection::All
        } else {
            selection.parse()?
        };
        // As scp, which begins in a directory of the user.
        let path = if path.is_empty() { "." } else { path };
        Ok(Self::Remote {
            selection,
            path: path.to_string(),
        })
    }
}

fn local_path(path: &str, instance: &Instance) -> PathBuf {
    let id = instance.to_string().replace('/', "-");
    path.replace(INSTANCE_ID, &id).into()
}

pub fn run(arguments: &ScpArguments) -> Result<(), ExitError> {
    let (selection, direction) = match (&arguments.source, &arguments.target) {
        (Place::Local(from), Place::Remote { selection, path }) => (selection, Direction::Up { from, to: path }),
        (Place::Remote { selection, path }, Place::Local(to)) => (selection, Direction::Down { from: path, to }),
        _ => {
            let why = "one of source and target must be GROUP[/INDEX]:PATH or :PATH, and the other a local path";
            return Err(anyhow::Error::msg(why).into());
        }
    };
    arguments.deployment.run(async |access, found| {
        let instances = one_each(selection.of(Instance::all(&access, &found).await?)?);
        if let Direction::Down { to, .. } = direction {
            ensure!(
                instances.len() == 1 || to.contains(INSTANCE_ID),
                "{} instances are selected, whose files would replace each other: use {INSTANCE_ID} in the local path",
                instances.len()
            );
        }
        copy_all(&access, &instances, &direction, arguments).await
    })
}

async fn copy_all(
    access: &Access,
    instances: &[Instance],
    direction: &Direction<'_>,
    arguments: &ScpArguments,
) -> anyhow::Result<()> {
    let each = instances
        .iter()
        .map(async |instance| (instance, copy(access, instance, direction, arguments).await));
    let mut all = futures::stream::iter(each).buffered(MAX_CONCURRENT_PROGRAMS);
    let mut failed = 0;
    while let Some((instance, copied)) = all.next().await {
        match copied {
            Ok(messages) => {
                for message in messages {
                    output::eprint(&format!("{instance}: {message}\n"));
                }
            }
            Err(error) if instances.len() == 1 => return Err(error.context(instance.to_string())),
            Err(error) => {
                failed += 1;
                output::eprint(&format!("{instance}: {error:#}\n"));
            }
        }
    }
    if failed > 0 {
        bail!("nothing was copied for {failed} of {} instances", instances.len());
    }
    Ok(())
}

async fn copy(
    access: &Access,
    instance: &Instance,
    direction: &Direction<'_>,
    arguments: &ScpArguments,
) -> anyhow::Result<Vec<String>> {
    let container = containers::of(access, instance, arguments.container.as_deref())?;
    match direction {
        Direction::Up { from, to } => {
            let archive = pack(&local_path(from, instance), arguments.recursive)?;
            remote::container_run(access, container, &["extract", to], Some(archive), |_| Ok(())).await
        }
        Direction::Down { from, to } => {
            let target = local_path(to, instance);
            let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
            if let Some(parent) = parent {
                let failed = || format!("cannot create the folder '{}'", parent.display());
                fs::create_dir_all(parent).with_context(failed)?;
            }
            let mut file = tempfile::tempfile_in(parent.unwrap_or(Path::new(".")))?;
            let recursive = arguments.recursive.then_some("--recursive");
            let words: Vec<&str> = ["archive"].into_iter().chain(recursive).chain([*from]).collect();
            let messages = remote::container_run(access, container, &words, None, |part| Ok(file.write_all(part)?));
            let messages = messages.await?;
            unpack(rewind(file)?, &target)?;
            Ok(messages)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_a_colon_are_in_instances() {
        let place = |text: &str| text.parse::<Place>().unwrap();
        let remote = |selection: &str, path: &str| {
            let selection = selection.parse().unwrap_or_default();
            let path = path.into();
            Place::Remote { selection, path }
        };
        assert_eq!(place("web/0:/tmp/a:b"), remote("web/0", "/tmp/a:b"));
        assert_eq!(place("web:a"), remote("web", "a"));
        assert_eq!(place(":/tmp"), remote("", "/tmp"));
        assert_eq!(place("web/0:"), remote("web/0", "."));
        for text in ["a", "./a:b", "/tmp/a:b", "../a:b", "((instance_id))"] {
            assert_eq!(place(text), Place::Local(text.into()));
        }
        assert!("web/x:a".parse::<Place>().is_err());
    }

    #[test]
    fn the_id_of_an_instance_is_put_into_local_paths() {
        let instance = Instance {
            group: "web".into(),
            index: Some(1),
            az: String::new(),
            pod: None,
        };
        assert_eq!(
            local_path("/tmp/((instance_id))/a", &instance),
            Path::new("/tmp/web-1/a")
        );
    }
}
