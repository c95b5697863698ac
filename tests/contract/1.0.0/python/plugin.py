"""A plugin of the stage `checks` for version 1.0.0: its reply has a part of each value that it gets."""

import json
from typing import List

from wit_world import exports
from wit_world.exports.about import Code, Description
from wit_world.imports.objects import ConsumedLink, Group, Job, View
from wit_world.imports.types import (
    Context,
    Diagnostic,
    DocumentPlace,
    ObjectPlace,
    ObjectReference,
    Place_Document,
    Place_Object,
    Place_Setting,
    Place_Text,
    RelatedPlace,
    Severity,
    TextPlace,
)

SETTINGS = {"type": "object", "properties": {"limit": {"type": "number"}}}


class About(exports.About):
    def describe(self) -> Description:
        codes = [
            Code("first-summary", "What the plugin has got", "Nothing to do."),
            Code("first-setting", "What the setting is", "Nothing to do."),
        ]
        return Description("first", "1.0.0", json.dumps(SETTINGS), codes, [])


class Policy(exports.Policy):
    def check(self, view: View, context: Context) -> List[Diagnostic]:
        written = json.loads(view.objects[0])
        reference = ObjectReference(written["apiVersion"], written["kind"], written["metadata"]["name"])
        deployment = f"{context.deployment.name} in {context.deployment.namespace}"
        groups = ",".join(summary(group) for group in view.groups)
        return [
            Diagnostic(
                severity=Severity.WARNING,
                code="first-summary",
                message=f"{json.loads(view.manifest)['name']}: {deployment} for {view.target}: {groups}",
                place=Place_Document(DocumentPlace("manifest", "/instance_groups/0")),
                related=[
                    RelatedPlace(Place_Object(ObjectPlace(reference, "/metadata")), "the object"),
                    RelatedPlace(Place_Text(TextPlace("manifest", 7, None)), "the line"),
                ],
                help=f"features: {','.join(context.features)}",
                follows=None,
                more=view.more,
            ),
            Diagnostic(
                severity=Severity.INFO,
                code="first-setting",
                message=context.settings,
                place=Place_Setting("/limit"),
                related=[],
                help=None,
                follows="first-summary",
                more=[],
            ),
        ]


def summary(group: Group) -> str:
    return f"{group.name} has {group.instances} instances of {','.join(job(one) for one in group.jobs)}"


def job(one: Job) -> str:
    return f"{one.name} ({one.release}): {', '.join(link(consumed) for consumed in one.consumes)}"


def link(consumed: ConsumedLink) -> str:
    return f"{consumed.name} from {consumed.provider_group or 'nobody'}"
