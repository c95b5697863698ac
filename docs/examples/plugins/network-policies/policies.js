// The rules, without WIT.

const DEPLOYMENT = "quarks.cloudfoundry.org/deployment-name";
const GROUP = "quarks.cloudfoundry.org/instance-group-name";

const podsOf = (deployment, group) => ({
  matchLabels: { [DEPLOYMENT]: deployment, [GROUP]: group },
});

// Groups that consume a link from `provider`, sorted.
const consumers = (groups, provider) =>
  groups
    .filter((group) =>
      group.jobs.some((job) => job.consumes.some((link) => link.providerGroup === provider)),
    )
    .map((group) => group.name)
    .sort();

// A NetworkPolicy for each instance group that is not open: its pods accept connections from each other, and from
// groups that consume one of its links.
export function networkPolicies(groups, deployment, open) {
  return groups
    .filter((group) => !open.includes(group.name))
    .map((group) => {
      const sources = [...new Set([group.name, ...consumers(groups, group.name)])];
      return {
        apiVersion: "networking.k8s.io/v1",
        kind: "NetworkPolicy",
        metadata: { name: `${deployment}-${group.name}`, labels: { [DEPLOYMENT]: deployment, [GROUP]: group.name } },
        spec: {
          podSelector: podsOf(deployment, group.name),
          policyTypes: ["Ingress"],
          ingress: [{ from: sources.map((source) => ({ podSelector: podsOf(deployment, source) })) }],
        },
      };
    });
}

// Names in `open` that are no group, with their index.
export function unknown(groups, open) {
  const names = groups.map((group) => group.name);
  return open.map((name, index) => ({ name, index })).filter(({ name }) => !names.includes(name));
}
