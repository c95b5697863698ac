#!/usr/bin/env bash
# build.sh SOURCES ROOT OUT: compiled releases of the slice in OUT, from checkouts of their repositories in SOURCES.
# Jobs are those of the repositories, unchanged. Of the packages, programs in Go are built here from the repositories; those in C, whose sources are
# blobs, are Debian's, from ROOT, the root file system of the stemcell image. Packages that no job of the slice runs are empty.
set -euo pipefail
sources=$(realpath "$1") root=$(realpath "$2") out=$(realpath --canonicalize-missing "$3")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export GOFLAGS='-mod=vendor -buildvcs=false -p=2' GOTOOLCHAIN=local CGO_ENABLED=0
stemcell=ubuntu-jammy/1.621
time=(--mtime=@0 --owner=0 --group=0 --sort=name)

# release NAME VERSION CHECKOUT JOB...
release() {
  name=$1 version=$2 checkout=$3
  shift 3
  work=$out/$name
  rm -rf "$work"
  mkdir -p "$work/jobs" "$work/compiled_packages" "$work/content"
  printf -- '---\nname: %s\nversion: "%s"\ncommit_hash: none\nuncommitted_changes: false\njobs:\n' "$name" "$version" >"$work/release.MF"
  local job
  for job; do
    tar --create --gzip "${time[@]}" --file "$work/jobs/$job.tgz" --transform='s:^\./spec$:./job.MF:' --directory "$checkout/jobs/$job" .
    entry "$job" "jobs/$job.tgz" >>"$work/release.MF"
  done
  echo compiled_packages: >>"$work/release.MF"
}

# entry NAME FILE: of the release's manifest.
entry() {
  local sum
  sum=$(sha256sum "$work/$2" | cut -d' ' -f1)
  printf -- '- {name: %s, version: %s, fingerprint: %s, sha1: "sha256:%s"' "$1" "$sum" "$sum" "$sum"
  if [ "${2%%/*}" = jobs ]; then echo '}'; else printf ', stemcell: %s, dependencies: []}\n' "$stemcell"; fi
}

# go_programs MODULE PACKAGE=IMPORT...: programs of a module, each in the directory bin of its package.
go_programs() {
  local module=$checkout/src/$1 each
  shift
  for each; do
    mkdir -p "$work/content/${each%%=*}/bin"
    (cd "$module" && go build -ldflags '-s -w' -o "$work/content/${each%%=*}/bin/" "${each#*=}")
  done
}

# put PACKAGE PATH SOURCE
put() { install -D "$3" "$work/content/$1/$2"; }

empty() {
  local package
  for package; do mkdir -p "$work/content/$package"; done
}

pack() {
  local package
  for package in "$work/content"/*; do
    [ -d "$package" ] || continue
    local file=compiled_packages/$(basename "$package").tgz
    tar --create --gzip "${time[@]}" --file "$work/$file" --directory "$package" .
    entry "$(basename "$package")" "$file" >>"$work/release.MF"
  done
  rm -rf "$work/content"
  tar --create --gzip "${time[@]}" --file "$out/$name.tgz" --directory "$work" ./release.MF ./jobs ./compiled_packages
  rm -rf "$work"
  echo "$out/$name.tgz"
}

release base 2 "$here/base" postgres directories
pack

release bosh-dns-aliases 0.0.4 "$sources/bosh-dns-aliases-release" bosh-dns-aliases
pack

release nats 56.26.0 "$sources/nats-release" nats-tls
go_programs code.cloudfoundry.org nats-server=github.com/nats-io/nats-server/v2 nats-v2-migrate=./nats-v2-migrate/cmd/migrate \
  nats-v2-migrate=./nats-v2-migrate/nats-wrapper nats-v2-migrate=./nats-v2-migrate/cmd/fail-deployment-on-v1 nats-tls-healthcheck=./nats-tls-healthcheck
put pid_utils pid_utils.sh "$checkout/src/code.cloudfoundry.org/pid_utils.sh"
empty gnatsd
pack

release routing 0.317.0 "$sources/routing-release" gorouter
go_programs code.cloudfoundry.org gorouter=./gorouter
go_programs routing_utils/nats_client routing_utils=.
for script in pid_utils.sh syslog_utils.sh; do put routing_utils $script "$checkout/src/routing_utils/$script"; done
# The package is an archive of another release.
checkout=$sources/healthchecker-release
go_programs code.cloudfoundry.org routing-healthchecker=./healthchecker/cmd/healthchecker
put routing-healthchecker bin/restart-monit-job "$checkout/src/restart-monit-job"
pack

release diego 2.105.0 "$sources/diego-release" bbs locket auctioneer file_server rep route_emitter cfdot
go_programs code.cloudfoundry.org bbs=./bbs/cmd/bbs locket=./locket/cmd/locket auctioneer=./auctioneer/cmd/auctioneer \
  file_server=./fileserver/cmd/file-server rep=./rep/cmd/rep rep=./rep/cmd/gocurl route_emitter=./route-emitter/cmd/route-emitter cfdot=./cfdot \
  healthcheck=./healthcheck/cmd/healthcheck certsplitter=code.cloudfoundry.org/certsplitter/cmd/certsplitter
mv "$work/content/healthcheck/bin/healthcheck" "$work/content/healthcheck/healthcheck"
put pid_utils pid_utils.sh "$checkout/src/pid_utils.sh"
empty proxy buildpack_app_lifecycle docker_app_lifecycle windows_app_lifecycle cnb_app_lifecycle
pack

release garden-runc 1.58.0 "$sources/garden-runc-release" garden
go_programs guardian guardian=./cmd/gdn guardian=./cmd/dadoo guardian=./cmd/socket2me
go_programs idmapper garden-idmapper=./cmd/newuidmap garden-idmapper=./cmd/newgidmap garden-idmapper=./cmd/maximus
chmod u+s "$work/content/garden-idmapper/bin"/*
go_programs greenskeeper greenskeeper=./cmd/greenskeeper
put greenskeeper bin/system-preparation "$checkout/src/greenskeeper/scripts/system-preparation"
go_programs grootfs grootfs=.
go_programs thresholder thresholder=.
guardian=$checkout/src/guardian
cc -static -o "$work/content/guardian/bin/init" "$guardian/cmd/init"/{init,ignore_sigchild}.c
cc -static -w -o "$work/content/guardian/bin/nstar" "$guardian/rundmc/nstar"/{nstar,pwd}.c
put runc bin/runc "$root/usr/sbin/runc"
put tar tar "$root/bin/busybox"
put tini bin/tini "$root/usr/bin/tini-static"
# The root file system of apps.
apps=$work/apps
mkdir -p "$apps"/{bin,dev,etc,home/vcap,proc,root,sys,tmp}
chmod 1777 "$apps/tmp"
install "$root/bin/busybox" "$apps/bin/busybox"
for command in $("$root/bin/busybox" --list); do [ "$command" = busybox ] || ln -s busybox "$apps/bin/$command"; done
# rep checks garden's health with a container and a process of vcap in it.
printf '%s\n' root:x:0:0:root:/root:/bin/sh vcap:x:2000:2000:vcap:/home/vcap:/bin/sh >"$apps/etc/passwd"
printf '%s\n' root:x:0: vcap:x:2000: >"$apps/etc/group"
mkdir -p "$work/content/busybox"
tar --create "${time[@]}" --file "$work/content/busybox/busybox-1.36.1.tar" --directory "$apps" .
empty iptables containerd xfs-progs dontpanic
pack

[ "${NETWORK:-garden}" = silk ] || exit 0

release silk 3.53.0 "$sources/silk-release" netmon silk-cni silk-controller silk-daemon silk-datastore-syncer vxlan-policy-agent
go_programs code.cloudfoundry.org netmon=./netmon/cmd/netmon silk-controller=./silk/cmd/silk-controller silk-datastore-syncer=./silk-datastore-syncer \
  silk-cni=github.com/containernetworking/plugins/plugins/meta/bandwidth silk-cni=github.com/containernetworking/plugins/plugins/ipam/host-local \
  silk-cni=./silk/cmd/silk-cni silk-cni=./cni-teardown silk-cni=./cni-wrapper-plugin \
  silk-daemon=./silk/cmd/silk-daemon silk-daemon=./silk/cmd/silk-teardown silk-daemon=./silk-daemon-shutdown silk-daemon=./silk-daemon-bootstrap \
  vxlan-policy-agent=./vxlan-policy-agent/cmd/vxlan-policy-agent vxlan-policy-agent=./vxlan-policy-agent/cmd/pre-start
put silk-ctl-utils ctl_util.sh "$checkout/src/code.cloudfoundry.org/silk-ctl-utils/ctl_util.sh"
checkout=$sources/healthchecker-release
go_programs code.cloudfoundry.org silk-healthchecker=./healthchecker/cmd/healthchecker
put silk-healthchecker bin/restart-monit-job "$checkout/src/restart-monit-job"
pack

release cf-networking 3.53.0 "$sources/cf-networking-release" garden-cni policy-server policy-server-internal
go_programs code.cloudfoundry.org policy-server=./policy-server/cmd/policy-server policy-server=./policy-server/cmd/policy-server-internal \
  policy-server=./policy-server/cmd/migrate-db runc-cni=./garden-external-networker
put networking-ctl-utils ctl_util.sh "$checkout/src/code.cloudfoundry.org/networking-ctl-utils/ctl_util.sh"
chmod u+s "$work/content/runc-cni/bin/garden-external-networker"
pack
