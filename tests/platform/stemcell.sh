#!/usr/bin/env bash
# stemcell.sh ROOT ARCHIVE: a stemcell image of Debian 12, as a directory and as an archive of an OCI image. It has what the scripts of the slice call,
# PostgreSQL, and the programs that ./build.sh takes from Debian.
set -euo pipefail
root=$1 archive=$2
packages=(
  bind9-host busybox-static curl iproute2 iptables jq kmod libcap2-bin lsof netcat-openbsd openssl postgresql procps runc tini uidmap xfsprogs
)
if [ ! -e "$root/ready" ]; then
  rm -rf "$root"
  debootstrap --variant=minbase --include="$(IFS=, && echo "${packages[*]}")" bookworm "$root"
  rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/archives/*.deb
  chroot "$root" useradd --create-home --uid 1000 --user-group --shell /bin/bash vcap
  touch "$root/ready"
fi
if [ "$archive" -nt "$root/ready" ]; then exit; fi
container=$(buildah from scratch)
trap 'buildah rm "$container" >/dev/null' EXIT
buildah add --quiet "$container" "$root" /
rm -f "$archive"
buildah commit --quiet "$container" "oci-archive:$archive"
