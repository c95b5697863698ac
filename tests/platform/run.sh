#!/usr/bin/env bash
# run.sh SOURCES STATE HOST UP: builds what the slice needs, starts the cluster of `make up`, deploys the slice, runs an app in it, changes the cells while
# requests are sent, and removes the cluster.
# SOURCES has checkouts of the repositories of the releases, and of cf-deployment v44.5.0. STATE keeps what was built.
# HOST and UP are the programs `host` and `boson-up`.
# Environment:
#   KEEP=true             leaves the cluster and what was mounted, and prints the commands that remove them
#   IN_PLACE=disk         (default) cells have a disk, so the rollout changes them in place
#   IN_PLACE=delete-create  cells have none, and `update.vm_strategy` says the same
#   NETWORK=garden        (default) apps have the network of garden
#   NETWORK=silk          apps have the network of silk, with the releases silk and cf-networking
set -euo pipefail
sources=$(realpath "$1") state=$(realpath --canonicalize-missing "$2") host=$3 up=$4
in_place=${IN_PLACE:-disk} network=${NETWORK:-garden}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for file in "$here/in-place-$in_place.yml" "$here/network-$network.yml" "$sources/cf-deployment/cf-deployment.yml"; do
  if [ ! -e "$file" ]; then echo "$file is missing" >&2 && exit 2; fi
done
mkdir -p "$state"
PATH=$state/up/clone/bin:$PATH # kubectl
CARGO_MANIFEST_DIR=$(dirname "$here") # where boson-up looks for the pages
export CARGO_MANIFEST_DIR

# Control groups that the kernel has and Debian does not mount: garden needs them, and can mount none in a pod. The file has what was mounted, also by an
# earlier run that kept the cluster.
mounted=$state/mounted
mount_control_groups() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then return; fi
  local kind
  for kind in net_cls net_prio perf_event hugetlb; do
    if ! grep -q " /sys/fs/cgroup/$kind " /proc/mounts; then
      mkdir -p "/sys/fs/cgroup/$kind"
      mount -t cgroup -o "$kind" cgroup "/sys/fs/cgroup/$kind"
      echo "/sys/fs/cgroup/$kind" >>"$mounted"
    fi
  done
}

# What the script started. What it built stays for the next run.
remove_all() {
  "$up" down --state "$state/up" || return
  if [ ! -e "$mounted" ]; then return; fi
  local directory
  while read -r directory; do umount "$directory" && rmdir "$directory" || return; done <"$mounted"
  rm "$mounted"
}

finish() {
  local status=$?
  trap - EXIT
  if [ -n "${load:-}" ]; then kill "$load" 2>/dev/null || true; fi
  if [ "${KEEP:-}" = true ]; then
    echo "kept: run this again without KEEP, or: CARGO_MANIFEST_DIR=$CARGO_MANIFEST_DIR $up down --state $state/up; xargs umount <$mounted"
  else
    remove_all || status=1
  fi
  exit "$status"
}

# step NAME COMMAND..: prints how long it took.
step() {
  local name=$1 began=$SECONDS
  shift
  "$@"
  echo "== $name: $((SECONDS - began)) s"
}

build() {
  nice "$here/stemcell.sh" "$state/stemcell" "$state/stemcell.tar"
  nice "$here/build.sh" "$sources" "$state/stemcell" "$state/releases"
  (cd "$here/load" && go build -o "$state/load" .)
}

# A cluster with the operator, as `make up` starts it.
start_cluster() {
  mount_control_groups
  "$up" up --state "$state/up"
  KUBECONFIG=$(jq --raw-output .kubeconfig "$state/up/clone/site.json")
  registry=$(jq --raw-output .registry "$state/up/clone/site.json")
  export KUBECONFIG BOSON_REGISTRY_WITHOUT_TLS=$registry
}

push_images() {
  local file
  for file in "$state/releases"/*.tgz; do
    "$host" image "$file" --stemcell ubuntu-jammy/1.621 --stemcell-image "$state/stemcell.tar" --registry "$registry" --cache "$state/images"
  done
}

# A namespace that the operator serves, and that admits the privileged pods of cells.
make_namespace() {
  kubectl create namespace cf --dry-run=client --output yaml | kubectl apply --filename -
  kubectl label namespace cf --overwrite pod-security.kubernetes.io/enforce=privileged
  mkdir -p "$state/up/clone/mine/cf"
  printf 'namespace: cf\nresources: [../../deploy/namespace]\n' >"$state/up/clone/mine/cf/kustomization.yaml"
  kubectl apply --kustomize "$state/up/clone/mine/cf"
  kubectl apply --filename "$here/disks.yaml"
  kubectl --namespace boson-system set env deployment/boson BOSON_NAMESPACES=nats,cf
  kubectl --namespace boson-system rollout status deployment/boson
}

cells=1
cell_memory_mb=1024
deploy() {
  "$host" deploy "$sources/cf-deployment/cf-deployment.yml" --no-config --deployment cf --namespace cf --registry "$registry" --yes \
    --cloud-config "$here/cloud-config.yml" -o "$here/slice.yml" -o "$here/cells.yml" -o "$here/in-place-$in_place.yml" -o "$here/network-$network.yml" \
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

# until_true COMMAND..: repeats it for ten minutes at most. cfdot fails while the node of the tests is busy.
until_true() {
  local deadline=$((SECONDS + 600))
  until "$@"; do
    if ((SECONDS > deadline)); then echo "$* is still not true" >&2 && return 1; fi
    sleep 2
  done
}

# running COUNT: as many instances of the app run.
running() { [ "$(cfdot actual-lrps | jq --slurp '[.[] | select(.state == "RUNNING" and .presence == "ORDINARY")] | length')" = "$1" ]; }

# known_cells COUNT: as many cells have registered at the bbs.
known_cells() { [ "$(cfdot cells | jq --slurp length)" = "$1" ]; }

# The cells run the app's instances apart.
spread() { [ "$(cfdot actual-lrps | jq --slurp '[.[] | select(.state == "RUNNING") | .cell_id] | unique | length')" = 2 ]; }

start_app() {
  cfdot set-domain platform
  # Of an earlier run that kept the cluster.
  if cfdot desired-lrps | grep -q '"app"'; then return; fi
  cfdot create-desired-lrp "$(<"$here/app.json")"
  until_true running 2
}

# under_load NAME COMMAND..: runs a command while requests are sent, and prints how many were lost.
under_load() {
  local name=$1
  "$state/load" "$router" app.sys.example.com 20 "$state/lost-$name" &
  load=$!
  sleep 5
  step "$@"
  sleep 15
  kill "$load"
  wait "$load"
  load=
}

# busy_cell: the pod of a cell that runs an instance of the app.
busy_cell() {
  local address
  address=$(cfdot actual-lrps | jq --slurp --raw-output 'first(.[] | select(.presence == "ORDINARY")).address')
  kubectl --namespace cf get pods --field-selector "status.podIP=$address" --output name
}

add_cell() {
  cells=2
  deploy
  until_true known_cells 2
}

# An app's instances stay where they are when a cell is added: one is moved, so that each cell has one.
spread_app() { until_true spread_once; }
spread_once() {
  if spread; then return; fi
  cfdot retire-actual-lrp app 0
  sleep 10
  spread
}

change_cells() {
  cell_memory_mb=1100
  deploy
  until_true known_cells 2
  until_true running 2
}

# As `kubectl drain` stops it: with its drain scripts, within its grace period.
stop_cell() {
  kubectl --namespace cf delete "$(busy_cell)"
  until_true known_cells 2
  until_true running 2
}

kill_cell() {
  kubectl --namespace cf delete "$(busy_cell)" --grace-period=0 --force
  sleep 5
  until_true running 2
}

trap finish EXIT
step build build
step cluster start_cluster
step images push_images
step namespace make_namespace
step deployment deploy
step app start_app
router=$(kubectl --namespace cf get "$(pod router)" --output 'jsonpath={.status.podIP}')
curl --fail --silent --show-error --retry 10 --retry-all-errors --header 'Host: app.sys.example.com' "http://$router/"
under_load second-cell add_cell
under_load spread spread_app
under_load rolling-change change_cells
under_load spread-again spread_app
under_load stopped-cell stop_cell
under_load spread-once-more spread_app
under_load killed-cell kill_cell
