// A plugin of the stage `checks` for version 1.0.0: its reply has a part of each value that it gets.

const summary = ({ name, instances, jobs }) => `${name} has ${instances} instances of ${jobs.map(job)}`;
const job = ({ name, release, consumes }) => `${name} (${release}): ${consumes.map(link).join(", ")}`;
const link = ({ name, providerGroup }) => `${name} from ${providerGroup ?? "nobody"}`;

export const about = {
  describe: () => ({
    name: "first",
    version: "1.0.0",
    settingsSchema: JSON.stringify({ type: "object", properties: { limit: { type: "number" } } }),
    codes: [
      { name: "first-summary", title: "What the plugin has got", explanation: "Nothing to do." },
      { name: "first-setting", title: "What the setting is", explanation: "Nothing to do." },
    ],
    more: [],
  }),
};

export const policy = {
  check(view, context) {
    const { apiVersion, kind, metadata } = JSON.parse(view.objects[0]);
    const object = { apiVersion, kind, name: metadata.name };
    const deployment = `${context.deployment.name} in ${context.deployment.namespace}`;
    return [
      {
        severity: "warning",
        code: "first-summary",
        message: `${JSON.parse(view.manifest).name}: ${deployment} for ${view.target}: ${view.groups.map(summary)}`,
        place: { tag: "document", val: { document: "manifest", pointer: "/instance_groups/0" } },
        related: [
          { place: { tag: "object", val: { object, pointer: "/metadata" } }, message: "the object" },
          { place: { tag: "text", val: { document: "manifest", line: 7, column: null } }, message: "the line" },
        ],
        help: `features: ${context.features}`,
        follows: null,
        more: view.more,
      },
      {
        severity: "info",
        code: "first-setting",
        message: context.settings,
        place: { tag: "setting", val: "/limit" },
        related: [],
        help: null,
        follows: "first-summary",
        more: [],
      },
    ];
  },
};
