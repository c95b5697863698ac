//! Order of release versions: BOSH's semi-semantic versions, which include semantic versions and plain numbers.

use std::cmp::Ordering;

/// Compares `[release][-prerelease][+postrelease]`: two numbers by value, a number before a word, a prerelease before
/// its release, a postrelease after it. Missing parts of the release count as 0.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (a, b) = (parts(a), parts(b));
    segments(a.release, b.release, true)
        .then_with(|| match (a.pre, b.pre) {
            (Some(a), Some(b)) => segments(a, b, false),
            // A version without a prerelease comes after one with a prerelease.
            (a, b) => b.is_some().cmp(&a.is_some()),
        })
        .then_with(|| match (a.post, b.post) {
            (Some(a), Some(b)) => segments(a, b, false),
            (a, b) => a.is_some().cmp(&b.is_some()),
        })
}

pub fn newest<'v>(versions: impl IntoIterator<Item = &'v str>) -> Option<&'v str> {
    versions.into_iter().max_by(|a, b| compare(a, b))
}

struct Parts<'v> {
    release: &'v str,
    pre: Option<&'v str>,
    post: Option<&'v str>,
}

fn parts(version: &str) -> Parts<'_> {
    let (rest, post) = split_off(version, '+');
    let (release, pre) = split_off(rest, '-');
    Parts { release, pre, post }
}

fn split_off(text: &str, sign: char) -> (&str, Option<&str>) {
    text.split_once(sign)
        .map_or((text, None), |(before, after)| (before, Some(after)))
}

fn segments(a: &str, b: &str, padded: bool) -> Ordering {
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        let (left, right) = (a.next(), b.next());
        let order = match (left, right) {
            (None, None) => return Ordering::Equal,
            (left, right) if padded => segment(left.unwrap_or("0"), right.unwrap_or("0")),
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(left), Some(right)) => segment(left, right),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn segment(a: &str, b: &str) -> Ordering {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match (number(a), number(b)) {
        (true, true) => {
            // By length, then by digits: numbers of any size.
            let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        }
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_bosh_orders_them() {
        let ascending = [
            "0.9",
            "1-alpha",
            "1-alpha.1",
            "1-rc.2",
            "1-rc.10",
            "1",
            "1+dev.1",
            "1+dev.2",
            "1+dev.10",
            "1.0.1",
            "9",
            "56.2.0",
            "56.22.0",
            "283.1.6",
            "99999999999999999999999999",
        ];
        for (index, version) in ascending.iter().enumerate() {
            for (other, than) in ascending.iter().enumerate() {
                assert_eq!(compare(version, than), index.cmp(&other), "{version} {than}");
            }
        }
        assert_eq!(compare("1.0", "1"), Ordering::Equal);
        assert_eq!(newest(["9", "56.2.0", "8"]), Some("56.2.0"));
        assert_eq!(newest([]), None);
    }
}
