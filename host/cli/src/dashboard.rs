//! `deploy/dashboards/dashboard.yaml` is generated from the descriptions of the metrics. `BLESS=1` rewrites it.

use crate::generated;
use boson_cluster::metrics::{Description, Metrics};
use serde_json::{Value, json};

const FILE: &str = "../../deploy/dashboards/dashboard.yaml";

const HEAD: &str = "\
# A Grafana dashboard with a panel for each metric of the operator. Generated from the program: `BLESS=1 cargo test --release --workspace --locked --bin host`.
apiVersion: v1
kind: ConfigMap
metadata:
  name: boson-dashboard
  namespace: boson-system
  labels:
    app.kubernetes.io/part-of: boson
    grafana_dashboard: \"1\"
data:
  boson.json: |
";

/// What a scrape adds to each series. One leads, so the sum of all pods is that of the operator.
const SCRAPED: &str = "instance, pod, container, endpoint, service, namespace, job";
/// The series of the operator: other programs have metrics `process_*`, too.
const OURS: &str = "{job=~\"$job\"}";
const PANEL_WIDTH: usize = 12;
const PANEL_HEIGHT: usize = 8;
/// All columns of a dashboard.
const DASHBOARD_WIDTH: usize = 24;

/// A query and the name of its line; empty: the labels of the series.
struct Query {
    expression: String,
    legend: &'static str,
}

fn query(expression: String) -> Query {
    Query { expression, legend: "" }
}

fn queries(metric: &Description) -> Vec<Query> {
    let name = &metric.name;
    let rate = |name: &str| format!("sum without ({SCRAPED}) (rate({name}{OURS}[$__rate_interval]))");
    let quantile = |share: &str, legend| Query {
        expression: format!("histogram_quantile({share}, {})", rate(&format!("{name}_bucket"))),
        legend,
    };
    match metric.kind {
        "histogram" => vec![quantile("0.5", "median"), quantile("0.95", "95 %")],
        "counter" if is_of_process(name) => vec![query(format!("rate({name}{OURS}[$__rate_interval])"))],
        "counter" => vec![query(rate(name))],
        _ if name.ends_with("_start_time_seconds") => vec![query(format!("time() - {name}{OURS}"))],
        _ if name.ends_with("_timestamp_seconds") => vec![query(format!("min({name}{OURS}) - time()"))],
        _ if is_of_process(name) => vec![query(format!("{name}{OURS}"))],
        _ => vec![query(format!("max without ({SCRAPED}) ({name}{OURS})"))],
    }
}

/// Each pod has one.
fn is_of_process(name: &str) -> bool {
    name.starts_with("process_")
}

fn unit(metric: &Description) -> &'static str {
    let name = metric.name.as_str();
    match metric.kind {
        "counter" if name.contains("_seconds_") => "percentunit",
        "counter" => "ops",
        _ if name.ends_with("_bytes") => "bytes",
        _ if name.ends_with("_seconds") => "s",
        _ => "short",
    }
}

fn panel(at: usize, metric: &Description) -> Value {
    let source = json!({"type": "prometheus", "uid": "${datasource}"});
    let target = |(number, query): (usize, Query)| {
        let legend = if query.legend.is_empty() {
            "__auto"
        } else {
            query.legend
        };
        let id = char::from(b'A' + u8::try_from(number).unwrap());
        json!({"datasource": source, "expr": query.expression, "legendFormat": legend, "refId": id.to_string()})
    };
    let per_row = DASHBOARD_WIDTH / PANEL_WIDTH;
    let title = metric.meaning.split([',', ';']).next().unwrap_or_default();
    json!({
        "id": at + 1,
        "type": "timeseries",
        "title": title,
        "description": format!("{}: {}", metric.name, metric.meaning),
        "datasource": source,
        "gridPos": {
            "x": at % per_row * PANEL_WIDTH, "y": at / per_row * PANEL_HEIGHT, "w": PANEL_WIDTH, "h": PANEL_HEIGHT
        },
        "fieldConfig": {"defaults": {"unit": unit(metric), "min": 0}, "overrides": []},
        "targets": queries(metric).into_iter().enumerate().map(target).collect::<Vec<_>>(),
    })
}

fn dashboard(metrics: &[Description]) -> Value {
    let shown = metrics.iter().filter(|metric| !metric.name.ends_with("_info"));
    let source = json!({"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"});
    let job = json!({
        "name": "job", "label": "Job", "type": "query", "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": "label_values(boson_build_info, job)", "includeAll": true, "multi": true, "refresh": 2,
        "current": {"text": "All", "value": "$__all"},
    });
    json!({
        "uid": "boson-operator",
        "title": "Boson operator",
        "tags": ["boson"],
        "schemaVersion": 39,
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [source, job]},
        "panels": shown.enumerate().map(|(at, metric)| panel(at, metric)).collect::<Vec<_>>(),
    })
}

fn file() -> String {
    let dashboard = serde_json::to_string_pretty(&dashboard(Metrics::default().descriptions())).unwrap();
    let lines = dashboard.lines().map(|line| format!("    {line}\n"));
    lines.fold(HEAD.to_string(), |file, line| file + &line)
}

#[test]
fn the_dashboard_is_current() {
    generated::check(FILE, &file());
}

/// The names of metrics in a query: words that are neither functions nor labels.
fn names(expression: &str) -> Vec<&str> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words
        .filter(|word| word.starts_with("boson_") || is_of_process(word))
        .collect()
}

#[test]
fn each_panel_queries_a_metric_that_exists() {
    let metrics = Metrics::default();
    let series: Vec<String> = metrics
        .descriptions()
        .iter()
        .map(|metric| match metric.kind {
            "histogram" => format!("{}_bucket", metric.name),
            _ => metric.name.clone(),
        })
        .collect();
    let dashboard = dashboard(metrics.descriptions());
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() + 1 >= series.len(), "a metric has no panel");
    for target in panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap()) {
        let expression = target["expr"].as_str().unwrap();
        let names = names(expression);
        assert!(!names.is_empty(), "{expression}");
        for name in names {
            assert!(series.iter().any(|one| one == name), "{name} in {expression}");
        }
    }
    // Helm would read it as a template.
    assert!(!file().contains("{{"));
}
