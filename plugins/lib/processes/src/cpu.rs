//! Quantities of CPUs, as Kubernetes has them.

/// Thousandths of a CPU, rounded down; `None` for a quantity of another shape.
pub fn millis(quantity: &str) -> Option<u64> {
    if let Some(millis) = quantity.strip_suffix('m') {
        return millis.parse().ok();
    }
    let cpus: f64 = quantity.parse().ok()?;
    (0.0..1e12).contains(&cpus).then_some((cpus * 1000.0) as u64)
}

/// Is it a quantity of CPUs: a number, or thousandths?
pub fn is_cpu(quantity: &str) -> bool {
    quantity.bytes().next().is_some_and(|b| b.is_ascii_digit()) && millis(quantity).is_some()
}
