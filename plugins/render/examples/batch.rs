//! Renders templates from JSON lines, each in a fresh instance: `{"id","template","name","context"}` on standard input,
//! `{"id","output"}` or `{"id","error":{"message"}}` on standard output. For comparing with recorded answers.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "standard output is the protocol of this example"
)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a tool for the developer's desk")]

#[path = "../tests/instance/mod.rs"]
mod instance;

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

fn main() {
    let start = Instant::now();
    let renderer = instance::Renderer::open().unwrap();
    let opened = start.elapsed();
    let mut calls: Vec<(Duration, Duration, u64)> = Vec::new();
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let query: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let text = |name: &str| query[name].as_str().unwrap_or("template").to_owned();
        let context = query["context"].to_string();
        let start = Instant::now();
        let mut answer = serde_json::json!({ "id": query["id"] });
        match renderer.render(&[(&text("name"), &text("template"))], &context) {
            Ok(reply) => {
                calls.push((start.elapsed(), reply.instantiation, reply.fuel));
                match reply.files.first() {
                    Some((_, content)) => answer["output"] = content.as_str().into(),
                    None => {
                        let worst = reply
                            .diagnostics
                            .iter()
                            .find(|diagnostic| diagnostic.severity == "error")
                            .unwrap();
                        answer["error"] = serde_json::json!({
                            "message": worst.message, "line": worst.line, "class": worst.class, "code": worst.code,
                        });
                    }
                }
            }
            Err(error) => answer["error"] = serde_json::json!({ "message": format!("trap: {error:?}") }),
        }
        writeln!(output, "{answer}").unwrap();
    }
    report(opened, calls);
}

fn report(opened: Duration, calls: Vec<(Duration, Duration, u64)>) {
    let column = |pick: fn(&(Duration, Duration, u64)) -> u64| {
        let mut values: Vec<u64> = calls.iter().map(pick).collect();
        values.sort_unstable();
        move |share: usize| {
            values
                .get((values.len() * share / 100).min(values.len().saturating_sub(1)))
                .copied()
                .unwrap_or(0)
        }
    };
    let call = column(|call| u64::try_from(call.0.as_micros()).unwrap_or(u64::MAX));
    let instantiation = column(|call| u64::try_from(call.1.as_micros()).unwrap_or(u64::MAX));
    let fuel = column(|call| call.2);
    eprintln!("{} calls, opened in {opened:?}", calls.len());
    for (what, value) in [
        ("call, us", &call as &dyn Fn(usize) -> u64),
        ("instantiation, us", &instantiation),
        ("fuel", &fuel),
    ] {
        eprintln!(
            "{what:18} median {} p95 {} p99 {} max {}",
            value(50),
            value(95),
            value(99),
            value(100)
        );
    }
}
