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

/// Words with which a template changes what all templates see that are rendered behind it: classes of Ruby, of its libraries and of BOSH. A plain
/// `class X` or `def x` is gone with the template.
const REACHING: [&str; 21] = [
    "_eval",
    "_exec",
    "eval(",
    "eval ",
    "define_method",
    "define_singleton_method",
    "prepend",
    "include ",
    "include(",
    "extend",
    "refine",
    "alias",
    "undef",
    "remove_",
    "const_set",
    "_variable_set",
    "@@",
    "ENV[",
    "class <<",
    "def (",
    "trace_func",
];

/// May templates that are rendered behind this one give something else than without it?
pub fn may_reach_others(text: &str) -> bool {
    tags(text).any(|code| {
        REACHING.iter().any(|word| code.contains(word))
            || behind(code, &["class ", "module "]).any(|name| path(name).contains("::"))
            || behind(code, &["def "]).any(|name| name.starts_with(char::is_uppercase))
            || behind(code, &["$"]).any(is_assigned)
    })
}

/// What follows each of these words.
fn behind<'c>(code: &'c str, words: &'c [&str]) -> impl Iterator<Item = &'c str> {
    let rest = move |word: &&'c str| {
        code.match_indices(*word)
            .map(|(at, word)| code[at + word.len()..].trim_start())
    };
    words.iter().flat_map(rest)
}

/// `A::B` of `A::B < C`
fn path(name: &str) -> &str {
    let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    end.map_or(name, |end| &name[..end])
}

/// Is it the name of a global variable that gets another value?
fn is_assigned(name: &str) -> bool {
    let rest = name.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    let rest = rest.trim_start();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name && (rest.starts_with("<<") || rest.starts_with("||=") || (rest.starts_with('=') && !rest.starts_with("==")))
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
        for text in [
            "<% class ::String; def shout = upcase; end %>",
            "<% String.class_eval { def shout = upcase } %>",
            "<% module Bosh::Template; end %>",
            "<% def String.shout = 1 %>",
            "<% $cache ||= {} %>",
        ] {
            assert!(may_reach_others(text), "{text}");
        }
        for text in [
            "<% class Peer < Struct.new(:a); def x = 1; end %>",
            "<% raise 'no' unless %w[a b].include?(p('x')) && p('y') =~ /^a$/ %>",
            "class ::String",
            "<%= $stdout == 1 %>",
        ] {
            assert!(!may_reach_others(text), "{text}");
        }
        assert!(is_evaluated("<%# %>") && !is_evaluated("%> 100%"));
    }
}
