//! What BOSH hides in the diff of a manifest: its `Redactor`.

use boson_document::{Map, Tree};

/// Text in place of a value.
const REDACTED: &str = "<redacted>";
/// Keys below which all values are hidden.
const REDACTED_KEYS: [&str; 2] = ["properties", "bosh"];

/// A manifest without the values of its properties, and without user and password of the URLs of its releases.
pub(super) fn redacted(manifest: &Tree) -> Tree {
    let mut manifest = manifest.clone();
    properties(&mut manifest);
    let releases = manifest.get_mut("releases").and_then(Tree::as_array_mut).into_iter();
    for url in releases.flatten().filter_map(|release| release.get_mut("url")) {
        if let Tree::String(text) = url {
            *text = without_credentials(text);
        }
    }
    manifest
}

fn members(tree: &mut Tree) -> Option<&mut Map> {
    tree.as_map()?;
    tree.as_object_mut()
}

fn properties(tree: &mut Tree) {
    if let Some(members) = members(tree) {
        for (key, value) in members {
            if REDACTED_KEYS.contains(&key.as_str()) && value.as_map().is_some() {
                hide(value);
            } else {
                properties(value);
            }
        }
    } else if let Tree::Array(items) = tree {
        for item in items {
            match item {
                // As the director: of a list in a list, only the last item is looked at.
                Tree::Array(inner) => inner.last_mut().into_iter().for_each(properties),
                item => properties(item),
            }
        }
    }
}

fn hide(tree: &mut Tree) {
    if let Some(members) = members(tree) {
        members.values_mut().for_each(hide);
    } else if let Tree::Array(items) = tree {
        items.iter_mut().for_each(hide);
    } else {
        *tree = REDACTED.into();
    }
}

/// The director replaces the first occurrence of the user, then that of the password, wherever they are.
fn without_credentials(url: &str) -> String {
    // The URL of a file has no user.
    let authority = url.split_once("://").filter(|(scheme, _)| *scheme != "file");
    let authority = authority.map_or("", |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let Some((credentials, _)) = authority.rsplit_once('@') else {
        return url.to_string();
    };
    let (user, password) = match credentials.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (credentials, None),
    };
    let url = url.replacen(user, REDACTED, 1);
    password.map_or(url.clone(), |password| url.replacen(password, REDACTED, 1))
}
