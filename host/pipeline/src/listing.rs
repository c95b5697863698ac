//! Lists in messages, which name a few of what may be hundreds.

/// The first items, with commas between them, and how many there are besides. `joint` is before that number.
pub fn first_of(items: &[impl AsRef<str>], max: usize, joint: &str) -> String {
    let named: Vec<&str> = items.iter().take(max).map(AsRef::as_ref).collect();
    let text = named.join(", ");
    match items.len().saturating_sub(max) {
        0 => text,
        more => format!("{text}{joint}{more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_first_items_and_counts_the_others() {
        let names = |count: usize| (0..count).map(|nth| format!("v{nth}")).collect::<Vec<_>>();
        assert_eq!(first_of(&names(1), 5, " and "), "v0");
        assert_eq!(first_of(&names(5), 5, " and "), "v0, v1, v2, v3, v4");
        assert_eq!(first_of(&names(250), 5, " and "), "v0, v1, v2, v3, v4 and 245 more");
        assert_eq!(first_of(&names(3), 2, ", "), "v0, v1, 1 more");
    }
}
