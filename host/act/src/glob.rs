//! Filters of file names, as `bosh logs --only` has them.

/// Whether a path matches a pattern: `*` is any text within a part, `**` any parts, `?` one character.
pub fn matches(pattern: &str, path: &str) -> bool {
    let parts = |text: &str| text.split('/').map(String::from).collect::<Vec<_>>();
    parts_match(&parts(pattern), &parts(path))
}

fn parts_match(pattern: &[String], path: &[String]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "**" => {
            parts_match(rest, path) || path.split_first().is_some_and(|(_, path)| parts_match(pattern, path))
        }
        (Some((first, rest)), Some((part, path))) => {
            let characters = |text: &str| text.chars().collect::<Vec<char>>();
            part_matches(&characters(first), &characters(part)) && parts_match(rest, path)
        }
        _ => false,
    }
}

/// Goes back to the last `*` only, so that no pattern takes long.
fn part_matches(pattern: &[char], text: &[char]) -> bool {
    let (mut at, mut read) = (0, 0);
    // Where the last `*` is, and how much of the text it has.
    let mut star = None;
    while read < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(c) if *c == '?' || text.get(read) == Some(c) => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((place, taken)) = star else { return false };
                star = Some((place, taken + 1));
                at = place + 1;
                read = taken + 1;
            }
        }
    }
    pattern.iter().skip(at).all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_bosh() {
        for (pattern, path, wanted) in [
            ("nats/*.log", "nats/nats.stdout.log", true),
            ("nats/*.log", "nats/sub/a.log", false),
            ("*/*.stderr.log", "nats/nats.stderr.log", true),
            ("*.log", "nats/nats.log", false),
            ("**/*.log", "a.log", true),
            ("**/*.log", "a/b/c.log", true),
            ("**/*", "a/b/c", true),
            ("a/**/d", "a/d", true),
            ("a/**/d", "a/b/c/d", true),
            ("a/**/d", "b/d", false),
            ("a?c/*", "abc/x", true),
            ("a?c/*", "ac/x", false),
            ("*a*b*c", "xxaxxbxxbxc", true),
            ("*a*b*c", "xxaxxbxxbx", false),
            ("nats", "nats", true),
            ("", "nats", false),
        ] {
            assert_eq!(matches(pattern, path), wanted, "{pattern} {path}");
        }
    }
}
