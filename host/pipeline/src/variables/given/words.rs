//! Values given with `-v` that are not secrets: words, addresses, versions, typed on the command line for a variable
//! whose name does not suggest a secret.

use super::flags;
use super::plain::is_plain;
use boson_document::Tree;

/// Parts of names of variables that hold secrets.
const SECRET_NAME_PARTS: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "credential",
    "private",
    "token",
    "certificate",
    "apikey",
    "api_key",
    "access_key",
    "encryption",
    "salt",
    "seed",
];

/// Words in names of such variables that are too short to be searched within other words.
const SECRET_NAME_WORDS: [&str; 9] = ["pass", "pwd", "pw", "pin", "key", "keys", "auth", "creds", "cookie"];

/// The values of these `-v` arguments that messages may show.
pub fn plain_words<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let plain = |argument: &str| match flags::variable(argument) {
        Ok((name, Tree::String(value))) if !suggests_secret(&name) && is_plain(&value) => Some(value),
        _ => None,
    };
    arguments.into_iter().filter_map(plain).collect()
}

/// Whether the name of a value suggests that it is a secret.
pub fn suggests_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    SECRET_NAME_PARTS.iter().any(|part| name.contains(part)) || words.any(|word| SECRET_NAME_WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_plain_unless_their_variable_promises_a_secret() {
        for plain in [
            "deployment_name=concourse",
            "system_domain=apps.example.com",
            "network=us-east-1a",
            "az=z1",
            "url=https://ci.example.com:8443/path",
            "version=10.244.0",
            "monkey=Tamarin",
        ] {
            assert_eq!(plain_words([plain]).len(), 1, "{plain}");
        }
        for secret in [
            "password=top-secret-value",
            "admin_pw=letmein",
            "nats.key=word",
            "x=hunter2000",
            "x=s3cr3t",
            "x=P@ssword",
            "x=two words",
            "x=correcthorsebatterystaple",
            "x=123456",
            "x={a: word}",
        ] {
            assert_eq!(plain_words([secret]), Vec::<String>::new(), "{secret}");
        }
    }
}
