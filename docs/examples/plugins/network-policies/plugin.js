// Connects the rules to the world `resources`.

import { networkPolicies, unknown } from "./policies.js";

const NAME = "network-policies";

export const about = {
  describe: () => ({
    name: NAME,
    version: "1.0.0",
    settingsSchema: JSON.stringify({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      additionalProperties: false,
      properties: {
        open: {
          description: "Instance groups that accept connections from everywhere",
          type: "array",
          items: { type: "string" },
        },
      },
    }),
    codes: [
      {
        name: `${NAME}-no-group`,
        title: "A group in `open` does not exist",
        explanation: "The setting `open` lists instance groups of the deployment. Correct the name, or remove it.",
      },
    ],
    more: [],
  }),
};

export const transformation = {
  transform(view, context) {
    const { open = [] } = JSON.parse(context.settings);
    const errors = unknown(view.groups, open).map(({ name, index }) => ({
      severity: "error",
      code: `${NAME}-no-group`,
      message: `there is no instance group '${name}'`,
      place: { tag: "setting", val: `/open/${index}` },
      related: [],
      help: `the groups are: ${view.groups.map((group) => group.name).join(", ")}`,
      follows: null,
      more: [],
    }));
    if (errors.length > 0) {
      throw errors;
    }
    const policies = networkPolicies(view.groups, context.deployment.name, open);
    return {
      edits: policies.map((policy) => ({ tag: "add", val: JSON.stringify(policy) })),
      diagnostics: [],
      more: [],
    };
  },
};
