"""The rules, without WIT: which object pushes the value of which variable to the external store."""

VARIABLE = "quarks.cloudfoundry.org/variable"


def variables(objects: list[dict]) -> dict[str, str]:
    """The variables that the operator generates, and the names of their Secrets."""
    secrets = [one for one in objects if one["kind"] == "QuarksSecret"]
    return {one["metadata"]["annotations"][VARIABLE]: one["spec"]["secretName"] for one in secrets}


def unknown(known: dict[str, str], only: list[str]) -> list[tuple[int, str]]:
    """The names in `only` that are no variables, each with its place in the list."""
    return [(index, name) for index, name in enumerate(only) if name not in known]


def push_secret(variable: str, secret: str, deployment: str, settings: dict) -> dict:
    """A PushSecret that writes all keys of a Secret into one entry of the store."""
    prefix = settings.get("prefix", deployment)
    return {
        "apiVersion": "external-secrets.io/v1alpha1",
        "kind": "PushSecret",
        "metadata": {"name": secret},
        "spec": {
            "refreshInterval": settings.get("refreshInterval", "1h"),
            "updatePolicy": "Replace",
            "deletionPolicy": settings.get("deletionPolicy", "None"),
            "secretStoreRefs": [{"kind": settings.get("storeKind", "SecretStore"), "name": settings["store"]}],
            "selector": {"secret": {"name": secret}},
            "data": [{"match": {"remoteRef": {"remoteKey": f"{prefix}/{variable}"}}}],
        },
    }
