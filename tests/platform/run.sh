#!/usr/bin/env bash
# run.sh SOURCES STATE HOST UP: builds what the slice needs, starts the cluster of `make up`, deploys the slice, and runs an app in it.
# SOURCES has checkouts of the repositories of the releases, and of cf-deployment v44.5.0. STATE keeps what was built, and the cluster's files.
# HOST and UP are the programs `host` and `boson-up`.
set -euo pipefail
sources=$(realpath "$1") state=$(realpath --canonicalize-missing "$2") host=$3 up=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$state"
PATH=$state/up/clone/bin:$PATH # kubectl

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
nice "$here/build.sh" "$sources" "$state/stemcell" "$state/releases"
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
kubectl apply --filename "$here/disks.yaml"
kubectl --namespace boson-system set env deployment/boson BOSON_NAMESPACES=nats,cf
kubectl --namespace boson-system rollout status deployment/boson

cells=1
cell_memory_mb=1024
deploy() {
  "$host" deploy "$sources/cf-deployment/cf-deployment.yml" --no-config --deployment cf --namespace cf --registry "$registry" --yes \
    --cloud-config "$here/cloud-config.yml" -o "$here/slice.yml" -o "$here/cells.yml" \
    -v system_domain=sys.example.com -v cells="$cells" -v cell_memory_mb="$cell_memory_mb"
}

# cfdot ARGUMENT..: the client of the bbs, which cf-deployment has in this group.
cfdot() {
  # shellcheck disable=SC2016
  kubectl --namespace cf exec --stdin "$(pod scheduler)" --container auctioneer-auctioneer -- \
    bash -c '. /var/vcap/jobs/cfdot/bin/setup && exec cfdot "$@"' cfdot "$@"
}

# pod GROUP: its first pod.
pod() {
  kubectl --namespace cf get pods --selector "quarks.cloudfoundry.org/instance-group-name=$1" --output name | head -n1
}

# running COUNT: waits until as many instances of the app run.
running() {
  for _ in $(seq 120); do
    if [ "$(cfdot actual-lrps | jq --slurp '[.[] | select(.state == "RUNNING" and .presence == "ORDINARY")] | length')" = "$1" ]; then return; fi
    sleep 2
  done
  echo "the app does not have $1 running instances:" >&2
  cfdot actual-lrps >&2
  return 1
}

# 4. The slice with one cell, and an app in it.
deploy
cfdot set-domain platform
cfdot create-desired-lrp "$(<"$here/app.json")"
running 2
router=$(kubectl --namespace cf get "$(pod router)" --output 'jsonpath={.status.podIP}')
curl --fail --silent --show-error --retry 10 --retry-all-errors --header 'Host: app.sys.example.com' "http://$router/"

# under_load NAME COMMAND..: runs a command while requests are sent, and prints how many were lost.
under_load() {
  local name=$1 load
  shift
  echo "$name:"
  "$state/load" "$router" app.sys.example.com 20 "$state/lost-$name" &
  load=$!
  sleep 5
  "$@"
  sleep 15
  kill "$load"
  wait "$load"
}

# two_cells: waits until the bbs knows both.
two_cells() {
  for _ in $(seq 120); do
    if [ "$(cfdot cells | jq --slurp length)" = 2 ]; then return; fi
    sleep 2
  done
  cfdot cells >&2
  return 1
}

# 5. Two cells, and changes of them under load.
cells=2
under_load second-cell deploy
two_cells
cell_memory_mb=1100
under_load rolling-change deploy
two_cells
running 2
cell=$(cfdot actual-lrps | jq --slurp --raw-output 'first(.[] | select(.presence == "ORDINARY")).address')
cell=$(kubectl --namespace cf get pods --field-selector "status.podIP=$cell" --output name)
kill_cell() {
  kubectl --namespace cf delete "$cell" --grace-period=0 --force
  sleep 5
  running 2
}
under_load killed-cell kill_cell
