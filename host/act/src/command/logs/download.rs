//! The archive. What instances send is stored in temporary files first, so that several can be read at a time, and no
//! log has to fit into memory.

use super::filter::Filter;
use crate::selection::Selection;
use crate::unpack::{path_parts, rewind};
use crate::{containers, remote};
use anyhow::{Context, bail};
use boson_cluster::client::{Container, ErrorKind, LogParams};
use boson_cluster::pods;
use boson_commands::output;
use boson_look::access::Access;
use boson_look::instances::Instance;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::{AsyncReadExt, StreamExt};
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use tar::{Archive, Builder, EntryType, Header};
use tempfile::NamedTempFile;

const LOG_FOLDER: &str = "/var/vcap/sys/log";
/// Of how many instances logs are read at a time.
const CONCURRENT_INSTANCES: usize = 8;
const PART_BYTES: usize = 32 << 10;

/// What an instance sent.
#[derive(Default)]
struct Fetched {
    /// Logs of containers, with their names.
    logs: Vec<(String, File)>,
    /// A tar archive.
    files: Option<File>,
    /// Single files and logs that could not be read.
    messages: Vec<String>,
    /// Why the rest is missing.
    failure: Option<anyhow::Error>,
}

/// The archive in the making.
type Target = Builder<GzEncoder<NamedTempFile>>;

/// The beginning of the name of the archive, as BOSH has it.
pub fn name(deployment: &str, selection: &Selection) -> String {
    match selection {
        Selection::All => deployment.to_string(),
        Selection::Group(group) => format!("{deployment}.{group}"),
        Selection::Instance { group, index } => format!("{deployment}.{group}.{index}"),
    }
}

/// The folder of each pod in the archive; none if there is only one pod.
fn folders(instances: &[&Instance]) -> Vec<String> {
    if instances.len() == 1 {
        return vec![String::new()];
    }
    let mut seen = BTreeSet::new();
    let folder = |instance: &&Instance| {
        let name = match instance.index {
            Some(index) => format!("{}.{index}", instance.group),
            None => instance.group.clone(),
        };
        // During a rollout an instance may have two pods.
        if seen.insert(name.clone()) {
            format!("{name}/")
        } else {
            format!("{name}.{}/", instance.pod_name())
        }
    };
    instances.iter().map(folder).collect()
}

/// Writes the archive and prints its path.
pub async fn write(
    access: &Access,
    instances: &[Instance],
    filter: &Filter,
    directory: &Path,
    name: &str,
) -> anyhow::Result<()> {
    let (with_pods, without): (Vec<&Instance>, Vec<&Instance>) =
        instances.iter().partition(|instance| instance.pod.is_some());
    for instance in without {
        output::eprint(&format!("{instance}: it has no pod, so it has no logs\n"));
    }
    if with_pods.is_empty() {
        bail!("no selected instance has a pod");
    }
    let file = NamedTempFile::new_in(directory).with_context(|| write_error(directory))?;
    let mut target = Builder::new(GzEncoder::new(file, Compression::default()));
    let named: Vec<(&Instance, String)> = with_pods.iter().copied().zip(folders(&with_pods)).collect();
    let each = named.iter().map(async |(instance, folder)| {
        let mut fetched = Fetched::default();
        fetched.failure = fetch(access, instance, filter, directory, &mut fetched).await.err();
        (instance, folder, fetched)
    });
    let mut all = futures::stream::iter(each).buffer_unordered(CONCURRENT_INSTANCES);
    let (mut failures, mut first_failure, mut is_empty) = (Vec::new(), None, true);
    while let Some((instance, folder, mut fetched)) = all.next().await {
        if let Some(error) = fetched.failure.take() {
            failures.push(instance.to_string());
            first_failure.get_or_insert(error);
        }
        is_empty &= fetched.logs.is_empty() && fetched.files.is_none();
        for message in &fetched.messages {
            output::eprint(&format!("{instance}: {message}\n"));
        }
        let (folder, filter) = (folder.clone(), filter.clone());
        // Elsewhere, because the connections of the other instances must be kept alive meanwhile.
        let added = tokio::task::spawn_blocking(move || add_to_archive(target, &folder, fetched, &filter));
        target = added.await?.with_context(|| instance.to_string())?;
    }
    if let Some(error) = first_failure {
        if is_empty {
            return Err(error);
        }
        output::eprint(&format!("error: {error:#}\n"));
    }
    publish(target, directory, name)?;
    if !failures.is_empty() {
        bail!("the archive lacks logs of {}", failures.join(", "));
    }
    Ok(())
}

/// Gives the archive its name, and prints its path.
fn publish(target: Target, directory: &Path, name: &str) -> anyhow::Result<()> {
    let time = Timestamp::now().strftime("%Y%m%d-%H%M%S-%N");
    let path = directory.join(format!("{name}-{time}.tgz"));
    let file = target.into_inner()?.finish()?;
    file.persist_noclobber(&path).with_context(|| write_error(directory))?;
    Ok(output::print(&format!("{}\n", path.display()))?)
}

fn write_error(directory: &Path) -> String {
    format!("cannot write to '{}'", directory.display())
}

/// What was read before a failure stays.
async fn fetch(
    access: &Access,
    instance: &Instance,
    filter: &Filter,
    directory: &Path,
    fetched: &mut Fetched,
) -> anyhow::Result<()> {
    let Some(pod) = &instance.pod else { return Ok(()) };
    let pod_name = instance.pod_name();
    for one in pods::containers(pod).filter(|one| filter.has_container(one)) {
        let logs = containers::available_logs(pod, &one.name);
        for (previous, wanted, ending) in [(false, logs.current, "log"), (true, logs.previous, "previous.log")] {
            if wanted {
                let container = access.container(&pod_name, &one.name);
                let name = format!("containers/{}.{ending}", one.name);
                fetch_log(access, container, previous, directory, name, fetched).await?;
            }
        }
    }
    let Some(reader) = containers::log_reader(pod) else {
        let message = format!("no container runs, so the files below {LOG_FOLDER} are left out");
        fetched.messages.push(message);
        return Ok(());
    };
    let mut file = tempfile::tempfile_in(directory)?;
    let folder = match filter.folder() {
        Some(folder) => format!("{LOG_FOLDER}/{folder}"),
        None => LOG_FOLDER.to_string(),
    };
    let arguments = ["archive", "--recursive", &folder];
    let container = access.container(&pod_name, reader);
    let messages = remote::container_run(access, container, &arguments, None, |part| Ok(file.write_all(part)?));
    match messages.await.with_context(|| instance.to_string()) {
        Ok(messages) => {
            fetched.messages.extend(messages);
            fetched.files = Some(rewind(file)?);
        }
        // The instance may have no such job.
        Err(error) if filter.folder().is_some() && format!("{error:#}").contains("No such file") => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

async fn fetch_log(
    access: &Access,
    container: Container<'_>,
    previous: bool,
    directory: &Path,
    name: String,
    fetched: &mut Fetched,
) -> anyhow::Result<()> {
    let query = LogParams {
        previous,
        ..LogParams::default()
    };
    let mut stream = match access.cluster.log(container, &query).await {
        Ok(stream) => stream,
        Err(error) if error.kind == ErrorKind::Forbidden => return Err(access.explain(error)),
        // The node may have deleted the log of the previous run.
        Err(error) => {
            fetched.messages.push(format!("{name}: {}", error.kind));
            return Ok(());
        }
    };
    let (mut file, mut part) = (tempfile::tempfile_in(directory)?, vec![0; PART_BYTES]);
    loop {
        match stream.read(&mut part).await {
            Ok(0) => break,
            Ok(count) => file.write_all(&part[..count])?,
            Err(error) => {
                fetched.messages.push(format!("{name}: only a part was read: {error}"));
                break;
            }
        }
    }
    fetched.logs.push((name, rewind(file)?));
    Ok(())
}

fn add_to_archive(mut target: Target, folder: &str, fetched: Fetched, filter: &Filter) -> anyhow::Result<Target> {
    for (name, file) in fetched.logs {
        let mut header = Header::new_gnu();
        header.set_size(file.metadata()?.len());
        header.set_mode(0o644);
        header.set_mtime(u64::try_from(Timestamp::now().as_second()).unwrap_or(0));
        target.append_data(&mut header, format!("{folder}{name}"), file)?;
    }
    let Some(files) = fetched.files else { return Ok(target) };
    for entry in Archive::new(files).entries()? {
        let entry = entry?;
        if entry.header().entry_type() != EntryType::Regular {
            continue;
        }
        let parts = path_parts(&entry)?;
        // The first part is the folder itself.
        let skipped = usize::from(filter.folder().is_none());
        let path = parts.get(skipped..).unwrap_or_default().join("/");
        if !filter.has_file(&path) {
            continue;
        }
        let mut header = Header::new_gnu();
        header.set_size(entry.size());
        header.set_mode(0o644);
        header.set_mtime(entry.header().mtime()?);
        target.append_data(&mut header, format!("{folder}{path}"), entry)?;
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_pipeline::glob::Pattern;
    use std::io::Read;

    fn instance(group: &str, index: Option<usize>, pod: &str) -> Instance {
        let pod = serde_json::json!({"metadata": {"name": pod}});
        Instance {
            group: group.into(),
            index,
            az: String::new(),
            pod: serde_json::from_value(pod).unwrap(),
        }
    }

    #[test]
    fn names_are_those_of_bosh() {
        let name = |selection: &str| name("nats", &selection.parse().unwrap());
        assert_eq!(name("web"), "nats.web");
        assert_eq!(name("web/1"), "nats.web.1");
        assert_eq!(super::name("nats", &Selection::All), "nats");
    }

    #[test]
    fn each_pod_has_a_folder_of_its_own() {
        let all = [
            instance("web", Some(0), "a"),
            instance("web", Some(1), "b"),
            instance("web", Some(1), "c"),
            instance("old", None, "d"),
        ];
        let all: Vec<&Instance> = all.iter().collect();
        assert_eq!(folders(&all), ["web.0/", "web.1/", "web.1.c/", "old/"]);
        assert_eq!(folders(&all[..1]), [""]);
    }

    #[test]
    fn the_archive_has_the_files_that_match() {
        let scratch = tempfile::tempdir().unwrap();
        let mut files = Builder::new(tempfile::tempfile().unwrap());
        for name in ["log/nats/a.log", "log/other/b.log"] {
            let mut header = Header::new_gnu();
            header.set_size(4);
            files.append_data(&mut header, name, &b"text"[..]).unwrap();
        }
        let mut log = tempfile::tempfile().unwrap();
        log.write_all(b"line\n").unwrap();
        let fetched = Fetched {
            logs: vec![("containers/nats-nats.log".into(), rewind(log).unwrap())],
            files: Some(rewind(files.into_inner().unwrap()).unwrap()),
            ..Fetched::default()
        };
        let filter = Filter {
            only: ["nats/*", "x"].into_iter().filter_map(Pattern::read).collect(),
            ..Filter::default()
        };
        let file = NamedTempFile::new_in(scratch.path()).unwrap();
        let target = Builder::new(GzEncoder::new(file, Compression::default()));
        let target = add_to_archive(target, "web.0/", fetched, &filter).unwrap();
        let file = rewind(target.into_inner().unwrap().finish().unwrap().into_file()).unwrap();
        let mut found = Vec::new();
        for entry in Archive::new(flate2::read::GzDecoder::new(file)).entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            found.push(format!("{} {}", entry.path().unwrap().display(), text.trim()));
        }
        assert_eq!(found, ["web.0/containers/nats-nats.log line", "web.0/nats/a.log text"]);
    }
}
