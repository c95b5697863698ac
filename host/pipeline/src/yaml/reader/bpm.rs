//! The values of a bpm.yml as yaml.v3 decodes them into BPM's types: what becomes a string keeps its spelling, whatever
//! it would mean elsewhere (`off`, `0027`, `1.50`).

use super::value;
use crate::yaml::scalar::Scalar;
use boson_document::{Tree, escape};

/// What a value is decoded into.
enum Shape {
    /// A string. What is not listed below is one, too.
    Text,
    /// A boolean, a number, or anything.
    Value,
    List(&'static Shape),
    /// A map or a struct, with the members that are no strings.
    Members(&'static [(&'static str, Shape)]),
}

const TEXTS: Shape = Shape::List(&Shape::Text);
const VOLUMES: Shape = Shape::List(&Shape::Members(&[
    ("writable", Shape::Value),
    ("allow_executions", Shape::Value),
    ("mount_only", Shape::Value),
    ("shared", Shape::Value),
]));
const LIMITS: Shape = Shape::Members(&[
    ("open_files", Shape::Value),
    ("processes", Shape::Value),
    ("core_file_size", Shape::Value),
]);
const UNSAFE: Shape = Shape::Members(&[
    ("privileged", Shape::Value),
    ("unrestricted_volumes", VOLUMES),
    ("host_pid_namespace", Shape::Value),
]);
const PROCESS: Shape = Shape::Members(&[
    ("args", TEXTS),
    ("env", Shape::Members(&[])),
    ("capabilities", TEXTS),
    ("ephemeral_disk", Shape::Value),
    ("persistent_disk", Shape::Value),
    ("additional_volumes", VOLUMES),
    ("hooks", Shape::Members(&[])),
    ("limits", LIMITS),
    ("requests", Shape::Value),
    ("unsafe", UNSAFE),
]);
const JOB: Shape = Shape::Members(&[("processes", Shape::List(&PROCESS))]);

/// Decodes the scalars of a document, which are texts.
pub(super) fn decode(tree: &mut Tree) {
    decode_as(tree, &JOB);
}

fn decode_as(tree: &mut Tree, shape: &Shape) {
    if let Some(text) = escape::as_special(tree) {
        *tree = match shape {
            Shape::Text => text.into(),
            // Where a list or map is wanted, it is an error that names the value's type.
            Shape::Value | Shape::List(_) | Shape::Members(_) => {
                value::of_meaning(Scalar::of_yaml_v3(text, true), text.to_string().into()).0
            }
        };
        return;
    }
    match tree {
        Tree::Array(items) => {
            let of_item = match shape {
                Shape::List(of_item) => of_item,
                other => other,
            };
            items.iter_mut().for_each(|item| decode_as(item, of_item));
        }
        Tree::Object(map) => {
            for (name, value) in map {
                let of_member = match shape {
                    Shape::Members(members) => members
                        .iter()
                        .find(|(member, _)| member == name)
                        .map(|(_, shape)| shape),
                    other => Some(other),
                };
                decode_as(value, of_member.unwrap_or(&Shape::Text));
            }
        }
        _ => {}
    }
}
