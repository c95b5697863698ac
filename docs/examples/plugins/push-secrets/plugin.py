"""Connects the rules to the world `resources`."""

import json

from componentize_py_types import Err
from push_secrets import push_secret, unknown, variables
from wit_world import exports
from wit_world.exports.about import Code, Description
from wit_world.imports.objects import View
from wit_world.imports.shapes import Edit_Add, Edits
from wit_world.imports.types import Context, Diagnostic, Place_Setting, Severity

NO_VARIABLE = "push-secrets-no-variable"
SETTINGS = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["store"],
    "properties": {
        "store": {"description": "Name of the SecretStore", "type": "string", "minLength": 1},
        "storeKind": {
            "description": "Kind of the store",
            "type": "string",
            "enum": ["SecretStore", "ClusterSecretStore"],
            "default": "SecretStore",
        },
        "prefix": {"description": "Begin of the keys in the store [default: the deployment's name]", "type": "string"},
        "only": {
            "description": "Variables to push [default: all that are generated]",
            "type": "array",
            "items": {"type": "string"},
        },
        "refreshInterval": {"description": "How often the value is pushed again", "type": "string", "default": "1h"},
        "deletionPolicy": {
            "description": "Whether the value is deleted from the store with the object",
            "type": "string",
            "enum": ["None", "Delete"],
            "default": "None",
        },
    },
}


class About(exports.About):
    def describe(self) -> Description:
        code = Code(
            NO_VARIABLE,
            "A variable in `only` is not generated",
            "The setting `only` lists variables of the deployment that have a definition. Correct the name, or remove it.",
        )
        return Description("push-secrets", "1.0.0", json.dumps(SETTINGS), [code], [])


class Transformation(exports.Transformation):
    def transform(self, view: View, context: Context) -> Edits:
        settings = json.loads(context.settings)
        known = variables([json.loads(text) for text in view.objects])
        only = settings.get("only", list(known))
        errors = [diagnostic(index, name, known) for index, name in unknown(known, only)]
        if errors:
            raise Err(errors)
        deployment = context.deployment.name
        added = [push_secret(name, known[name], deployment, settings) for name in only]
        return Edits([Edit_Add(json.dumps(one, separators=(",", ":"))) for one in added], [], [])


def diagnostic(index: int, name: str, known: dict[str, str]) -> Diagnostic:
    return Diagnostic(
        severity=Severity.ERROR,
        code=NO_VARIABLE,
        message=f"no variable '{name}' is generated",
        place=Place_Setting(f"/only/{index}"),
        related=[],
        help=f"the generated variables are: {', '.join(known)}",
        follows=None,
        more=[],
    )
