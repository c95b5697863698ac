//! The log, on standard error: lines for people, or JSON objects for collectors.
//!
//! Of libraries, only warnings are logged: Secrets pass through them, and they may log values.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value};
use std::fmt;
use std::io::IsTerminal;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormattedFields, layer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::{LookupSpan, Scope};
use tracing_subscriber::util::SubscriberInitExt;

/// Prefixes of our own crates' names, with this program's.
const OWN_CRATES: [&str; 2] = ["boson", "host"];
/// Libraries that also return all their errors to us: we log them once, with their context.
const LIBRARIES_THAT_RETURN_ERRORS: [&str; 2] = ["kube_client", "kube_runtime"];

/// Options about the log, which all commands have.
#[derive(Args, Debug)]
pub struct LogArguments {
    /// Log more to standard error; twice: every call of a plugin
    #[arg(long, short = 'V', action = clap::ArgAction::Count, global = true, display_order = 900)]
    verbose: u8,
    /// Show log messages of this level and above [default: info for the operator, warn for other commands]
    #[arg(
        long,
        value_parser = levels(),
        value_name = "LEVEL",
        env = "BOSON_LOG",
        global = true,
        help_heading = "Log"
    )]
    log: Option<LevelFilter>,
    /// Format of log messages
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        env = "BOSON_LOG_FORMAT",
        default_value_t,
        global = true,
        help_heading = "Log"
    )]
    log_format: Format,
}

/// Format of log messages.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// One line of text per message
    #[default]
    Text,
    /// One JSON object per message
    Json,
}

/// An event as one JSON object: time, level, and the fields of the event and of its spans.
struct Lines;

/// Puts the fields of an event into an object.
struct Fields<'o>(&'o mut Map<String, Value>);

/// How much a message weighs, in the words of the option.
fn levels() -> impl TypedValueParser<Value = LevelFilter> {
    let names = PossibleValuesParser::new(["error", "warn", "info", "debug", "trace"]);
    names.try_map(|name| name.parse::<LevelFilter>())
}

/// Starts logging. `service`: whether this process runs forever, and its log is its only output.
pub fn begin(arguments: &LogArguments, service: bool) {
    let targets = targets(level(arguments, service));
    let registry = tracing_subscriber::registry().with(targets);
    match arguments.log_format {
        Format::Text => registry
            .with(
                layer()
                    .with_writer(std::io::stderr)
                    // A log file is read by programs, too.
                    .with_ansi(std::io::stderr().is_terminal())
                    .without_time()
                    .with_target(false),
            )
            .init(),
        Format::Json => registry
            .with(
                layer()
                    .fmt_fields(JsonFields::new())
                    .event_format(Lines)
                    .with_writer(std::io::stderr),
            )
            .init(),
    }
}

/// The enabled targets. Libraries' logs of errors that they return are shown at debug level only.
fn targets(level: LevelFilter) -> Targets {
    let mut targets = Targets::new().with_default(level.min(LevelFilter::WARN));
    for name in OWN_CRATES {
        targets = targets.with_target(name, level);
    }
    if level < LevelFilter::DEBUG {
        for name in LIBRARIES_THAT_RETURN_ERRORS {
            targets = targets.with_target(name, LevelFilter::OFF);
        }
    }
    targets
}

fn level(arguments: &LogArguments, service: bool) -> LevelFilter {
    let usual = if service { LevelFilter::INFO } else { LevelFilter::WARN };
    let asked = arguments.log.unwrap_or(usual);
    let verbose = match arguments.verbose {
        0 => LevelFilter::OFF,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    asked.max(verbose)
}

// === impl Lines ===

impl<S> FormatEvent<S, JsonFields> for Lines
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let (mut line, mut now) = (Map::new(), String::new());
        SystemTime.format_time(&mut Writer::new(&mut now))?;
        let about = event.metadata();
        line.insert("timestamp".into(), now.into());
        line.insert("level".into(), about.level().as_str().into());
        line.insert("target".into(), about.target().into());
        for span in context.event_scope().into_iter().flat_map(Scope::from_root) {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<JsonFields>>();
            if let Some(Ok(fields)) = fields.map(|fields| serde_json::from_str::<Map<String, Value>>(fields)) {
                line.extend(fields);
            }
        }
        event.record(&mut Fields(&mut line));
        writeln!(writer, "{}", Value::Object(line))
    }
}

// === impl Fields ===

impl Visit for Fields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().into(), format!("{value:?}").into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level as Weight;

    #[test]
    fn what_libraries_return_to_us_is_not_logged_by_them_too() {
        let of_kube = "kube_client::client::builder";
        assert!(!targets(LevelFilter::INFO).would_enable(of_kube, &Weight::ERROR));
        assert!(targets(LevelFilter::DEBUG).would_enable(of_kube, &Weight::ERROR));
        assert!(targets(LevelFilter::INFO).would_enable("hyper", &Weight::WARN));
        assert!(targets(LevelFilter::INFO).would_enable("boson_cluster::reconcile::running", &Weight::INFO));
    }
}
