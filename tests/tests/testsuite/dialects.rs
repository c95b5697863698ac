//! The YAML dialects of BOSH's programs, compared with their readers: BPM's by recorded answers (`tests/corpus`), the
//! director's by Psych in the renderer of templates.

use boson_document::{Tree, escape, json};
use boson_pipeline::yaml::{self, Dialect};
use boson_processes::{Findings, Process, Volume};
use boson_tests::corpus::{self, Count};
use boson_tests::random::{Random, seeds};
use boson_tests::{host, host_with_input, root};
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;

/// Spellings of plain scalars that some reader takes for something else than a string.
const SPELLINGS: &str = "off On ON y Y n N yes NO true True TRUE tRue false fALSE ~ null Null NULL nuLL nULl oN oFF yEs \
    0 -0 +0 1 +1 -1 01 007 0027 00123456 08 09.5 0x1f 0X1F 0x_1 -0x1f 0o17 0o8 0b11 -0b11 0b2 0B1 0b_1 0xg 0x \
    1_000 1__0 0_1 _1 1_ 1,000 1,000,000 1,,0 ,1 1, 0,7 -1,000 1,000.5 1,0.5 1.0 1.50 -2.50 +.5 .5 5. -5. . .. .a +. -. 1.5_0 1._5 1e3 1E3 1e+06 1.0e3 \
    1.0e+3 1.5E-3 .5e+1 1.e+5 1e400 1.0e+400 .inf .Inf .INF .iNf +.inf -.inf -.Inf .nan .NaN .NAN .Nan 18446744073709551615 18446744073709551616 \
    9223372036854775808 -9223372036854775809 123456789012345678901234567890 0x123456789abcdef012345 12:30 -12:30 +1:30 1:2:3 1:60 1:59 1:5 12:30:45 \
    12:30:45.5 1_0:30 190:20:30 190:20:30.15 1:30.5 1:2:3:4 :30 2020-01-02 2020-1-2 2020-13-02 2020-12-32 2020-00-00 20-01-02 2020-01-02T03:04:05Z \
    2020-01-02t03:04:05.1-05:00 2020-01-02T3:4:5Z 1.2.3 10.0.0.1 1.2.3.4.5 = =1 << <<a a<<b ((x)) ((!x)) 5((x)) a,b a:b a=b x@y é ß1 1é -é 1a -a -- - -1- 1-2 \
    :a :8080 ::1 ::ffff:1 :a:b a: /x ./x ../x *.x 5M 512M 1.5G 3d 1h 100% 1/2 1*2 (1) <1 1> -=- 0.0.0.0/0 0.1 0. 00 000 0e0 0e+0 -0.0 0.0";

/// A Ruby program that prints how Psych reads each of the texts, as [`shown`] does.
const PROGRAM: &str = r#"<%
def shown(x)
  case x
  when Hash then '{' + x.map { |k, v| shown(k) + ': ' + shown(v) }.join(', ') + '}'
  when Array then '[' + x.map { |i| shown(i) }.join(', ') + ']'
  when String, Symbol then JSON.generate(x.to_s)
  when Float then x.nan? ? '.nan' : x.infinite? ? (x > 0 ? '.inf' : '-.inf') : x.inspect
  else x.nil? ? 'null' : x.inspect
  end
end
def text_of(x) = x.is_a?(Hash) ? x.to_h { |k, v| [k.to_s, text_of(v)] } : x.is_a?(Array) ? x.map { |i| text_of(i) } : x
def colon(x) = x.is_a?(Symbol) ? ":#{x}" : x.is_a?(Hash) ? x.to_h { |k, v| [colon(k), colon(v)] } : x.is_a?(Array) ? x.map { |i| colon(i) } : x
p('texts').each do |text|
  begin
    x = YAML.load(text, aliases: true)
    x = p('spec') ? text_of(x) : colon(x)
-%>
<%= shown(x) %>
<% rescue Psych::Exception, StandardError -%>
error
<% end
end -%>"#;

/// How Psych reads these texts; `spec`: as texts of job specs, which a director stores as JSON.
fn psych(texts: &[String], spec: bool) -> Vec<String> {
    let texts: Vec<Value> = texts.iter().map(|text| Value::from(text.as_str())).collect();
    let properties = serde_json::json!({"texts": texts, "spec": spec});
    let question =
        serde_json::json!({"id": 1, "name": "t", "template": PROGRAM, "context": {"properties": properties}});
    let ran = host_with_input(Path::new("."), ["render", "--batch"], question.to_string().as_bytes()).unwrap();
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let output = answer["output"].as_str().unwrap_or_else(|| panic!("{answer}"));
    output.lines().map(str::to_string).collect()
}

/// A value as the Ruby program prints it.
fn shown(tree: &Tree) -> String {
    match tree {
        Tree::Number(number) if number.is_integer() => number.text().to_string(),
        Tree::Number(_) => boson_document::ruby::string(tree).unwrap(),
        Tree::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Tree::Object(map) => match escape::as_special(tree) {
            Some(text) => text.to_string(),
            None => {
                let member =
                    |(name, value): (&String, &Tree)| format!("{}: {}", shown(&escape::decode_key(name)), shown(value));
                format!("{{{}}}", map.iter().map(member).collect::<Vec<_>>().join(", "))
            }
        },
        scalar => json::to_text(scalar),
    }
}

fn is_perfect(count: &Count, name: &str) {
    assert!(count.is_perfect(), "{}", count.report(name, usize::MAX));
}

/// Texts of one scalar: plain, as a key, quoted, with tags.
fn scalars() -> Vec<String> {
    let plain = SPELLINGS.split_whitespace();
    // A list or a map is no key.
    let as_key = |one: &str| (is_scalar(one) || one.contains("((")).then(|| format!("? {one}\n: v\n"));
    let mut texts: Vec<String> = plain
        .flat_map(|one| [Some(format!("- {one}\n")), as_key(one)])
        .flatten()
        .collect();
    texts.extend(
        [
            "- '5'\n",
            "- \"off\"\n",
            "- !!str 5\n",
            "- !!int '5'\n",
            "- !!float 1\n",
            "- !!float 1.5\n",
        ]
        .map(String::from),
    );
    texts.extend(
        [
            "- !binary aGk=\n",
            "- !!binary aGk=\n",
            "- !str 5\n",
            "- !own 5\n",
            "- !own 'off'\n",
            "- !!null ''\n",
        ]
        .map(String::from),
    );
    texts.extend(
        [
            "- !!bool yes\n",
            "-\n",
            "- ''\n",
            "- a b\n- 1 2\n",
            "- a\n  b\n",
            "- |\n  5\n",
            "- >-\n  off\n",
            "a: 1\na: 2\n",
        ]
        .map(String::from),
    );
    texts.extend(
        [
            "x: &x {a: 1}\ny: {a: 0, <<: *x, b: 2}\n",
            "x: &x {a: 1}\ny: {<<: *x, a: 2}\n",
            "{<<: 1}\n",
            "{<<: ~, a: 1}\n",
        ]
        .map(String::from),
    );
    texts.extend(
        [
            "x: &x {a: 1}\nz: &z {a: 2, b: 3}\ny: {<<: [*x, *z]}\n",
            "x: &x [{a: 1}]\ny: {<<: *x}\n",
            "{'<<': {a: 1}}\n",
        ]
        .map(String::from),
    );
    texts.extend(
        [
            "{!!str <<: {a: 1}}\n",
            "{<<: [1, {a: 1}]}\n",
            "{on: 1, no: 2, y: 3, 1: 4, 1.5: 5, ~: 6}\n",
            ":'a b'\n",
        ]
        .map(String::from),
    );
    texts
}

#[test]
fn job_specs_are_read_as_psych_reads_them() {
    let texts = scalars();
    let mut count = Count::default();
    for (text, wanted) in texts.iter().zip(psych(&texts, true)) {
        let read = yaml::read_as(Dialect::Psych, "spec", text).map(|document| shown(&document.tree));
        let got = read.unwrap_or_else(|_| "error".into());
        count.add(text, (got != wanted).then(|| format!("wanted {wanted}, got {got}")));
    }
    is_perfect(&count, "psych");
}

/// What yaml.v2 writes of a text, was recorded; what Psych reads of that, is what the director gets.
#[test]
fn manifests_are_sent_as_the_director_reads_them() {
    let recorded = corpus::cases(&root().join("tests/corpus/yaml.jsonl")).unwrap();
    let pair = |one: &Value| Some((one["text"].as_str()?.to_string(), one["output"].as_str()?.to_string()));
    let (mut texts, mut written): (Vec<String>, Vec<String>) = recorded.iter().filter_map(pair).unzip();
    // Our writer is compared with yaml.v2 in `corpus`; it writes the other spellings here.
    for text in scalars() {
        if let Ok(document) = yaml::read("m", &text) {
            written.push(yaml::write(&document.tree));
            texts.push(text);
        }
    }
    let mut count = Count::default();
    for ((text, written), wanted) in texts.iter().zip(&written).zip(psych(&written, false)) {
        // A director refuses dates. A key `<<` without quotes merges. Symbols stay strings, with their quotes.
        if wanted == "error" || written.contains("<<:") || written.contains(":'") {
            continue;
        }
        let got = shown(&yaml::as_sent(yaml::read("m", text).unwrap().tree));
        count.add(text, (got != wanted).then(|| format!("wanted {wanted}, got {got}")));
    }
    is_perfect(&count, "as sent");
}

#[test]
fn bpm_yml_is_read_as_bpm_reads_it() {
    let mut count = Count::default();
    for one in corpus::cases(&root().join("tests/corpus/bpm.jsonl")).unwrap() {
        let text = one["text"].as_str().unwrap();
        let (wanted, got) = (one.get("output"), read_bpm(text).map(Value::from));
        count.add(
            text,
            (got.as_ref() != wanted).then(|| format!("wanted {wanted:?}, got {got:?}")),
        );
    }
    is_perfect(&count, "bpm");
}

/// The processes, in the form of the recorded answers; nothing after an error.
fn read_bpm(text: &str) -> Option<Vec<Value>> {
    let document = yaml::read_as(Dialect::Bpm, "bpm.yml", text).ok()?;
    let mut findings = Findings::default();
    let processes = boson_processes::decode(&document.tree, &boson_document::Place::default(), &mut findings);
    if findings.0.iter().any(|finding| finding.kind.is_error()) {
        return None;
    }
    // A block that is there but empty cannot be told from one that is not.
    let given = document.tree.items("processes").iter();
    Some(
        processes
            .iter()
            .zip(given)
            .map(|((process, _), given)| described(process, given))
            .collect(),
    )
}

fn described(process: &Process, given: &Tree) -> Value {
    let has = |key: &str| given.get(key).is_some_and(|value| !value.is_null());
    let mut all = Map::new();
    text(&mut all, "name", &process.name);
    text(&mut all, "executable", &process.executable);
    list(
        &mut all,
        "args",
        process.args.iter().map(|arg| arg.as_str().into()).collect(),
    );
    let env: Map<String, Value> = process
        .env
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().into()))
        .collect();
    if !env.is_empty() {
        all.insert("env".into(), env.into());
    }
    list(
        &mut all,
        "additional_volumes",
        process.additional_volumes.iter().map(volume).collect(),
    );
    list(
        &mut all,
        "capabilities",
        process.capabilities.iter().map(|one| one.as_str().into()).collect(),
    );
    flag(&mut all, "ephemeral_disk", process.ephemeral_disk);
    if let Some(pre_start) = &process.pre_start {
        let mut hooks = Map::new();
        text(&mut hooks, "pre_start", pre_start);
        all.insert("hooks".into(), hooks.into());
    }
    if has("limits") {
        let mut limits = Map::new();
        let given = &process.limits;
        limits.extend(
            given
                .memory
                .as_ref()
                .map(|memory| ("memory".into(), memory.as_str().into())),
        );
        for (key, number) in [
            ("open_files", &given.open_files),
            ("processes", &given.processes),
            ("core_file_size", &given.core_file_size),
        ] {
            limits.extend(
                number
                    .as_ref()
                    .map(|number| (key.into(), serde_json::from_str(number).unwrap())),
            );
        }
        all.insert("limits".into(), limits.into());
    }
    text(&mut all, "workdir", &process.workdir);
    flag(&mut all, "persistent_disk", process.persistent_disk);
    if has("unsafe") {
        let mut block = Map::new();
        flag(&mut block, "privileged", process.privileged);
        list(
            &mut block,
            "unrestricted_volumes",
            process.unrestricted_volumes.iter().map(volume).collect(),
        );
        flag(&mut block, "host_pid_namespace", process.host_pid_namespace);
        all.insert("unsafe".into(), block.into());
    }
    text(&mut all, "shutdown_signal", &process.shutdown_signal);
    all.into()
}

fn volume(volume: &Volume) -> Value {
    let mut all = Map::new();
    text(&mut all, "path", &volume.path);
    flag(&mut all, "writable", volume.writable);
    flag(&mut all, "allow_executions", volume.allow_executions);
    flag(&mut all, "mount_only", volume.mount_only);
    flag(&mut all, "shared", volume.shared);
    all.into()
}

fn text(all: &mut Map<String, Value>, key: &str, value: &str) {
    if !value.is_empty() {
        all.insert(key.into(), value.into());
    }
}

fn flag(all: &mut Map<String, Value>, key: &str, value: bool) {
    if value {
        all.insert(key.into(), true.into());
    }
}

fn list(all: &mut Map<String, Value>, key: &str, items: Vec<Value>) {
    if !items.is_empty() {
        all.insert(key.into(), items.into());
    }
}

/// `convert m` and `interpolate m | convert -` make the same objects.
#[test]
fn a_manifest_is_converted_as_what_interpolate_writes_of_it() {
    let scratch = tempfile::tempdir().unwrap();
    release(scratch.path());
    let spellings: Vec<&str> = SPELLINGS.split_whitespace().collect();
    for (number, part) in spellings.chunks(spellings.len().div_ceil(8)).enumerate() {
        let part: Vec<&str> = part.iter().filter(|one| is_scalar(one)).copied().collect();
        let values = part.iter().enumerate();
        let values = values.flat_map(|(index, one)| ["-v".to_string(), format!("v{index}={one}")]);
        let values: Vec<String> = values.collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        manifest(scratch.path(), number, &part);
        let convert = ["--release", "r", "--registry", "boson.test", "--vars-store", "s.yml"];
        let direct = host(scratch.path(), [&["convert", "m.yml"][..], &convert, &values].concat()).unwrap();
        let sent = host(
            scratch.path(),
            [&["interpolate", "m.yml", "--vars-store", "s.yml"][..], &values].concat(),
        )
        .unwrap();
        assert_eq!(sent.code, 0, "{}", sent.stderr);
        fs::write(scratch.path().join("sent.yml"), &sent.stdout).unwrap();
        let two_steps = host(scratch.path(), [&["convert", "sent.yml"][..], &convert].concat()).unwrap();
        assert_eq!(direct.code, 0, "{}", direct.stderr);
        assert_eq!(two_steps.code, 0, "{}", two_steps.stderr);
        // Only the first conversion has the values of variables.
        let objects = |text: &str| -> Vec<String> {
            let all = text.split("---\n").map(str::to_string);
            all.filter(|object| !object.contains("secret-kind: generated\n"))
                .collect()
        };
        assert_eq!(objects(&direct.stdout), objects(&two_steps.stdout), "{part:?}");
    }
}

/// The same for random properties, some of them by an ops file, with variables of a file. More seeds:
/// `BOSON_FUZZ=100..1000`.
#[test]
fn random_manifests_are_converted_as_what_interpolate_writes_of_them() {
    let scratch = tempfile::tempdir().unwrap();
    release(scratch.path());
    let spellings: Vec<&str> = SPELLINGS.split_whitespace().filter(|one| is_scalar(one)).collect();
    for seed in seeds(1..17) {
        let mut random = Random::new(seed);
        let mut values = || -> String {
            (0..12)
                .map(|_| format!("- {}\n", value(&mut random, &spellings, MAX_DEPTH)))
                .collect()
        };
        let (all, replaced) = (values(), values());
        let list = |text: &str, by: &str| text.lines().map(|line| format!("{by}{line}\n")).collect::<String>();
        let text = format!(
            "name: d\nreleases: [{{name: r, version: 1}}]\nstemcells: [{{alias: s, os: o, version: 3.0}}]\n\
             instance_groups:\n- name: g\n  instances: 1\n  stemcell: s\n  jobs:\n  - name: j\n    release: r\n    \
             properties:\n      quarks: {{ports: []}}\n      stored: replaced\n      all:\n{}",
            list(&all, "      ")
        );
        fs::write(scratch.path().join("m.yml"), text).unwrap();
        let ops = format!(
            "- type: replace\n  path: /instance_groups/name=g/jobs/name=j/properties/stored\n  value:\n{}",
            list(&replaced, "  ")
        );
        fs::write(scratch.path().join("o.yml"), ops).unwrap();
        let given: String = spellings
            .iter()
            .enumerate()
            .map(|(at, one)| format!("v{at}: {one}\n"))
            .collect();
        fs::write(scratch.path().join("l.yml"), given).unwrap();
        let inputs = ["m.yml", "-o", "o.yml", "-l", "l.yml"];
        let sent = host(scratch.path(), [&["interpolate"][..], &inputs].concat()).unwrap();
        assert_eq!(sent.code, 0, "{seed}: {}", sent.stderr);
        fs::write(scratch.path().join("sent.yml"), &sent.stdout).unwrap();
        let convert = ["--release", "r", "--registry", "boson.test"];
        let direct = host(scratch.path(), [&["convert"][..], &inputs, &convert].concat()).unwrap();
        let two_steps = host(scratch.path(), [&["convert", "sent.yml"][..], &convert].concat()).unwrap();
        assert_eq!(direct.code, 0, "{seed}: {}", direct.stderr);
        assert_eq!(
            (direct.code, direct.stdout),
            (two_steps.code, two_steps.stdout),
            "{seed}"
        );
    }
}

/// How deep lists and maps of random values are nested.
const MAX_DEPTH: usize = 3;

/// A value of one line: a spelling, in quotes or not, a variable, a list or a map.
fn value(random: &mut Random, spellings: &[&str], depth: usize) -> String {
    let at = random.below(spellings.len());
    let one = spellings[at];
    // In flow collections, a text may not contain what ends it.
    let quoted = format!("'{}'", one.replace('\'', "''"));
    let needs_quotes = depth < MAX_DEPTH && one.contains([',', '[', ']', '{', '}', '#', '?', ':']);
    match random.below(if depth > 0 { 5 } else { 3 }) {
        0 if !needs_quotes => one.to_string(),
        0 | 1 => quoted,
        2 => format!("((v{at}))"),
        3 => {
            let items: Vec<String> = (0..random.below(4))
                .map(|_| value(random, spellings, depth - 1))
                .collect();
            format!("[{}]", items.join(", "))
        }
        _ => {
            let key = format!("k{}", random.below(10));
            format!("{{{key}: {}, other: 1}}", value(random, spellings, depth - 1))
        }
    }
}

/// A job that prints all of its properties.
fn release(directory: &Path) {
    let job = directory.join("r/jobs/j");
    fs::create_dir_all(job.join("templates")).unwrap();
    fs::create_dir_all(directory.join("r/config")).unwrap();
    fs::write(directory.join("r/config/final.yml"), "name: r\n").unwrap();
    fs::write(job.join("monit"), "").unwrap();
    let spec = "name: j\npackages: []\nproperties: {all: {}, stored: {}}\ntemplates: {bpm.yml.erb: config/bpm.yml}\n";
    fs::write(job.join("spec"), spec).unwrap();
    let bpm = "processes:\n- name: j\n  executable: /bin/true\n  env: {ALL: <%= [p('all'), p('stored')].inspect.to_json %>}\n";
    fs::write(job.join("templates/bpm.yml.erb"), bpm).unwrap();
}

/// Whether the text is one value that is no list and no map, and no placeholder.
fn is_scalar(text: &str) -> bool {
    let read = yaml::read("v", text).map(|document| document.tree);
    !text.contains("((") && read.is_ok_and(|tree| !matches!(tree, Tree::Array(_)) && tree.as_map().is_none())
}

/// Each spelling as a value, in quotes, as a key, and as the value of a variable of the command line.
fn manifest(directory: &Path, number: usize, spellings: &[&str]) {
    let mut all = String::new();
    for (index, one) in spellings.iter().enumerate() {
        let mut item = |text: String| all += &format!("      - {text}\n");
        item(one.to_string());
        item(format!("v: {one}"));
        item(format!("'{one}'"));
        item(format!("((v{index}))"));
        // Others are not allowed within a string.
        let value = yaml::read("v", one).unwrap().tree;
        if matches!(&value, Tree::String(_)) || value.as_i64().is_some() {
            item(format!("a-((v{index}))"));
        }
        if *one != "<<" {
            item(format!("k:\n          ? {one}\n          : x"));
        }
    }
    let text = format!(
        "name: d{number}\nreleases: [{{name: r, version: 1.10}}]\nstemcells: [{{alias: s, os: o, version: 3.0}}]\n\
         variables: [{{name: p, type: password, options: {{length: 12.0}}}}]\n\
         instance_groups:\n- name: {number}1\n  instances: 2.0\n  stemcell: s\n  networks: [{{name: 5}}]\n  jobs:\n  - name: j\n    \
         release: r\n    properties:\n      quarks: {{ports: [{{name: 80, internal: 8080.0, protocol: tcp}}], \
         envs: [{{name: A, value: 1.0}}]}}\n      stored: [((s1)), ((s2))]\n      all:\n{all}"
    );
    fs::write(directory.join("m.yml"), text).unwrap();
    fs::write(directory.join("s.yml"), "p: generated\ns1: 1.0\ns2: '1,000'\n").unwrap();
}
