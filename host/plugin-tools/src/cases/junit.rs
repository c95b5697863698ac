//! Reports of tests in the format of JUnit, which CI systems show.

use super::{Outcome, Tested};

/// The report of the tests of a plugin.
pub fn report(plugin: &str, tested: &[Tested]) -> String {
    let seconds = |one: &Tested| one.measures.elapsed.as_secs_f64();
    let failed = tested
        .iter()
        .filter(|one| matches!(one.outcome, Outcome::Failed(_)))
        .count();
    let (count, total): (usize, f64) = (tested.len(), tested.iter().map(seconds).sum());
    let plugin = escaped(plugin);
    let cases: String = tested
        .iter()
        .map(|one| {
            let (name, seconds) = (escaped(&one.name), seconds(one));
            let begin = format!("  <testcase classname=\"{plugin}\" name=\"{name}\" time=\"{seconds:.6}\"");
            match &one.outcome {
                Outcome::Failed(lines) => {
                    let first = escaped(lines.first().and_then(|text| text.lines().next()).unwrap_or_default());
                    let lines = escaped(&lines.join("\n"));
                    format!("{begin}>\n    <failure message=\"{first}\">{lines}</failure>\n  </testcase>\n")
                }
                Outcome::Passed | Outcome::Updated => format!("{begin}/>\n"),
            }
        })
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{plugin}\" tests=\"{count}\" failures=\"{failed}\" time=\"{total:.6}\">\n{cases}</testsuite>\n"
    )
}

/// Text of XML, without the control characters that XML cannot have.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(letter),
            letter if letter.is_control() || letter > '\u{fffd}' && letter < '\u{10000}' => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_sandbox::Measures;

    #[test]
    fn failures_are_counted_and_texts_escaped() {
        let tested = [
            ("a", Outcome::Passed),
            ("b<c>", Outcome::Failed(vec!["/x: expected \"1\" & \u{1b}".into()])),
        ];
        let tested = tested.map(|(name, outcome)| Tested {
            name: name.into(),
            measures: Measures::default(),
            outcome,
        });
        let wanted = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuite name=\"p\" tests=\"2\" failures=\"1\" time=\"0.000000\">
  <testcase classname=\"p\" name=\"a\" time=\"0.000000\"/>
  <testcase classname=\"p\" name=\"b&lt;c&gt;\" time=\"0.000000\">
    <failure message=\"/x: expected &quot;1&quot; &amp; \u{fffd}\">/x: expected &quot;1&quot; &amp; \u{fffd}</failure>
  </testcase>
</testsuite>
";
        assert_eq!(report("p", &tested), wanted);
    }
}
