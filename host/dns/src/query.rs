//! Names below BOSH's root: `<instance or query>.<group>.<network>.<deployment>.<root>`, or `<instance or
//! query>.q-g<number>.<root>`.

/// A name that BOSH's server answers with FORMERR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryError;

/// Which of the instances, by their health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// The running ones; where none runs, all.
    #[default]
    Smart,
    /// `s1`
    Failing,
    /// `s3`
    Running,
    /// `s4`
    All,
}

/// What the first label asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum First<'n> {
    Id(&'n str),
    Criteria(Criteria<'n>),
}

/// Pairs of a query, by letter: the same letter again is an alternative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Criteria<'n> {
    pub azs: Vec<&'n str>,
    pub indexes: Vec<&'n str>,
    pub numbers: Vec<&'n str>,
    pub networks: Vec<&'n str>,
    pub health: Health,
}

/// The part of a name that identifies groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Below<'n> {
    /// Labels of group, network and deployment; each may have a `*` at one end.
    Long(&'n str, &'n str, &'n str),
    /// A short name with a number of a group.
    Group(&'n str),
    Anywhere,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<'n> {
    pub first: First<'n>,
    pub below: Below<'n>,
}

/// Reads the labels before the root, in lower case.
///
/// # Errors
/// The name has neither of the two forms.
pub fn parse(before_root: &str) -> Result<Query<'_>, QueryError> {
    let mut labels = before_root.split('.');
    let first = labels.next().filter(|label| !label.is_empty()).ok_or(QueryError)?;
    let below = match (labels.next(), labels.next(), labels.next(), labels.next()) {
        (Some(group), Some(network), Some(deployment), None) => Below::Long(group, network, deployment),
        (Some(short), None, ..) => match short.strip_prefix("q-g").filter(|number| is_number(number)) {
            Some(number) => Below::Group(number),
            None => Below::Anywhere,
        },
        _ => return Err(QueryError),
    };
    let first = match first.strip_prefix("q-") {
        Some(pairs) => First::Criteria(criteria(pairs)?),
        None => First::Id(first),
    };
    Ok(Query { first, below })
}

/// Pairs of a letter and digits, wherever they are; other letters are skipped.
fn criteria(text: &str) -> Result<Criteria<'_>, QueryError> {
    let (bytes, mut found, mut at, mut any) = (text.as_bytes(), Criteria::default(), 0, false);
    let mut health = None;
    while at < bytes.len() {
        let start = at + 1;
        let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = text.get(start..start + digits).unwrap_or_default();
        let letter = bytes[at];
        if digits == 0 || !b"aismny".contains(&letter) {
            at = start;
            continue;
        }
        any = true;
        match letter {
            b'a' => found.azs.push(number),
            b'i' => found.indexes.push(number),
            b'm' => found.numbers.push(number),
            b'n' => found.networks.push(number),
            b's' => {
                health.get_or_insert(match number {
                    "1" => Health::Failing,
                    "3" => Health::Running,
                    "4" => Health::All,
                    _ => Health::Smart,
                });
            }
            // The time to wait for the first health check: here the health is always known.
            _ => {}
        }
        at = start + digits;
    }
    found.health = health.unwrap_or_default();
    if any { Ok(found) } else { Err(QueryError) }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pairs_are_found_anywhere_and_the_first_health_counts() {
        let Ok(Query {
            first: First::Criteria(found),
            ..
        }) = parse("q-xx7a1a22n3s1y0s4i0m9z.q-g20")
        else {
            panic!("no criteria")
        };
        let wanted = Criteria {
            azs: vec!["1", "22"],
            indexes: vec!["0"],
            numbers: vec!["9"],
            networks: vec!["3"],
            health: Health::Failing,
        };
        assert_eq!(found, wanted);
    }

    #[test]
    fn other_numbers_of_labels_are_malformed() {
        for bad in [
            "",
            "x",
            "q-s0",
            "q-zz.g.n.d",
            "a.b.c",
            "a.b.c.d.e",
            ".g.n.d",
            "q-.a",
            "q-a.b",
        ] {
            assert_eq!(parse(bad), Err(QueryError), "{bad}");
        }
        assert_eq!(parse("x.y").unwrap().below, Below::Anywhere);
        assert_eq!(parse("x.q-g7").unwrap().below, Below::Group("7"));
        assert_eq!(parse("x.q-gx").unwrap().below, Below::Anywhere);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_malformed(text in "\\PC{0,80}") {
            let _ = parse(&text);
            let _ = parse(&format!("q-{text}.g.n.d"));
        }
    }
}
