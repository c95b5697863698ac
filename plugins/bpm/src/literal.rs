//! Texts for fields in which Kubernetes expands `$(NAME)`.

use boson_processes::POD_IP;

/// Escapes a text for Kubernetes, whose syntax has `$(` and `$$`, except for the placeholder of the pod's address.
pub fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix(POD_IP) {
            out.push_str(POD_IP);
            rest = after;
            continue;
        }
        out.push_str(if rest[1..].starts_with(['$', '(']) { "$$" } else { "$" });
        rest = &rest[1..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kubernetes_would_expand_is_escaped_but_the_address() {
        for (text, expected) in [
            ("plain", "plain"),
            ("$HOME $", "$HOME $"),
            ("$(HOME)", "$$(HOME)"),
            ("a$$b", "a$$$b"),
            ("http://$(POD_IP):80", "http://$(POD_IP):80"),
            ("$$(POD_IP)", "$$$(POD_IP)"),
        ] {
            assert_eq!(literal(text), expected, "{text}");
            assert_eq!(
                expanded(expected),
                text.replace(POD_IP, "10.0.0.1").replace("$$10", "$10"),
                "{text}"
            );
        }
    }

    /// The text as Kubernetes expands it, with one variable.
    fn expanded(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let (written, length) = match rest.as_bytes().get(1) {
                Some(b'$') => ("$", 2),
                Some(b'(') if rest.starts_with(POD_IP) => ("10.0.0.1", POD_IP.len()),
                _ => ("$", 1),
            };
            out.push_str(written);
            rest = &rest[length..];
        }
        out + rest
    }
}
