# The first process of a node: gives it mounts and a network of its own, says so by a file, and reaps orphans. When it is killed, the kernel
# ends everything else in the node, and with that the mounts and the network go.
#   first.sh FILE KIND...    the kinds are those of control groups: controllers of version 1, or "unified"
set -eu
ready=$1
shift
hostname node
# A volume that is mounted for a pod has to appear in it, and nowhere else on this machine.
mount --make-rshared /
for place in /run /var/lib /var/log; do
  mount -t tmpfs -o mode=755 tmpfs "$place"
done
mkdir -p /var/lib/kubelet /var/lib/cni /var/log/pods /var/log/containers
# A new one, because the old one shows another network. It hides the control groups, of which the node sees its own only.
mount -t sysfs sysfs /sys
if [ "$1" = unified ]; then
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
else
  mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
  for kind; do
    place=/sys/fs/cgroup/${kind#name=}
    mkdir "$place"
    case $kind in name=*) kind=none,$kind ;; esac
    mount -t cgroup -o "$kind" cgroup "$place"
  done
fi
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
: >"$ready"
while :; do
  sleep 3600 &
  wait
done
