//! Settings of a bpm.yml for which containers have no field.

use super::Process;
use crate::codes;
use boson_document::Report;

/// Warns of settings for which containers have no field.
pub fn warn(process: &Process, report: &mut Report) {
    let place = &process.place;
    let settings = [
        (
            "limits.processes",
            process.limits.processes.is_some(),
            "the node limits the number of processes of a container",
        ),
        (
            "unsafe.host_pid_namespace",
            process.host_pid_namespace,
            "a container has its own processes",
        ),
    ];
    for (path, _, why) in settings.into_iter().filter(|(_, given, _)| *given) {
        let text = format!("'{path}' of process '{}' has no effect: {why}", process.name);
        let tokens: Vec<&str> = path.split('.').collect();
        report.warning(codes::DROPPED, place.join(&tokens), text);
    }
    let lists = [
        (&["additional_volumes"][..], &process.additional_volumes),
        (&["unsafe", "unrestricted_volumes"], &process.unrestricted_volumes),
    ];
    for (tokens, volumes) in lists {
        for (index, volume) in volumes.iter().enumerate() {
            let settings = [
                ("shared", volume.shared, "containers do not share mounts"),
                (
                    "mount_only",
                    volume.mount_only,
                    "missing directories of volumes are created",
                ),
            ];
            for (key, _, why) in settings.into_iter().filter(|(_, given, _)| *given) {
                let text = format!("'{key}' of volume '{}' has no effect: {why}", volume.path);
                report.warning(codes::DROPPED, place.join(tokens).at(index).at(key), text);
            }
        }
    }
}
