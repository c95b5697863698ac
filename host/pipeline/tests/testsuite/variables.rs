//! The flow of interpolation, with the variables stage called natively.

use boson_document::{Tree, json};
use boson_pipeline::schema::SettingsError;
use boson_pipeline::stage::*;
use boson_pipeline::variables::{Check, Generator, Inputs, Interpolation, Options, Sources, Store, interpolate};
use boson_pipeline::{Diagnostic, yaml};
use parking_lot::Mutex;

/// The variables stage without a sandbox; counts calls.
#[derive(Default)]
struct Native(Mutex<usize>);

fn diagnostics_of(diagnostics: Vec<boson_document::Diagnostic>, name: &str) -> Vec<Diagnostic> {
    let named = |one: boson_document::Diagnostic| Diagnostic::from(one).in_document(name);
    diagnostics.into_iter().map(named).collect()
}

/// The reply of a rule to a call about this document, as the host reads it.
fn answer<T: Into<Answer>>(reply: boson_contract::Reply<T>, name: &str) -> Reply<Answer> {
    let (value, diagnostics) = reply.map_err(|all| StageError::Input(diagnostics_of(all, name)))?;
    Ok((value.into(), diagnostics_of(diagnostics, name)))
}

impl Stages for Native {
    fn call(&self, call: Call<'_>) -> Reply<Answer> {
        *self.0.lock() += 1;
        match call {
            Call::Plan { document, rules } => answer(boson_variables::plan(document.tree, rules), document.name),
            Call::Interpolate {
                document,
                values,
                rules,
            } => {
                let values = values.as_object().unwrap();
                answer(
                    boson_variables::interpolate(document.tree.clone(), values, rules),
                    document.name,
                )
            }
            other => panic!("{} is not of this stage", other.function()),
        }
    }

    fn info(&self, _: PluginRef<'_>) -> Option<PluginInfo> {
        None
    }

    fn spent_here(&self) -> u64 {
        0
    }

    fn check_properties(&self, _: &Tree, _: &Tree) -> Result<Vec<SettingsError>, String> {
        Ok(Vec::new())
    }
}

/// Generates values that say how they were generated; records the order.
#[derive(Default)]
struct Maker {
    prepared: Vec<String>,
    made: Vec<String>,
}

impl Generator for Maker {
    fn prepare(&mut self, wanted: &[&Definition]) -> Result<(), Diagnostic> {
        self.prepared.extend(wanted.iter().map(|one| one.name.clone()));
        Ok(())
    }

    fn ignored<'o>(&self, _: &str, options: &'o Tree) -> Vec<&'o str> {
        let names = options.as_object().into_iter().flat_map(|map| map.keys());
        names.map(String::as_str).filter(|name| *name == "useless").collect()
    }

    fn generate(&mut self, definition: &Definition, options: &Tree, signer: Option<&Tree>) -> Result<Tree, Diagnostic> {
        let fail = |why: String| {
            Diagnostic::reported_error("made-up", format!("Generating variable '{}': {why}", definition.name))
        };
        self.made.push(definition.name.clone());
        match (definition.kind.as_deref().unwrap(), options.str("ca"), signer) {
            ("certificate", Some(ca), None) => Err(fail(format!(
                "Loading certificates: Expected to find variable '{ca}' with a certificate"
            ))),
            ("certificate", _, signer) => {
                let signer = signer.map_or("self", |signer| signer.str("certificate").unwrap());
                let certificate = format!("{} {} by {signer}", definition.name, json::to_text(options));
                Ok(Tree::object().with("ca", signer).with("certificate", certificate))
            }
            ("password", _, _) => Ok(Tree::from(format!("{} {}", definition.name, json::to_text(options)))),
            (other, _, _) => Err(fail(format!("Unsupported value type: {other}"))),
        }
    }
}

struct Run {
    result: Result<Interpolation, Vec<String>>,
    reported: Vec<String>,
    made: Vec<String>,
    prepared: Vec<String>,
    store: Store,
    calls: usize,
}

#[derive(Default)]
struct Case<'a> {
    flags: &'a [&'a str],
    store: Option<&'a str>,
    addresses: Option<Addresses>,
    /// What a check of the manifest finds.
    mistake: Option<&'static str>,
    /// Errors that a check of the manifest finds.
    kept: Option<Store>,
}

fn say(diagnostic: &Diagnostic) -> String {
    format!(
        "{}: {}",
        diagnostic.place.pointer.as_deref().unwrap_or("-"),
        diagnostic.message
    )
}

impl Case<'_> {
    fn run(&self, document: &str, options: Options) -> Run {
        let document = yaml::read("m.yml", document).unwrap();
        let table = Sources {
            flags: self.flags.to_vec(),
            ..Sources::default()
        }
        .table()
        .unwrap();
        let read = |text| Store::read(&yaml::read("s.yml", text).unwrap()).unwrap();
        let mut store = match &self.kept {
            Some(store) => store.clone(),
            None => self.store.map(read).unwrap_or_default(),
        };
        let (stages, mut maker) = (Native::default(), Maker::default());
        let generator: Option<&mut dyn Generator> = self.store.map(|_| &mut maker as &mut dyn Generator);
        let addresses = |_: Named<'_>| Ok((self.addresses.clone().unwrap_or_default(), Vec::new()));
        let check = |document: Named<'_>| match self.mistake {
            None => Ok(()),
            Some(mistake) => {
                let error = Diagnostic::reported_error(
                    "links-unresolved",
                    format!("{mistake}: {}", json::to_text(document.tree)),
                );
                Err(StageError::Input(vec![error]))
            }
        };
        let inputs = Inputs {
            table: &table,
            store: &mut store,
            generator,
            addresses: Some(&addresses),
            check: self.mistake.is_some().then_some(&check),
        };
        let reply = interpolate(&stages, Named::new("m.yml", &document.tree), inputs, &options);
        let (result, reported) = match reply {
            Ok((interpolation, reported)) => (Ok(interpolation), reported.iter().map(say).collect()),
            Err(error) => (Err(Vec::from(error).iter().map(say).collect()), Vec::new()),
        };
        let calls = *stages.0.lock();
        Run {
            result,
            reported,
            made: maker.made,
            prepared: maker.prepared,
            store,
            calls,
        }
    }
}

impl Run {
    fn text(&self) -> String {
        json::to_text(&self.result.as_ref().unwrap().document)
    }
    fn errors(&self) -> &[String] {
        self.result.as_ref().unwrap_err()
    }
}

fn bosh() -> Options {
    Options::interpolate(false, false)
}

const SECTIONS: &str = "Getting all variables from variable definitions sections";

#[test]
fn given_values_win_over_stored_and_stored_over_generated() {
    let document = "{a: ((x)), b: ((w)), c: ((z)), variables: [{name: x, type: password}, {name: w, type: password}, \
                    {name: z, type: password, options: {length: 3}}]}";
    let run = Case {
        flags: &["x=1"],
        store: Some("{x: 2, w: 2}"),
        ..Case::default()
    }
    .run(document, bosh());
    assert_eq!(run.text(), r#"{"a":1,"b":2,"c":"z {\"length\":3}","variables":[]}"#);
    assert_eq!((run.made, run.prepared), (vec!["z".to_string()], vec!["z".to_string()]));
    assert!(run.store.changed());
    assert_eq!(
        json::to_text(&run.store.to_tree()),
        r#"{"x":2,"w":2,"z":"z {\"length\":3}"}"#
    );
    assert_eq!(run.calls, 2, "one to plan, one to put in");
}

#[test]
fn without_a_generator_typed_variables_are_missing() {
    let document = "{a: ((p)), variables: [{name: p, type: password}]}";
    let run = Case::default().run(document, bosh());
    assert_eq!(
        run.text(),
        r#"{"a":"((p))","variables":[{"name":"p","type":"password"}]}"#
    );
    assert_eq!(run.result.unwrap().missing[0].name, "p");
    let run = Case::default().run(document, Options::interpolate(true, true));
    assert_eq!(run.errors(), ["/a: Expected to find variables:\n- p"]);
}

#[test]
fn nothing_is_generated_without_a_type_or_twice() {
    let run = Case {
        store: Some("{p: kept}"),
        ..Case::default()
    }
    .run(
        "{a: ((p)), variables: [{name: p, type: password, update_mode: overwrite}, {name: q}]}",
        bosh(),
    );
    assert_eq!(run.text(), r#"{"a":"kept","variables":[{"name":"q"}]}"#);
    assert!(run.made.is_empty() && run.prepared.is_empty() && !run.store.changed());
}

#[test]
fn options_get_their_values_first_wherever_those_are_defined() {
    let document = "{variables: [{name: c, type: certificate, options: {common_name: ((n)).((d.k)), x: [((p))]}}, \
                    {name: p, type: password, options: {length: ((len))}}, {name: n}]}";
    let flags = ["n=7", "d.k=org", "len=9"];
    let run = Case {
        flags: &flags,
        store: Some(""),
        ..Case::default()
    }
    .run(document, bosh());
    assert_eq!(run.made, ["p", "c"]);
    let certificate = run.store.get("c").unwrap().str("certificate").unwrap();
    assert_eq!(
        certificate,
        r#"c {"common_name":"7.org","x":["p {\"length\":9}"]} by self"#
    );
    let variables = run.result.unwrap().variables;
    assert_eq!(
        variables.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(),
        ["c", "p"]
    );
    assert_eq!(json::to_text(&variables[1].options), r#"{"length":9}"#);
}

#[test]
fn a_variable_with_missing_options_is_not_generated() {
    let document = "{a: ((c)), b: ((d)), variables: [{name: c, type: certificate, options: {ca: ((q))}}, \
                    {name: d, type: password, options: {o: ((c.certificate))}}]}";
    let case = Case {
        store: Some(""),
        ..Case::default()
    };
    let run = case.run(document, Options::interpolate(true, false));
    assert_eq!(
        run.errors(),
        ["/variables/0/options/ca: Expected to find variables:\n- q"]
    );
    assert_eq!(run.made, ["d"], "one step only, as with BOSH: c is defined");
    let run = case.run(document, Options::convert());
    assert_eq!(
        run.errors(),
        ["/variables/0/options/ca: Failed to find variable 'q'"],
        "c and d are not reported themselves"
    );
    assert!(run.made.is_empty() && !run.store.changed());
}

#[test]
fn a_ca_comes_before_its_certificates_in_the_list_or_by_itself_in_a_conversion() {
    let leaf_first = "{a: ((leaf.certificate)), b: ((sub.certificate)), c: ((ca.certificate)), variables: [\
        {name: leaf, type: certificate, options: {ca: sub}}, {name: sub, type: certificate, options: {ca: ca}}, \
        {name: ca, type: certificate, options: {is_ca: true}}]}";
    let case = Case {
        store: Some(""),
        ..Case::default()
    };
    let run = case.run(leaf_first, bosh());
    let missing = "Loading certificates: Expected to find variable 'sub' with a certificate";
    assert_eq!(
        run.errors(),
        [format!(
            "/variables/0: {SECTIONS}: Generating variable 'leaf': {missing}"
        )]
    );
    let run = case.run(leaf_first, Options::convert());
    assert_eq!(run.made, ["ca", "sub", "leaf"]);
    let leaf = r#"leaf {"ca":"sub"} by sub {"ca":"ca"} by ca {"is_ca":true} by self"#;
    assert_eq!(run.store.get("leaf").unwrap().str("certificate"), Some(leaf));
    assert_eq!(run.reported, Vec::<String>::new());
    let given = Case {
        flags: &["sub={certificate: given}"],
        store: Some(""),
        ..Case::default()
    }
    .run(leaf_first, bosh());
    assert_eq!(
        given.store.get("leaf").unwrap().str("certificate"),
        Some(r#"leaf {"ca":"sub"} by given"#)
    );
}

#[test]
fn a_failure_keeps_what_was_generated_before() {
    let document = "{variables: [{name: p, type: password}, {name: u, type: nope}, {name: v, type: nope}, {name: q, type: password}]}";
    let case = Case {
        store: Some(""),
        ..Case::default()
    };
    let run = case.run(document, bosh());
    assert_eq!(
        run.errors(),
        [format!(
            "/variables/1: {SECTIONS}: Generating variable 'u': Unsupported value type: nope"
        )]
    );
    assert_eq!(run.store.names().collect::<Vec<_>>(), ["p"]);
    let run = case.run(document, Options::convert());
    assert_eq!(
        run.errors(),
        [
            "/variables/1: Generating variable 'u': Unsupported value type: nope",
            "/variables/2: Generating variable 'v': Unsupported value type: nope"
        ]
    );
    assert_eq!(run.store.names().collect::<Vec<_>>(), ["p", "q"]);
}

#[test]
fn one_failing_ca_is_reported_once() {
    let document = "{variables: [{name: ca, type: certificate, options: {ca: missing-ca}}, {name: a, type: certificate, options: {ca: ca}}, \
                    {name: b, type: certificate, options: {ca: ca}}]}";
    let run = Case {
        store: Some(""),
        ..Case::default()
    }
    .run(document, Options::convert());
    let why = |leaf: &str, ca: &str| {
        format!(
            "Generating variable '{leaf}': Loading certificates: Expected to find variable '{ca}' with a certificate"
        )
    };
    assert_eq!(run.errors()[0], format!("/variables/0: {}", why("ca", "missing-ca")));
}

#[test]
fn circles_are_reported_in_bosh_s_words() {
    let document = "{variables: [{name: x, type: password, options: {a: ((w.k))}}, {name: w, type: password, options: {b: ((x))}}]}";
    let case = Case {
        store: Some(""),
        ..Case::default()
    };
    let circle = "Interpolating variable 'x' definition options: Finding variable 'w.k': \
                  Interpolating variable 'w' definition options: Finding variable 'x': Detected recursion";
    assert_eq!(
        case.run(document, bosh()).errors(),
        [format!("/variables/1: {SECTIONS}: {circle}")]
    );
    assert_eq!(
        case.run(document, Options::convert()).errors(),
        [format!("/variables/1: {circle}")]
    );
    let signers =
        "{variables: [{name: x, type: certificate, options: {ca: w}}, {name: w, type: certificate, options: {ca: x}}]}";
    let converted = case.run(signers, Options::convert());
    let circle = "Generating variable 'x': Loading certificates: Generating variable 'w': Loading certificates: Detected recursion";
    assert_eq!(converted.errors(), [format!("/variables/1: {circle}")]);
}

#[test]
fn long_chains_end_in_an_error() {
    let entry = |n: usize| format!("{{name: v{n}, type: password, options: [((v{}))]}}", n + 1);
    let entries: Vec<_> = (0..500).map(entry).collect();
    let run = Case {
        store: Some(""),
        ..Case::default()
    }
    .run(&format!("{{variables: [{}]}}", entries.join(", ")), bosh());
    assert!(run.errors()[0].ends_with("Expected at most 64 variables whose options refer to each other"));
}

#[test]
fn unsuitable_values_in_options_are_reported_at_their_place() {
    let document = "{variables: [{name: x, type: password, options: {variables: [1, x((f))]}}]}";
    let run = Case {
        flags: &["f=1.5"],
        store: Some(""),
        ..Case::default()
    }
    .run(document, bosh());
    let want = format!(
        "/variables/0/options/variables/1: {SECTIONS}: Interpolating variable 'x' definition options: Invalid type 'float64' for \
         value '<redacted>' and variable 'f'. Supported types for interpolation within a string are integers and strings."
    );
    assert_eq!(run.errors(), [want]);
}

#[test]
fn missing_and_unused_variables_are_reported_together_or_separately() {
    let document = "{a: ((q)), b: ((p.k)), c: ((x))}";
    let case = Case {
        flags: &["x=1", "u=1", "t.a=1", "t.b=2"],
        store: Some("{s: 1, x: 2}"),
        ..Case::default()
    };
    let run = case.run(document, Options::interpolate(true, true));
    assert_eq!(
        run.errors(),
        [
            "/b: Expected to find variables:\n- p\n- q",
            "-: Expected to use variables:\n- s\n- t\n- u"
        ]
    );
    let run = case.run(document, Options::interpolate(false, false));
    assert_eq!(run.text(), r#"{"a":"((q))","b":"((p.k))","c":1}"#);
    let run = case.run(document, Options::convert());
    assert_eq!(
        run.errors(),
        [
            "/b: Failed to find variable 'p'",
            "/a: Failed to find variable 'q'",
            "-: Variable 't' has a value, but nothing refers to it",
            "-: Variable 'u' has a value, but nothing refers to it"
        ]
    );
    let lenient = Options {
        missing: Check::Ignore,
        ..Options::convert()
    };
    assert_eq!(case.run(document, lenient).reported.len(), 2);
}

#[test]
fn definitions_count_as_uses() {
    let document = "{variables: [{name: x}, {name: c, type: certificate, options: {common_name: ((n))}}]}";
    let run = Case {
        flags: &["x=1", "n=2"],
        store: Some(""),
        ..Case::default()
    }
    .run(document, Options::interpolate(true, true));
    assert_eq!(run.text(), r#"{"variables":[]}"#);
}

#[test]
fn consumed_links_become_names_or_a_warning() {
    let document = "{variables: [{name: c, type: certificate, options: {alternative_names: [a]}, consumes: \
                    {alternative_name: {from: x}}}]}";
    let mut case = Case {
        store: Some(""),
        ..Case::default()
    };
    let run = case.run(document, Options::convert());
    assert_eq!(
        run.reported,
        ["/variables/0/consumes: The links that variable 'c' consumes have no effect"]
    );
    let consumed = Consumed {
        alternative_names: vec!["api.ns".into()],
        common_name: None,
    };
    case.addresses = Some(Addresses::from([("c".to_string(), consumed)]));
    let run = case.run(document, Options::convert());
    assert_eq!(run.reported, Vec::<String>::new());
    assert_eq!(
        json::to_text(&run.result.unwrap().variables[0].options),
        r#"{"alternative_names":["a","api.ns"]}"#
    );
}

#[test]
fn a_conversion_puts_in_given_values_as_the_command_line_does() {
    let document = "{a: (( x )), b: ((l.1)), c: ((outer)), d: ((own)), ((x)): 1, variables: [{name: x, type: password}, \
                    {name: own, type: password, options: {o: ((x))}}, {name: inner, type: password}], e: [((x))]}";
    let case = Case {
        flags: &["x=1", "l=[1, two]", "outer=((inner))"],
        store: Some("{x: stored}"),
        ..Case::default()
    };
    let run = case.run(document, Options::convert());
    let want = r#"{"\u00001":1,"a":1,"b":"two","c":"inner null","d":"own {\"o\":1}","e":[1],"variables":[]}"#;
    assert_eq!(run.text(), want);
    assert_eq!(run.reported, Vec::<String>::new());
    let done = run.result.unwrap();
    let variables: Vec<_> = done.variables.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(
        variables,
        ["own", "inner"],
        "a given variable does not belong to the deployment"
    );
    let mut values: Vec<_> = done.values.as_object().unwrap().keys().map(String::as_str).collect();
    values.sort_unstable();
    assert_eq!(
        values,
        ["inner", "l", "outer", "own", "x"],
        "nothing that was used is left out: messages are cleaned of it"
    );
    let errors = case.run("{a: [((x.k))], variables: [{name: x}]}", Options::convert());
    assert_eq!(
        errors.errors(),
        ["/a/0: Finding variable 'x.k': Expected to find a map at path '/k' but found 'int'"]
    );
    let errors = case.run("{variables: [{name: x, type: t}, {name: z}]}", Options::convert());
    assert_eq!(
        errors.errors(),
        ["/variables/1: Type for variable 'z' is missing; 'type' must be specified"]
    );
}

#[test]
fn values_of_others_do_not_reach_the_pipeline() {
    let run = Case {
        flags: &["x=1", "u=2"],
        ..Case::default()
    }
    .run("{a: ((x))}", bosh());
    assert_eq!(json::to_text(&run.result.unwrap().values), r#"{"x":1}"#);
}

const MODES: &str = "{variables: [{name: kept, type: password, update_mode: no-overwrite, options: {length: LENGTH}}, \
     {name: plain, type: password, options: {length: LENGTH}}, \
     {name: fresh, type: password, update_mode: overwrite}, \
     {name: apt, type: password, update_mode: converge, options: {length: LENGTH}}, \
     {name: leaf, type: certificate, update_mode: converge, options: {ca: root, common_name: leaf}}, \
     {name: old, type: certificate, options: {ca: root, common_name: old}}, \
     {name: root, type: certificate, update_mode: converge, options: {is_ca: true, common_name: root-LENGTH}}]FEATURES}";

fn modes(length: u32, features: &str) -> String {
    MODES
        .replace("LENGTH", &length.to_string())
        .replace("FEATURES", features)
}

/// What a second run makes, after one with length 1.
fn made_again(length: u32, features: &str, change: impl Fn(&mut Store)) -> Run {
    let first = Case {
        store: Some(""),
        ..Case::default()
    }
    .run(&modes(1, ""), Options::convert());
    assert!(first.result.is_ok());
    let mut store = first.store;
    change(&mut store);
    let again = Case {
        store: Some(""),
        kept: Some(store),
        ..Case::default()
    };
    again.run(&modes(length, features), Options::convert())
}

#[test]
fn update_modes_decide_which_values_are_replaced() {
    assert_eq!(made_again(1, "", |_| ()).made, ["fresh"]);
    let changed = made_again(2, "", |_| ());
    assert_eq!(
        changed.made,
        ["fresh", "apt", "root", "leaf"],
        "a new CA signs those that converge"
    );
    assert_eq!(
        changed.reported,
        [
            "/variables/2: The value of variable 'fresh' was regenerated: its update mode is overwrite",
            "/variables/3: The value of variable 'apt' was regenerated: its options have changed",
            "/variables/6: The value of variable 'root' was regenerated: its options have changed",
            "/variables/4: The value of variable 'leaf' was regenerated: its CA has changed",
        ]
    );
    let feature = made_again(2, ", features: {converge_variables: true}", |_| ());
    assert_eq!(feature.made, ["plain", "fresh", "apt", "root", "leaf", "old"]);
}

#[test]
fn values_from_elsewhere_never_converge() {
    let by_hand = made_again(2, "", |store| {
        store.put("apt", Tree::from("by hand"));
        store.put("root", Tree::object().with("certificate", "of my own"));
    });
    assert_eq!(by_hand.made, ["fresh", "leaf"], "but what they sign does");
    let case = Case {
        store: Some("{apt: x, root: {certificate: r}, leaf: {certificate: l, ca: other}}"),
        ..Case::default()
    };
    assert_eq!(
        case.run(&modes(1, ""), Options::convert()).made,
        ["kept", "plain", "fresh", "old"]
    );
}

#[test]
fn update_modes_mean_nothing_to_bosh_interpolate() {
    let first = Case {
        store: Some(""),
        ..Case::default()
    };
    let document = modes(1, "")
        .replace("{name: root", "{name: later")
        .replace("ca: root", "is_ca: true");
    let first = first.run(&document, Options::interpolate(false, false));
    assert!(!first.store.recipes.changed());
    let again = Case {
        store: Some(""),
        kept: Some(first.store),
        ..Case::default()
    };
    let document = document.replace("overwrite", "none-such");
    assert_eq!(
        again.run(&document, Options::interpolate(false, false)).made,
        Vec::<String>::new()
    );
}

#[test]
fn an_unknown_update_mode_ends_a_conversion_before_values_are_generated() {
    let case = Case {
        store: Some(""),
        ..Case::default()
    };
    let run = case.run(
        "{variables: [{name: a, type: password, update_mode: sometimes}], x: ((b))}",
        Options::convert(),
    );
    assert_eq!(
        run.result.err().unwrap(),
        [
            "/x: Failed to find variable 'b'",
            "/variables/0/update_mode: Update mode for variable 'a' must be one of: no-overwrite, overwrite, converge"
        ]
    );
    assert_eq!(run.made, Vec::<String>::new());
}

#[test]
fn options_without_effect_are_reported_at_their_place() {
    let case = Case {
        store: Some(""),
        flags: &["b=1"],
        ..Case::default()
    };
    let document = "{variables: [{name: a, type: password, options: {length: 2, useless: 1}}, \
                    {name: b, type: password, options: {useless: 1}}], x: ((b))}";
    let run = case.run(document, Options::convert());
    assert_eq!(
        run.reported,
        ["/variables/0/options/useless: Option 'useless' of variable 'a' has no effect"]
    );
}

#[test]
fn a_mistake_of_the_manifest_is_found_before_values_are_generated() {
    let document = "{a: ((x)), b: ((c.private_key)), k: ((k)), g: ((g)), variables: [{name: x, type: password}, \
                    {name: c, type: certificate}, {name: k, type: rsa}]}";
    let case = Case {
        flags: &["g=7"],
        store: Some("{k: {private_key: p, public_key: q}}"),
        mistake: Some("no provider"),
        ..Case::default()
    };
    let run = case.run(document, Options::convert());
    let [error] = run.errors() else {
        panic!("{:?}", run.errors())
    };
    let checked = error.split_once("no provider: ").unwrap().1;
    let want = r#"{"a":"<x>","b":"<c.private_key>","g":7,"k":{"private_key":"p","public_key":"q"},"#;
    assert!(checked.starts_with(want), "{checked}");
    assert!(run.made.is_empty() && run.prepared.is_empty() && !run.store.changed());

    // If nothing has to be generated, the conversion itself reports the mistake.
    let known = "{x: 1, c: {private_key: p}, k: {private_key: p, public_key: q}}";
    let case = Case {
        store: Some(known),
        ..case
    };
    assert!(case.run(document, Options::convert()).result.is_ok());
}
