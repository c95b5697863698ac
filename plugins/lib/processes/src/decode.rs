//! Decodes a bpm.yml as BPM does: scalars become strings, unknown keys have no effect, lists and objects must be in
//! their places.

use crate::{Findings, Kind, Limits, Monit, Process, Volume, monit};
use boson_document::{Map, Number, Place, Tree, escape, go};

const PROCESS: [&str; 15] = [
    monit::MARK,
    "name",
    "executable",
    "args",
    "env",
    "workdir",
    "hooks",
    "capabilities",
    "limits",
    "requests",
    "ephemeral_disk",
    "persistent_disk",
    "additional_volumes",
    "unsafe",
    "shutdown_signal",
];
const LIMITS: [&str; 5] = ["memory", "cpu", "open_files", "processes", "core_file_size"];
const UNSAFE: [&str; 3] = ["privileged", "unrestricted_volumes", "host_pid_namespace"];
const VOLUME: [&str; 5] = ["path", "writable", "allow_executions", "mount_only", "shared"];

/// Strings that are booleans in YAML 1.1.
const TRUE: [&str; 8] = ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON"];
const FALSE: [&str; 8] = ["n", "N", "no", "No", "NO", "off", "Off", "OFF"];

/// The processes of a document, each with its place.
pub fn document(tree: &Tree, place: &Place, findings: &mut Findings) -> Vec<(Process, Place)> {
    let mut reader = Reader { findings };
    let Some(map) = reader.map(tree, "config.JobConfig", place) else {
        return Vec::new();
    };
    // Not a key of BPM: the host writes it into the document of a monit file.
    let monit = map.get(monit::MARK) == Some(&Tree::Bool(true));
    reader.known(
        map,
        if monit {
            &["processes", monit::MARK]
        } else {
            &["processes"]
        },
        place,
    );
    let items = reader
        .list(map, "processes", "[]*config.ProcessConfig", place)
        .into_iter();
    items
        .map(|(item, place)| (reader.process(item, monit, &place), place))
        .collect()
}

/// What [`monit::document`] wrote.
fn of_monit(tree: &Tree) -> Monit {
    let words = |key: &str| tree.texts(key).map(String::from).collect();
    let text = |key: &str| tree.str(key).map(String::from);
    let seconds = |key: &str| tree.i64(key).and_then(|seconds| u64::try_from(seconds).ok());
    Monit {
        start: words("start"),
        stop: words("stop"),
        pidfile: text("pidfile").unwrap_or_default(),
        start_timeout: seconds("start_timeout").unwrap_or(monit::PROGRAM_TIMEOUT_SECONDS),
        stop_timeout: seconds("stop_timeout").unwrap_or(monit::PROGRAM_TIMEOUT_SECONDS),
        depends: words("depends"),
        uid: text("uid"),
        gid: text("gid"),
    }
}

/// Whether Go converts a number to this type.
fn fits(number: &Number, wanted: &str) -> bool {
    let positive = wanted == "uint64";
    match (number.is_integer(), positive) {
        (true, true) => number.as_u64().is_some(),
        (true, false) => number.as_i64().is_some(),
        (false, true) => (0.0..u64::MAX as f64).contains(&number.as_f64()),
        (false, false) => number.as_f64().abs() < i64::MAX as f64,
    }
}

/// The number without its fraction.
fn whole(number: &Number) -> String {
    if number.is_integer() {
        number.text().into()
    } else {
        format!("{:.0}", number.as_f64().trunc())
    }
}

struct Reader<'r> {
    findings: &'r mut Findings,
}

// === impl Reader ===

impl Reader<'_> {
    /// Go's tag of the value's kind. The value itself is not reported: it may come from a property.
    fn report_mismatch(&mut self, value: &Tree, wanted: &str, place: &Place) {
        let tag = go::tag(value);
        let text =
            format!("failed to parse job configuration: yaml: unmarshal errors: cannot unmarshal {tag} into {wanted}");
        self.findings.add(Kind::Schema, place, text);
    }

    fn map<'t>(&mut self, tree: &'t Tree, wanted: &str, place: &Place) -> Option<&'t Map> {
        let map = tree.as_map();
        if map.is_none() && !tree.is_null() {
            self.report_mismatch(tree, wanted, place);
        }
        map
    }

    /// A member that is a map, and its place.
    fn map_of<'t>(&mut self, map: &'t Map, key: &str, wanted: &str, place: &Place) -> Option<(&'t Map, Place)> {
        let place = place.at(key);
        let members = self.map(map.get(key)?, wanted, &place)?;
        Some((members, place))
    }

    /// The items of a member that is a list, each with its place.
    fn list<'t>(&mut self, map: &'t Map, key: &str, wanted: &str, place: &Place) -> Vec<(&'t Tree, Place)> {
        let place = place.at(key);
        match map.get(key) {
            Some(Tree::Array(items)) => {
                let placed = items.iter().enumerate().map(|(index, item)| (item, place.at(index)));
                placed.collect()
            }
            None | Some(Tree::Null) => Vec::new(),
            Some(other) => {
                self.report_mismatch(other, wanted, &place);
                Vec::new()
            }
        }
    }

    fn known(&mut self, map: &Map, names: &[&'static str], place: &Place) {
        for name in map.keys().filter(|name| !names.contains(&name.as_str())) {
            let shown = go::text(&escape::decode_key(name)).unwrap_or_else(|| "...".into());
            let text = format!("Key '{shown}' is not known to BPM and has no effect");
            self.findings.unknown(Kind::Ignored, &place.at(name), text, name, names);
        }
    }

    fn string(&mut self, value: &Tree, place: &Place) -> String {
        let text = go::text(value);
        if text.is_none() {
            self.report_mismatch(value, "string", place);
        }
        text.unwrap_or_default()
    }

    fn member(&mut self, map: &Map, key: &str, place: &Place) -> String {
        map.get(key)
            .map(|value| self.string(value, &place.at(key)))
            .unwrap_or_default()
    }

    fn strings(&mut self, map: &Map, key: &str, place: &Place) -> Vec<String> {
        let items = self.list(map, key, "[]string", place).into_iter();
        // A null is left out, as by BPM.
        let given = items.filter(|(item, _)| !item.is_null());
        given.map(|(item, place)| self.string(item, &place)).collect()
    }

    /// A string that is a boolean in YAML 1.1 is accepted as a boolean.
    fn boolean(&mut self, map: &Map, key: &str, place: &Place) -> bool {
        match map.get(key) {
            None | Some(Tree::Null) => false,
            Some(Tree::Bool(value)) => *value,
            Some(Tree::String(text)) if TRUE.contains(&text.as_str()) => true,
            Some(Tree::String(text)) if FALSE.contains(&text.as_str()) => false,
            Some(other) => {
                self.report_mismatch(other, "bool", &place.at(key));
                false
            }
        }
    }

    fn number(&mut self, map: &Map, key: &str, wanted: &str, place: &Place) -> Option<String> {
        match map.get(key)? {
            Tree::Null => None,
            Tree::Number(number) if fits(number, wanted) => Some(whole(number)),
            other => {
                self.report_mismatch(other, wanted, &place.at(key));
                None
            }
        }
    }

    fn process(&mut self, tree: &Tree, monit: bool, place: &Place) -> Process {
        let Some(map) = self.map(tree, "config.ProcessConfig", place) else {
            return Process::default();
        };
        let members = if monit { &PROCESS[..] } else { &PROCESS[1..] };
        self.known(map, members, place);
        let mut process = Process {
            name: self.member(map, "name", place),
            executable: self.member(map, "executable", place),
            args: self.strings(map, "args", place),
            env: self.env(map, place),
            workdir: self.member(map, "workdir", place),
            pre_start: self.pre_start(map, place),
            capabilities: self.strings(map, "capabilities", place),
            limits: self.limits(map, place),
            requests: map.get("requests").cloned().unwrap_or_default(),
            ephemeral_disk: self.boolean(map, "ephemeral_disk", place),
            persistent_disk: self.boolean(map, "persistent_disk", place),
            additional_volumes: self.volumes(map, "additional_volumes", place),
            shutdown_signal: self.member(map, "shutdown_signal", place),
            monit: map.get(monit::MARK).filter(|_| monit).map(of_monit),
            ..Process::default()
        };
        if let Some((map, place)) = self.map_of(map, "unsafe", "config.Unsafe", place) {
            self.known(map, &UNSAFE, &place);
            process.privileged = self.boolean(map, "privileged", &place);
            process.host_pid_namespace = self.boolean(map, "host_pid_namespace", &place);
            process.unrestricted_volumes = self.volumes(map, "unrestricted_volumes", &place);
        }
        process
    }

    fn env(&mut self, map: &Map, place: &Place) -> Vec<(String, String)> {
        let Some((env, place)) = self.map_of(map, "env", "map[string]string", place) else {
            return Vec::new();
        };
        // A name that is null is left out, as by BPM.
        let name = |key: &String| Some(escape::decode_key(key)).filter(|name| !name.is_null());
        env.iter()
            .filter_map(|(key, value)| Some((go::text(&name(key)?)?, self.string(value, &place.at(key)))))
            .collect()
    }

    fn pre_start(&mut self, map: &Map, place: &Place) -> Option<String> {
        let (hooks, place) = self.map_of(map, "hooks", "config.Hooks", place)?;
        self.known(hooks, &["pre_start"], &place);
        Some(self.member(hooks, "pre_start", &place))
    }

    fn limits(&mut self, map: &Map, place: &Place) -> Limits {
        let Some((map, place)) = self.map_of(map, "limits", "config.Limits", place) else {
            return Limits::default();
        };
        self.known(map, &LIMITS, &place);
        let mut text = |key| {
            map.get(key)
                .filter(|value| !value.is_null())
                .map(|value| self.string(value, &place.at(key)))
        };
        let (memory, cpu) = (text("memory"), text("cpu"));
        Limits {
            memory,
            cpu,
            open_files: self.number(map, "open_files", "uint64", &place),
            processes: self.number(map, "processes", "int64", &place),
            core_file_size: self.number(map, "core_file_size", "uint64", &place),
        }
    }

    fn volumes(&mut self, map: &Map, key: &str, place: &Place) -> Vec<Volume> {
        let items = self.list(map, key, "[]config.Volume", place).into_iter();
        let given = items.filter(|(item, _)| !item.is_null());
        given.map(|(item, place)| self.volume(item, &place)).collect()
    }

    fn volume(&mut self, tree: &Tree, place: &Place) -> Volume {
        let Some(map) = self.map(tree, "config.Volume", place) else {
            return Volume::default();
        };
        self.known(map, &VOLUME, place);
        Volume {
            path: self.member(map, "path", place),
            writable: self.boolean(map, "writable", place),
            allow_executions: self.boolean(map, "allow_executions", place),
            mount_only: self.boolean(map, "mount_only", place),
            shared: self.boolean(map, "shared", place),
        }
    }
}
