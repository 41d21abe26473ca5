# keeper.sh DIR TAG NET NODES: holds a cluster as long as its standard input is
# open, however the test that holds the other end comes to its end, and then
# removes all of it. Its processes are those of one PID namespace: when the first
# of them ends, the kernel kills the others.
dir=$1 tag=$2 nodes=$4
unshare --mount --uts --pid --fork --kill-child sh "$dir/cluster.sh" "$@"
cat >/dev/null # should the cluster have ended by itself, the test can read why
i=0
while [ $((i += 1)) -le "$nodes" ]; do ip link del "${tag}n$i" 2>/dev/null; done
ip link del "$tag"
rm -rf "$dir"
