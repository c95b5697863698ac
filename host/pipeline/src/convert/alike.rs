//! Templates that give the same for every instance of a job: rendered once, they are known for all.
//!
//! Of what a template sees, only `spec` and `index` differ between instances; properties and links do not. A template whose text has neither
//! word, nor one by which Ruby gets at what it does not name, cannot tell its instance. Most are of this kind: certificates, keys, scripts.

/// Words without which a template cannot tell which instance it is on. `self` and the like are there for what is computed from a name.
const TELLING: [&str; 10] = [
    "spec",
    "index",
    "self",
    "send",
    "eval",
    "instance_",
    "method",
    "binding",
    "inspect",
    "ObjectSpace",
];

/// May the template give something else on another instance?
pub fn may_differ(text: &str) -> bool {
    tags(text).any(|code| TELLING.iter().any(|word| code.contains(word)))
}

/// What stands between `<%` and `%>`, which is all that is evaluated; one that does not end goes on to the end of the text.
fn tags(text: &str) -> impl Iterator<Item = &str> {
    let after = text.split("<%").skip(1);
    after.map(|tag| tag.split_once("%>").map_or(tag, |(code, _)| code))
}

/// Can it fail at all? Without a tag nothing is evaluated.
pub fn is_evaluated(text: &str) -> bool {
    text.contains("<%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_tell_its_instance_is_alike() {
        for text in [
            "<%= p('tls.certificate') %>",
            "<% if_link('db') { |db| %><%= db.p('port') %><% } %>",
            "<%= name %>",
            "eval <%= p('x') %> \"$index\" # of the spec",
            "plain",
        ] {
            assert!(!may_differ(text), "{text}");
        }
        for text in [
            "<%= spec.ip %>",
            "<%= @spec %>",
            "<%= index %>",
            "<%= instance_variable_get('@sp' + 'ec') %>",
            "<%= public_send('sp' + 'ec') %>",
            "<%= eval('sp' + 'ec') %>",
            "<%= method('sp' + 'ec').call %>",
            "<%= p('x') %><% spec.each",
            "<%= \"<%\" + spec.id %>",
        ] {
            assert!(may_differ(text), "{text}");
        }
        assert!(is_evaluated("<%# %>") && !is_evaluated("%> 100%"));
    }
}
