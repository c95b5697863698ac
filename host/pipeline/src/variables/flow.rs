//! The flow of interpolation: plan, find or generate values, put them in, check.

use super::checks::{self, ahead, exposed};
use super::definitions::update::{self, UpdateMode};
use super::given;
use super::inputs::Inputs;
use super::options::{Check, Options};
use super::resolver::{self, Resolver};
use super::sent::{as_read, rounding_warnings};
use crate::diagnostic::Diagnostic;
use crate::stage::{
    Addresses, Definition, Interpolated, Named, Reference, Reply, StageError, Stages, Variable, VariableRules,
    VariablesPlan,
};
use crate::variables::codes;
use boson_document::Tree;
use std::collections::{BTreeSet, HashSet};

#[derive(Clone, Debug)]
pub struct Interpolation {
    pub document: Tree,
    /// The variables that the document defines with a type, in its order; variables without a type get their values
    /// from elsewhere. Options have their values, except for missing ones.
    pub variables: Vec<Variable>,
    /// The values of all that the document defines or refers to, by name.
    pub values: Tree,
    pub missing: Vec<Reference>,
}

/// Finds or generates values, and puts them into the document.
///
/// # Errors
/// Errors in definitions, placeholders, options or values. With the director's rules, all variables that cannot be
/// generated are reported, otherwise only the first.
pub fn interpolate(
    stages: &dyn Stages,
    document: Named<'_>,
    mut inputs: Inputs<'_>,
    options: &Options,
) -> Reply<Interpolation> {
    let (given, mut diagnostics) = put_in_given(stages, document, &inputs, options.rules)?;
    let unsent = Named::new(document.name, &given.document);
    // The definitions are for the director, too. Values are put into what is not sent yet, so that it makes no
    // difference whether the command line or the director knows them.
    let read = as_read(given.document.clone(), options.rules);
    let document = Named::new(document.name, &read);
    let (plan, reported) = stages.plan(document, options.rules)?;
    diagnostics.extend(reported);
    let defined = plan.definitions.iter().map(|definition| definition.name.as_str());
    let known: BTreeSet<&str> = defined.chain(inputs.table.names()).collect();
    let (addresses, refused) = addresses(document, &inputs, options, &plan)?;
    if options.missing == Check::Each {
        // Keys take seconds: report values that will be missing anyway before any is generated.
        let undefined = undefined_references(&plan, &inputs);
        let mut errors = checks::missing(&undefined, document.name, options.missing, &known);
        errors.extend(refused);
        if !errors.is_empty() {
            let referred = plan.references.iter().map(|reference| &reference.name);
            diagnostics.extend(errors);
            diagnostics.extend(unused(&inputs, options, given.used.iter().chain(referred)));
            return Err(StageError::Input(diagnostics));
        }
    }
    ahead::check(stages, unsent, &inputs, options, &plan)?;
    let found = find(stages, document, &mut inputs, options, &plan, &addresses)?;
    diagnostics.extend(found.warnings);
    let (mut done, reported) = stages.interpolate(unsent, &found.values, options.rules)?;
    diagnostics.extend(reported);
    // For the others, an error in their options is reported already.
    done.missing
        .retain(|reference| !found.blocked.contains(&reference.name));
    diagnostics.extend(checks::missing(&done.missing, document.name, options.missing, &known));
    diagnostics.extend(unused(&inputs, options, given.used.iter().chain(&done.used)));
    let mut values = found.values;
    for name in &given.used {
        values.set(name, inputs.table.get(name).cloned());
    }
    let interpolation = Interpolation {
        document: as_read(done.document, options.rules),
        variables: found.variables,
        values,
        missing: done.missing,
    };
    crate::stage::fail_on_errors(interpolation, diagnostics)
}

/// The document with the given values; for the bosh command line, they are put in together with the others.
fn put_in_given(
    stages: &dyn Stages,
    document: Named<'_>,
    inputs: &Inputs<'_>,
    rules: VariableRules,
) -> Reply<Interpolated> {
    if rules == VariableRules::Cli {
        return Ok((given::unchanged(document), Vec::new()));
    }
    let exposed = exposed::check(document);
    if !exposed.is_empty() {
        return Err(StageError::Input(exposed));
    }
    let (mut given, mut diagnostics) = given::put_in(stages, document, inputs.table)?;
    diagnostics.extend(rounding_warnings(&mut given.document, document.name));
    Ok((given, diagnostics))
}

/// Diagnostics about values of which the names are not among these.
fn unused<'n>(inputs: &Inputs<'_>, options: &Options, used: impl Iterator<Item = &'n String>) -> Vec<Diagnostic> {
    let used = used.map(String::as_str).collect();
    checks::unused(inputs.table, inputs.store, &used, options.unused)
}

/// The addresses of the links that variables consume, and the errors that end the flow: unknown links and update modes.
fn addresses(
    document: Named<'_>,
    inputs: &Inputs<'_>,
    options: &Options,
    plan: &VariablesPlan,
) -> Result<(Addresses, Vec<Diagnostic>), StageError> {
    let mut refused = if options.update_modes {
        update::unknown(&plan.definitions, document.name)
    } else {
        Vec::new()
    };
    let asked = inputs.addresses.filter(|_| plan.definitions.iter().any(consumes));
    let resolved = match asked.map(|ask| ask(document)) {
        None => Addresses::new(),
        Some(Ok((resolved, reported))) => {
            refused.extend(reported);
            resolved
        }
        Some(Err(StageError::Input(errors))) => {
            refused.extend(errors);
            Addresses::new()
        }
        Some(Err(error @ StageError::Plugin(_))) => return Err(error),
    };
    Ok((resolved, refused))
}

fn consumes(definition: &Definition) -> bool {
    definition.consumes.as_object().is_some_and(|map| !map.is_empty())
}

/// References to variables that will have no value.
fn undefined_references(plan: &VariablesPlan, inputs: &Inputs<'_>) -> Vec<Reference> {
    let typed = plan.definitions.iter().filter(|definition| definition.kind.is_some());
    let defined: HashSet<&str> = typed.map(|definition| definition.name.as_str()).collect();
    let undefined = plan
        .references
        .iter()
        .filter(|one| !defined.contains(one.name.as_str()) && inputs.value(&one.name).is_none());
    undefined.cloned().collect()
}

/// The values that are known before they are put in.
struct Found {
    values: Tree,
    variables: Vec<Variable>,
    /// Names without a value because of their options.
    blocked: HashSet<String>,
    warnings: Vec<Diagnostic>,
}

/// Finds or generates the value of each definition.
fn find(
    stages: &dyn Stages,
    document: Named<'_>,
    inputs: &mut Inputs<'_>,
    options: &Options,
    plan: &VariablesPlan,
    addresses: &Addresses,
) -> Result<Found, StageError> {
    // The bosh command line stores the values that it generates before it meets the first error.
    if options.rules == VariableRules::Director {
        let refused = ahead::option_errors(document.name, inputs, plan);
        if !refused.is_empty() {
            return Err(StageError::Input(refused));
        }
    }
    if let Some(generator) = &mut inputs.generator {
        let wanted = resolver::to_generate(&plan.definitions, inputs.table, inputs.store);
        generator
            .prepare(&wanted)
            .map_err(|error| StageError::Input(vec![error]))?;
    }
    let mut warnings = unknown_address_warnings(plan, addresses, document.name, options.rules);
    let mode = options.update_modes.then(|| UpdateMode::default_of(document.tree));
    let mut resolver = Resolver::new(stages, document.name, plan, inputs, options, addresses, mode);
    resolve_all(&mut resolver, plan, options.rules)?;
    warnings.append(&mut resolver.warnings);
    let is_director = options.rules == VariableRules::Director;
    let given = |definition: &&Definition| is_director && resolver.table.get(&definition.name).is_some();
    let own = plan.definitions.iter().filter(|definition| !given(definition));
    let done = |definition: &Definition| resolver.options.get(definition.name.as_str());
    let variables = own.filter_map(|one| variable(one, done(one).unwrap_or(&one.options).clone()));
    let variables = variables.collect();
    let blocked = resolver.blocked().map(str::to_string).collect();
    Ok(Found {
        values: values(&resolver, plan),
        variables,
        blocked,
        warnings,
    })
}

/// Typed definitions in their order.
fn resolve_all(resolver: &mut Resolver<'_>, plan: &VariablesPlan, rules: VariableRules) -> Result<(), StageError> {
    let mut errors = Vec::new();
    for definition in plan.definitions.iter().filter(|definition| definition.kind.is_some()) {
        match (resolver.resolve(&definition.name), rules) {
            (Ok(_), _) => {}
            (Err(error), VariableRules::Cli) => {
                let context = "Getting all variables from variable definitions sections";
                return Err(resolver::with_context(error, context));
            }
            (Err(StageError::Input(more)), VariableRules::Director) => errors.extend(more),
            (Err(error @ StageError::Plugin(_)), VariableRules::Director) => return Err(error),
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(StageError::Input(errors))
    }
}

/// Values of everything that the document defines or refers to. Others would only slow down the call.
fn values(resolver: &Resolver<'_>, plan: &VariablesPlan) -> Tree {
    let defined = plan.definitions.iter().map(|definition| &definition.name);
    let names = defined.chain(plan.references.iter().map(|reference| &reference.name));
    names
        .filter_map(|name| Some((name.clone(), resolver.value(name)?.clone())))
        .collect()
}

/// A variable with these options; `None` if it has no type.
pub fn variable(definition: &Definition, options: Tree) -> Option<Variable> {
    Some(Variable {
        name: definition.name.clone(),
        kind: definition.kind.clone()?,
        options,
        update_mode: definition.update_mode.clone(),
        pointer: definition.pointer.clone(),
    })
}

/// Variables that consume links whose address is unknown. `bosh interpolate` ignores all links.
fn unknown_address_warnings(
    plan: &VariablesPlan,
    addresses: &Addresses,
    document: &str,
    rules: VariableRules,
) -> Vec<Diagnostic> {
    let consuming = plan.definitions.iter().filter(|one| consumes(one));
    let unknown = consuming.filter(|one| rules == VariableRules::Director && !addresses.contains_key(&one.name));
    let warn = |one: &Definition| {
        let message = format!("The links that variable '{}' consumes have no effect", one.name);
        let warning = Diagnostic::warning(codes::VARIABLES_UNUSED_LINKS, message).in_document(document);
        warning
            .at(format!("{}/consumes", one.pointer))
            .help("write the names into the options")
    };
    unknown.map(warn).collect()
}
