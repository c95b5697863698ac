//! The line of a template that a line of the rendered file comes from.

use crate::release::outside_of_tags;

/// Characters that two lines have at least in common, so that they are taken for the same.
const MIN_COMMON_CHARS: usize = 6;
/// A longer line is not looked for: a template may have many lines that begin like it.
const MAX_LINE_BYTES: usize = 1000;

/// The line of the template, from 1, for that of the rendered text: the first that is the same, or that is the same
/// except for its tags.
pub(super) fn in_template(template: &str, rendered: &str, line: u32) -> Option<u32> {
    if template == rendered {
        return Some(line);
    }
    let wanted = rendered
        .lines()
        .nth(usize::try_from(line).ok()?.checked_sub(1)?)?
        .trim();
    if wanted.len() > MAX_LINE_BYTES {
        return None;
    }
    let lines = || template.lines().zip(1..);
    let same = lines().find(|(text, _)| text.trim() == wanted);
    let found = same.or_else(|| lines().find(|(text, _)| text.contains("<%") && renders_as(text, wanted)));
    found.map(|(_, line)| line)
}

/// Whether a line with tags may be rendered as this text: its parts outside of the tags occur in it, in order.
fn renders_as(template: &str, rendered: &str) -> bool {
    let parts = outside_of_tags(template.trim());
    let [first, middle @ .., last] = &parts[..] else {
        return false;
    };
    let common: usize = parts.iter().map(|part| part.trim().chars().count()).sum();
    let rest = rendered.strip_prefix(first.trim_start());
    let Some(mut rest) = rest.and_then(|rest| rest.strip_suffix(last.trim_end())) else {
        return false;
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    common >= MIN_COMMON_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_in_the_template() {
        let template = "#!/bin/bash\n<% if p('a') %>\n  ulimit -n <%= p('b') %>\n<% end %>\nmodprobe x\n\
                        <%= p('c') %> <%= p('d') %>\necho <%= p('e') %> > /proc/<%= p('f') %>/x\n";
        let rendered = "#!/bin/bash\n\n  ulimit -n 1\n\nmodprobe x\nmount a\necho 1 > /proc/sys/x\n";
        for (line, expected) in [
            (1, Some(1)),
            (3, Some(3)),
            (5, Some(5)),
            (6, None),
            (7, Some(7)),
            (8, None),
            (0, None),
        ] {
            assert_eq!(in_template(template, rendered, line), expected, "{line}");
        }
        assert_eq!(in_template(template, template, 4), Some(4));
    }
}
