//! Templates whose result is the same for every instance of a job: they are rendered only once.
//!
//! Of the data of a template, only `spec` and `index` differ between instances; properties and links do not. A template
//! whose text has neither word, nor a word by which Ruby reaches objects that it does not name, does not depend on the
//! instance. Most templates are of this kind: certificates, keys, scripts.

/// A template without any of these words does not depend on the instance. `self` and the like are listed because a name
/// may be computed with them.
const INSTANCE_WORDS: [&str; 10] = [
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

/// Whether the result of the template may differ on another instance.
pub fn may_differ(text: &str) -> bool {
    tags(text).any(|code| INSTANCE_WORDS.iter().any(|word| code.contains(word)))
}

/// Words with which a template changes what all later templates see: classes of Ruby, of its libraries and of BOSH. A
/// plain `class X` or `def x` ends with the template.
const GLOBAL_EFFECT_WORDS: [&str; 21] = [
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

/// Whether templates that are rendered after this one may give another result because of it.
pub fn may_affect_others(text: &str) -> bool {
    tags(text).any(|code| {
        GLOBAL_EFFECT_WORDS.iter().any(|word| code.contains(word))
            || text_after(code, &["class ", "module "]).any(|name| class_path(name).contains("::"))
            || text_after(code, &["def "]).any(|name| name.starts_with(char::is_uppercase))
            || text_after(code, &["$"]).any(is_assigned)
    })
}

/// The text after each of these words.
fn text_after<'c>(code: &'c str, words: &'c [&str]) -> impl Iterator<Item = &'c str> {
    let rest = move |word: &&'c str| {
        code.match_indices(*word)
            .map(|(at, word)| code[at + word.len()..].trim_start())
    };
    words.iter().flat_map(rest)
}

/// `A::B` of `A::B < C`
fn class_path(name: &str) -> &str {
    let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    end.map_or(name, |end| &name[..end])
}

/// Whether this is the name of a global variable that is assigned.
fn is_assigned(name: &str) -> bool {
    let rest = name.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    let rest = rest.trim_start();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name && (rest.starts_with("<<") || rest.starts_with("||=") || (rest.starts_with('=') && !rest.starts_with("==")))
}

/// The text between `<%` and `%>`, the only text that is evaluated; an unclosed tag reaches to the end.
fn tags(text: &str) -> impl Iterator<Item = &str> {
    let after = text.split("<%").skip(1);
    after.map(|tag| tag.split_once("%>").map_or(tag, |(code, _)| code))
}

/// Whether the template can fail. Without a tag nothing is evaluated.
pub fn is_evaluated(text: &str) -> bool {
    text.contains("<%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_templates_that_do_not_depend_on_the_instance_are_rendered_once() {
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
            assert!(may_affect_others(text), "{text}");
        }
        for text in [
            "<% class Peer < Struct.new(:a); def x = 1; end %>",
            "<% raise 'no' unless %w[a b].include?(p('x')) && p('y') =~ /^a$/ %>",
            "class ::String",
            "<%= $stdout == 1 %>",
        ] {
            assert!(!may_affect_others(text), "{text}");
        }
        assert!(is_evaluated("<%# %>") && !is_evaluated("%> 100%"));
    }
}
