#!/usr/bin/env bash
# run.sh SOURCES STATE HOST UP: builds what the slice needs, starts the cluster of `make up`, deploys the slice, and runs an app in it.
# SOURCES has checkouts of the repositories of the releases, and of cf-deployment v44.5.0. STATE keeps what was built, and the cluster's files.
# HOST and UP are the programs `host` and `boson-up`.
set -euo pipefail
sources=$(realpath "$1") state=$(realpath --canonicalize-missing "$2") host=$3 up=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$state"

# Control groups that the kernel has and Debian does not mount: garden needs them, and can mount none in a pod.
if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
  for kind in net_cls net_prio perf_event hugetlb; do
    if ! grep -q " /sys/fs/cgroup/$kind " /proc/mounts; then
      mkdir -p "/sys/fs/cgroup/$kind"
      mount -t cgroup -o "$kind" cgroup "/sys/fs/cgroup/$kind"
    fi
  done
fi

# 1. Releases.
"$here/stemcell.sh" "$state/stemcell" "$state/stemcell.tar"
"$here/build.sh" "$sources" "$state/stemcell" "$state/releases"
(cd "$here/load" && go build -o "$state/load" .)

# 2. A cluster with the operator, as `make up` starts it.
CARGO_MANIFEST_DIR=$here/.. "$up" up --state "$state/up"
KUBECONFIG=$(jq --raw-output .kubeconfig "$state/up/clone/site.json")
registry=$(jq --raw-output .registry "$state/up/clone/site.json")
export KUBECONFIG BOSON_REGISTRY_WITHOUT_TLS=$registry
for file in "$state/releases"/*.tgz; do
  "$host" image "$file" --stemcell ubuntu-jammy/1.621 --stemcell-image "$state/stemcell.tar" --registry "$registry" --cache "$state/images"
done

# 3. A namespace that the operator serves, and that admits the privileged pods of cells.
kubectl create namespace cf --dry-run=client --output yaml | kubectl apply --filename -
kubectl label namespace cf --overwrite pod-security.kubernetes.io/enforce=privileged
mkdir -p "$state/up/clone/mine/cf"
printf 'namespace: cf\nresources: [../../deploy/namespace]\n' >"$state/up/clone/mine/cf/kustomization.yaml"
kubectl apply --kustomize "$state/up/clone/mine/cf"
kubectl --namespace boson-system set env deployment/boson BOSON_NAMESPACES=nats,cf
kubectl --namespace boson-system rollout status deployment/boson

# deploy OPTION..: the deployment, with the given options of `host deploy`.
deploy() {
  "$host" deploy "$sources/cf-deployment/cf-deployment.yml" --no-config --deployment cf --namespace cf --registry "$registry" --yes \
    --cloud-config "$here/cloud-config.yml" -o "$here/slice.yml" -o "$here/cells.yml" -v system_domain=sys.example.com "$@"
}
