#!/usr/bin/env bash
# Deploys Cloud Foundry to the cluster of the current kubeconfig: builds the images of the releases, and runs `host deploy`.
# Run it again after any error, and after each change: it repeats what has changed only.
set -euo pipefail
cd "$(dirname "$0")"

: "${SYSTEM_DOMAIN:?the domain of the platform, such as cf.example.com}"
: "${REGISTRY:?a registry for the images, such as registry.example.com/cloudfoundry; log in before}"
: "${STORAGE_CLASS:?the StorageClass of the persistent disks}"
: "${ZONE1:?a value of the node label topology.kubernetes.io/zone}"
ZONE2=${ZONE2:-$ZONE1}
CF_VERSION=${CF_VERSION:-v58.0.0}

# 1. The manifest and the operations for compiled releases, which replace their URLs.
if [ ! -d "cf-deployment-$CF_VERSION" ]; then
  git clone --quiet --depth 1 --branch "$CF_VERSION" https://github.com/cloudfoundry/cf-deployment "cf-deployment-$CF_VERSION"
fi
compiled="cf-deployment-$CF_VERSION/operations/use-compiled-releases.yml"
cp "cf-deployment-$CF_VERSION/cf-deployment.yml" cf-deployment.yml

# 2. An image of every release. Images that the registry has are not built again. STEMCELL_IMAGE replaces the image that Cloud Foundry
# publishes for the stemcell of the compiled releases.
host image --manifest cf-deployment.yml -o "$compiled" --registry "$REGISTRY" ${STEMCELL_IMAGE:+--stemcell-image "$STEMCELL_IMAGE"}

# 3. Nodes for the cells, which only they should use.
if [ -z "$(kubectl get nodes --selector cloudfoundry.org/cell=true --output name)" ]; then
  echo "no node for Diego cells: label and taint at least two, see 'cell' in cloud-config.yml" >&2
  exit 1
fi

# 4. A namespace that admits the privileged pods of the cells.
kubectl create namespace cf --dry-run=client --output yaml | kubectl apply --filename -
kubectl label namespace cf --overwrite pod-security.kubernetes.io/enforce=privileged

# 5. The deployment. It shows what changes, asks, and follows the rollout.
# `--no-config`: boson.yaml is for conversions on a workstation, whose values are in a file. Here the operator generates them.
host deploy cf-deployment.yml --no-config --deployment cf --namespace cf --registry "$REGISTRY" \
  --cloud-config cloud-config.yml -o "$compiled" -o ops/ports.yml -o ops/ports-mysql.yml -o ops/errands.yml -o ops/run.yml -o ops/cells.yml \
  -v system_domain="$SYSTEM_DOMAIN" -v storage_class="$STORAGE_CLASS" -v zone1="$ZONE1" -v zone2="$ZONE2" "$@"

# 6. Load balancers for the routers and the SSH proxy.
kubectl apply --namespace cf --filename router.yaml
cat <<END
Point *.$SYSTEM_DOMAIN to the address of the Service cf-router-public, and tcp.$SYSTEM_DOMAIN to cf-tcp-router-public:
  kubectl get services --namespace cf --selector '!quarks.cloudfoundry.org/deployment-name'
Then log in:
  cf api https://api.$SYSTEM_DOMAIN --skip-ssl-validation
  cf auth admin "\$(kubectl get secret --namespace cf cf.var-cf-admin-password --output jsonpath={.data.password} | base64 -d)"
END
