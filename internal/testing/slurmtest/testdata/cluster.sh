# cluster.sh DIR TAG NET NODES: the first process of a cluster, in a PID namespace
# of its own. /proc still is the host's here: /proc/self tells this process's
# number on the host.
set -e
dir=$1 tag=$2 net=$3 nodes=$4
read -r self _ </proc/self/stat
hostname controller
mount --bind "$dir/etc/hosts" /etc/hosts
# Unknown names fail at once: nodes have no way to a name server.
if [ -e /etc/resolv.conf ]; then mount --bind "$dir/etc/resolv.conf" /etc/resolv.conf; fi
munged --foreground --key-file="$dir/key/munge.key" --socket="$dir/run/munge.sock" --pid-file="$dir/run/munged.pid" \
	--log-file="$dir/log/munged.log" --seed-file="$dir/key/munged.seed" --num-threads=4 --force </dev/null >"$dir/log/munged.err" 2>&1 &
until [ -S "$dir/run/munge.sock" ]; do sleep 0.02; done
slurmctld -D </dev/null >"$dir/log/slurmctld.err" 2>&1 &
i=0
while [ $((i += 1)) -le "$nodes" ]; do
	unshare --net --mount --uts --ipc --pid --fork --kill-child sh "$dir/node.sh" "$dir" "$tag" "$net" "$i" "$self" \
		</dev/null >"$dir/log/node$i.err" 2>&1 &
done
exec 3<&0
cat <&3 >/dev/null &
wait $! # which also reaps whatever else ends
