//! Names of WIT (`convert-group`) as languages write them.

/// `convert_group`
pub fn snake(name: &str) -> String {
    name.replace('-', "_")
}

/// `ConvertGroup`
pub fn pascal(name: &str) -> String {
    let word = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    name.split('-').filter(|part| !part.is_empty()).map(word).collect()
}

/// `convertGroup`
pub fn camel(name: &str) -> String {
    match name.split_once('-') {
        Some((first, rest)) => first.to_string() + &pascal(rest),
        None => name.to_string(),
    }
}
