//! No message reveals the value of a variable, whatever a template does with it: on the command line, and in the log
//! and report of a pod, from which the operator creates conditions and events.

mod positions;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::golden::{Case, cases};
use boson_tests::{Ran, Run, binary, host, root};
use data_encoding::HEXLOWER;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Values of every kind that an escape, a cut or a cleanup could hide from a comparison of whole strings.
const VALUES: [&str; 8] = [
    "P@ssw0rd#$tr0ng-and-longer-than-any-cut",
    "tr4iling-bl4nks-count    ",
    "esc-\u{1b}[31m-ape\u{7}-b3ll-v4lue",
    "several\nl1nes-of-a\tv4lue\n",
    "lower.case.value.with.dots",
    "correct horse battery staple",
    "/%+=&?:v4lue~for~urls",
    "größe-ünd-𝄞-v4lue-quote\"s'`back\\slash",
];

/// What templates do with the value `v`.
const FORMS: [&str; 39] = [
    "raise v",
    "raise \"bad password #{v} in #{name}\"",
    "raise v.inspect",
    "raise v.dump",
    "raise v.inspect.inspect",
    "raise v.to_json",
    "raise JSON.generate(v, script_safe: true, ascii_only: true)",
    "raise({ 'password' => v }.to_yaml)",
    "raise Shellwords.escape(v)",
    "raise CGI.escape(v)",
    "raise URI.encode_www_form_component(v)",
    "raise CGI.escapeHTML(v)",
    "raise Base64.encode64(\"user:#{v}\")",
    "raise Base64.urlsafe_encode64(v)",
    "raise v.unpack1('H*')",
    "raise v.upcase",
    "raise v.swapcase",
    "raise v.reverse",
    "raise v[3, 12]",
    "raise v.chars.join(' ')",
    "raise v.chars.join('-')",
    "raise v.chars.inspect",
    "raise v.bytes.inspect",
    "raise v.bytes.join(' ')",
    "raise v.bytes.join",
    "raise v.codepoints.to_s",
    "raise v.unpack1('B*')",
    "raise v.bytes.map { |byte| byte.to_s(16) }.join(':')",
    "raise({ v => { v => 1 } }.inspect)",
    "raise Digest::SHA256.hexdigest(v)",
    "JSON.parse(v)",
    "JSON.parse(\"{\\\"a\\\": #{v}\")",
    "Integer(v)",
    "Float(v)",
    "{}.fetch(v)",
    "URI.parse(\"http://#{v} \")",
    "IPAddr.new(v)",
    "Object.const_get(v)",
    "public_send(v)",
];

/// What no message may contain of a value: eight bytes of it in any form, or all of a shorter form.
fn revealing(value: &str) -> Vec<String> {
    let hex = HEXLOWER.encode(value.as_bytes());
    let reversed: String = value.chars().rev().collect();
    let base64 = |text: &str| encode(text.as_bytes());
    let forms = [
        value.to_string(),
        value.to_uppercase(),
        value.to_lowercase(),
        reversed,
        hex,
        base64(value),
        base64(&format!("user:{value}")),
    ];
    let pieces = |form: &String| {
        let chars: Vec<char> = form.chars().collect();
        let window = |window: &[char]| window.iter().collect::<String>();
        chars.windows(8.min(chars.len())).map(window).collect::<Vec<_>>()
    };
    let chars: Vec<String> = value.chars().map(String::from).collect();
    let numbers: Vec<String> = value.bytes().map(|byte| byte.to_string()).collect();
    let of_list = |list: &[String], separator: &str| {
        let windows = list.windows(8.min(list.len())).map(|window| window.join(separator));
        windows.collect::<Vec<_>>()
    };
    let bits: String = value.bytes().map(|byte| format!("{byte:08b}")).collect();
    let mut all: Vec<String> = forms.iter().flat_map(pieces).collect();
    for separator in [" ", "-", "\", \""] {
        all.extend(of_list(&chars, separator));
    }
    for separator in ["", " ", ", "] {
        all.extend(of_list(&numbers, separator));
    }
    all.extend((0..bits.len().saturating_sub(64)).map(|at| bits[at..at + 64].to_string()));
    all
}

fn encode(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let number = three.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        let letter = |nth: usize| char::from(LETTERS[(number >> (18 - 6 * nth)) as usize & 63]);
        (0..=three.len()).map(letter).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

/// The release `demo`: a template for each form, the value in the property `app.password`.
fn write_job(folder: &Path, spec: &str) {
    let sources: String = (0..FORMS.len())
        .map(|nth| format!("  t{nth}.erb: config/t{nth}\n"))
        .collect();
    let text = format!(
        "name: app\ntemplates:\n  bpm.yml.erb: config/bpm.yml\n{sources}packages: []\nproperties:\n  app.password:\n    description: x\n"
    );
    fs::create_dir_all(folder.join("templates")).unwrap();
    fs::write(folder.join(spec), text).unwrap();
    fs::write(folder.join("monit"), "").unwrap();
    fs::write(
        folder.join("templates/bpm.yml.erb"),
        "processes: [{name: app, executable: /x}]\n",
    )
    .unwrap();
    for (nth, form) in FORMS.iter().enumerate() {
        let text = format!("<% v = p('app.password') %>\n<% {form} %>\n");
        fs::write(folder.join(format!("templates/t{nth}.erb")), text).unwrap();
    }
}

fn manifest() -> &'static str {
    "name: demo
releases: [{name: demo, version: \"1\", url: registry.example.com/demo}]
stemcells: [{alias: default, os: ubuntu-jammy, version: \"1.1\"}]
instance_groups:
- name: web
  instances: 2
  stemcell: default
  jobs: [{name: app, release: demo, properties: {app: {password: ((word))}}}]
"
}

#[track_caller]
fn reveals_nothing(said: &str, value: &str) {
    for piece in revealing(value) {
        assert!(!said.contains(&piece), "{piece:?} of {value:?} is revealed:\n{said}");
    }
}

/// All templates are named with their lines, and the template's own words are kept.
#[track_caller]
fn names_templates_and_lines(said: &str) {
    for nth in 0..FORMS.len() {
        let template = format!("Error filling in template 't{nth}.erb' (line 2: ");
        assert!(said.contains(&template), "no {template} in\n{said}");
    }
    for words in [
        "bad password <redacted>",
        " in web",
        "key not found: ",
        "invalid value for Integer(): ",
        "(line 2: <redacted>)",
    ] {
        assert!(said.contains(words), "no {words:?} in\n{said}");
    }
}

fn yaml(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

#[test]
fn the_command_line_reveals_no_value_whatever_a_template_does_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_job(&at("release/jobs/app"), "spec");
    fs::create_dir_all(at("release/config")).unwrap();
    fs::write(at("release/config/final.yml"), "name: demo\n").unwrap();
    fs::write(at("manifest.yml"), manifest()).unwrap();
    for value in VALUES {
        fs::write(at("vars.yml"), format!("word: {}\n", yaml(value))).unwrap();
        fs::write(at("word"), value).unwrap();
        let context = serde_json::json!({"name": "web", "index": 0, "properties": {"app": {"password": value}}});
        fs::write(at("context.json"), context.to_string()).unwrap();
        let quoted = format!("word={}", yaml(value));
        let convert = ["convert", "manifest.yml", "--release", "release"];
        for given in [
            ["-v", &quoted],
            ["-l", "vars.yml"],
            ["--var-file", "word=word"],
            ["--vars-store", "vars.yml"],
        ] {
            let ran = host(folder.path(), convert.iter().chain(&given)).unwrap();
            assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
            reveals_nothing(&ran.stderr, value);
            names_templates_and_lines(&ran.stderr);
        }
        let ran = host(
            folder.path(),
            [
                "render",
                "--release",
                "release",
                "--job",
                "app",
                "--context",
                "context.json",
            ],
        )
        .unwrap();
        assert_eq!(ran.code, 1);
        reveals_nothing(&ran.stderr, value);
        names_templates_and_lines(&ran.stderr);
    }
}

#[test]
fn a_pod_logs_and_reports_no_value_whatever_a_template_does_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_job(&at("all-releases/jobs-src/demo/app"), "job.MF");
    for value in VALUES {
        let resolved = format!(
            "name: demo
instance_groups:
- name: web
  instances: 1
  jobs:
  - name: app
    release: demo
    properties:
      app: {{password: {}}}
      quarks:
        instances: [{{deployment: demo, name: web, index: 0, id: web-0, address: web-0.svc, bootstrap: true}}]
        consumes: {{}}
        release: {{name: demo, version: \"1\"}}
",
            yaml(value)
        );
        fs::write(at("properties.yaml"), resolved).unwrap();
        fs::create_dir_all(at("values/given/word")).unwrap();
        fs::write(at("values/given/word/password"), value).unwrap();

        let mut run = Run::new(folder.path(), ["util", "template-render"]);
        let environment = [
            ("BOSH_MANIFEST_PATH", "properties.yaml"),
            ("JOBS_DIR", "all-releases"),
            ("OUTPUT_DIR", "jobs"),
            ("POD_IP", "10.1.2.3"),
            ("POD_ORDINAL", "0"),
        ];
        run.environment = environment.map(|(name, value)| (name.into(), value.into())).into();
        let pod: Ran = run.start().unwrap();
        assert_eq!(pod.code, 1, "{}", pod.stderr);
        reveals_nothing(&pod.stderr, value);
        names_templates_and_lines(&pod.stderr);

        fs::write(at("report"), "").unwrap();
        for values in [&["--values=values"][..], &[]] {
            let arguments = [
                "util",
                "bpm",
                "--resolved=properties.yaml",
                "--manifest-name=m",
                "--releases=all-releases",
                "--group=web",
                "--output=output",
                "--report=report",
            ];
            let job = host(folder.path(), arguments.iter().chain(values)).unwrap();
            assert_eq!(job.code, 65, "{}", job.stderr);
            let report = fs::read_to_string(at("report")).unwrap();
            assert!(report.contains("render-template-failed"), "{report}");
            for said in [&job.stderr, &report] {
                reveals_nothing(said, value);
            }
            names_templates_and_lines(&job.stderr);
        }
    }
}

/// `-v deployment_name=concourse` used to redact the word in all output of the host.
#[test]
fn words_given_on_the_command_line_and_our_own_help_are_not_redacted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = manifest()
        .replace("name: demo\nreleases", "name: ((deployment_name))\nreleases")
        .replace("((word))", "((word_of_mine))");
    fs::write(at("manifest.yml"), text).unwrap();
    fs::create_dir_all(at("release/jobs/app/templates")).unwrap();
    let spec = "name: app\ntemplates: {x.erb: config/x}\npackages: []\nproperties: {app.password: {description: x}}\n";
    fs::write(at("release/jobs/app/spec"), spec).unwrap();
    fs::write(at("release/jobs/app/monit"), "").unwrap();
    fs::create_dir_all(at("release/config")).unwrap();
    fs::write(at("release/config/final.yml"), "name: demo\n").unwrap();
    fs::write(
        at("release/jobs/app/templates/x.erb"),
        "<% raise \"#{spec.deployment}: #{p('app.password')}\" %><%= p('nothing') %>",
    )
    .unwrap();
    let convert = [
        "convert",
        "manifest.yml",
        "--release",
        "release",
        "-v",
        "deployment_name=concourse",
    ];
    let ran = host(folder.path(), convert.iter().chain(&["-v", "word_of_mine=property"])).unwrap();
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("(line 1: concourse: property)"), "{}", ran.stderr);
    // Nor does a Secret with the same word make holes in the host's own messages.
    fs::write(at("release/jobs/app/templates/x.erb"), "<%= p('nothing') %>").unwrap();
    fs::write(at("vars.yml"), "word_of_mine: property-of\n").unwrap();
    let ran = host(folder.path(), convert.iter().chain(&["-l", "vars.yml"])).unwrap();
    assert!(
        ran.stderr.contains("Can't find property '[\"nothing\"]'"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("= help: Give the property a value in the manifest"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("<redacted>"), "{}", ran.stderr);
}

#[test]
fn no_process_dumps_its_memory() {
    let mut command = Command::new("sh");
    // As large as the system allows.
    command.args(["-c", "ulimit -Sc $(ulimit -Hc); exec \"$0\" interpolate -"]);
    let mut child = command.arg(binary().unwrap()).stdin(Stdio::piped()).spawn().unwrap();
    let limits = format!("/proc/{}/limits", child.id());
    let began = Instant::now();
    loop {
        let limits = fs::read_to_string(&limits).unwrap();
        let core = limits
            .lines()
            .find(|line| line.starts_with("Max core file size"))
            .unwrap();
        let words: Vec<&str> = core.split_whitespace().skip(4).take(2).collect();
        if words == ["1", "1"] || words == ["0", "0"] {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{core}");
        std::thread::yield_now();
    }
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// Shorter values occur by chance.
const MIN_VALUE_BYTES: usize = 8;

/// Workloads and all other objects but Secrets may be read by more people than Secrets.
#[test]
fn no_object_but_a_secret_holds_the_value_of_a_variable() {
    let (mut objects, mut values, mut found) = (0, 0, Vec::new());
    for case in cases().unwrap() {
        let Some(conversion) = converted(&case) else { continue };
        values += conversion.values.len();
        for object in conversion.objects.iter().filter(|object| object["kind"] != "Secret") {
            objects += 1;
            let text = object.to_string();
            let quoted = |value: &String| Value::from(value.as_str()).to_string();
            let holds = |value: &String| {
                text.contains(quoted(value).trim_matches('"')) || text.contains(&STANDARD.encode(value))
            };
            if conversion.values.iter().any(holds) {
                found.push(format!(
                    "{}: {} {}",
                    case.name, object["kind"], object["metadata"]["name"]
                ));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(
        objects >= 40 && values >= 20,
        "only {objects} objects and {values} values"
    );
}

struct Converted {
    objects: Vec<Value>,
    /// All texts in the values of the variables that the manifest defines.
    values: Vec<String>,
}

/// The result of a golden case that converts a manifest with variables.
fn converted(case: &Case) -> Option<Converted> {
    let arguments = case.arguments().unwrap();
    if !arguments.starts_with("convert\n") || !case.folder.join("expected.yml").exists() {
        return None;
    }
    let scratch = tempfile::tempdir().unwrap();
    case.write_inputs(scratch.path()).unwrap();
    let examples = root().join("docs/examples").display().to_string();
    let arguments = arguments.replace("{examples}", &examples);
    let mut arguments: Vec<&str> = arguments.lines().collect();
    let store = match arguments.iter().position(|one| *one == "--vars-store") {
        Some(at) => arguments[at + 1],
        None => {
            arguments.extend(["--vars-store", "store-of-the-test.yml"]);
            "store-of-the-test.yml"
        }
    };
    let ran = host(scratch.path(), &arguments).unwrap();
    assert_eq!(ran.code, 0, "{}: {}", case.name, ran.stderr);
    let store = fs::read_to_string(scratch.path().join(store)).ok()?;
    let store: Value = serde_yaml::from_str(&store).unwrap();
    let mut values = texts(&store);
    values.retain(|value| value.len() >= MIN_VALUE_BYTES);
    let objects = serde_yaml::Deserializer::from_str(&ran.stdout);
    let objects = objects.map(|one| serde::Deserialize::deserialize(one).unwrap());
    Some(Converted {
        objects: objects.collect(),
        values,
    })
}

/// All texts of a document but the keys.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(map) => map.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}
