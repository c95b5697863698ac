//! Finds the closest known name for a misspelt one.

/// Longest name, in bytes, and greatest number of names that are compared.
const MAX_NAME_BYTES: usize = 100;
const MAX_NAMES: usize = 1000;

/// How the help text of a misspelt name begins.
pub const SUGGESTION: &str = "did you mean '";

/// The one of `names` that is closest to `typed`, if it is close: at most one typing error for each three characters,
/// and three in total. A name of two characters may lack a third one, because any other change could be meant as it is:
/// `z9` is not `z1`.
pub fn closest<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    if typed.len() > MAX_NAME_BYTES {
        return None;
    }
    let (length, shortest) = match typed.chars().count() {
        2 => (3, 3),
        length => (length, 0),
    };
    let most = (length / 3).min(3);
    let fits = |name: &&str| name.len() <= MAX_NAME_BYTES && name.chars().count() >= shortest;
    let short = names.into_iter().filter(fits).take(MAX_NAMES);
    let measured = short.map(|name| (strsim::osa_distance(typed, name), name));
    let near = measured.filter(|(distance, _)| (1..=most).contains(distance));
    near.min().map(|(_, name)| name)
}

/// Help text that asks whether a name is meant, followed by other help.
pub fn did_you_mean(name: &str, help: &str) -> String {
    let mut letters = help.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    let question = format!("{SUGGESTION}{name}'?");
    match first {
        Some(first) => format!("{question} {first}{}", letters.as_str()),
        None => question,
    }
}

#[cfg(test)]
mod tests {
    use super::{closest, did_you_mean};

    #[test]
    fn only_a_name_with_few_typing_errors_is_suggested() {
        let names = ["broker", "gateway", "job", "nats-tls", "z1"];
        for (typed, wanted) in [
            ("brokr", Some("broker")),
            ("borker", Some("broker")),
            ("gatway", Some("gateway")),
            ("jbo", Some("job")),
            ("nats_tls", Some("nats-tls")),
            ("broker", None),
            ("web", None),
            ("jb", Some("job")),
            ("z9", None),
            ("", None),
        ] {
            assert_eq!(closest(typed, names), wanted, "{typed}");
        }
        assert_eq!(
            did_you_mean("job", "check the name"),
            "did you mean 'job'? Check the name"
        );
        assert_eq!(did_you_mean("job", ""), "did you mean 'job'?");
        let long = "a".repeat(200);
        assert_eq!(closest(&long, [&long[1..]]), None);
    }
}
