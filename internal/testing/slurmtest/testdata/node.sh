# node.sh DIR TAG NET I HOST: the first process of a node, in namespaces of its
# own. It reaps orphans, and takes every process of the node with it. HOST is a
# process in the host's network.
set -e
dir=$1 tag=$2 net=$3 i=$4 host=$5
read -r self _ </proc/self/stat # its number on the host, whose /proc this still is

outside=/proc/$host/ns/net
ip link add eth0 type veth peer name "${tag}n$i" netns "$outside"
nsenter --net="$outside" ip link set "${tag}n$i" master "$tag" up
ip link set lo up
ip addr add "$net.$i/24" dev eth0
ip link set eth0 up
ip route add default via "$net.254"

hostname "node$i"
mount -t tmpfs tmpfs /dev/shm
# nsys names its sessions by the numbers of processes, and keeps them here: two nodes
# that shared both would meet one another's.
[ -d /tmp/nvidia ] || mkdir -m 1777 /tmp/nvidia
mount -t tmpfs tmpfs /tmp/nvidia
while read -r options path; do mount -t tmpfs -o "$options" tmpfs "$path"; done <"$dir/etc/tmpfs.node$i"
mount -t proc proc /proc

echo "$self" >"$dir/run/node$i.new"
mv "$dir/run/node$i.new" "$dir/run/node$i"
# A slurmd that finds no controller waits for seconds before it asks again.
until scontrol ping >/dev/null 2>&1; do sleep 0.02; done
# slurmstepd reads the machine's topology for every step; hwloc's x86 component
# takes up to a second for that in a virtual machine.
HWLOC_COMPONENTS=-x86,-opencl,-gl slurmd -D &
wait $!
