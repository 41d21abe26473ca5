#!/usr/bin/env bash
# nsys.sh DIR [SUITE]: unpacks Nsight Systems' command line from Debian's non-free
# (trixie: 2023.4.4, bookworm: 2022.4.2) into DIR, as root. It is not installed: that
# would bring the driver's libcuda along and switch the machine's OpenGL.
set -euo pipefail
dir=$1 suite=${2:-trixie}
mirror=$(awk '/^URIs:/ { print $2; exit }' /etc/apt/sources.list.d/debian.sources)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"
chmod 755 "$tmp"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite non-free" >"$tmp/list"
from=(-o "Dir::Etc::sourcelist=$tmp/list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::Lists=$tmp/lists" -o "Dir::Cache=$tmp/cache" -o APT::Sandbox::User=root)
apt-get "${from[@]}" -qq update
(cd "$tmp" && apt-get "${from[@]}" -qq download nsight-systems nsight-systems-target) # 190 MB
apt-get install -y -qq --no-install-recommends libpfm4 libssh-4 ||
	{ apt-get -qq update && apt-get install -y -qq --no-install-recommends libpfm4 libssh-4; }
for deb in "$tmp"/*.deb; do dpkg -x "$deb" "$tmp/root"; done
new=$tmp/new host=$tmp/new/host-linux-x64
mkdir -p "$new/bin"
mv "$tmp/root/usr/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64" "$tmp/root/usr/lib/nsight-systems/host-linux-x64" "$new/"
ln -s ../target-linux-x64/nsys "$new/bin/nsys"
for l in libssh.so libssh.so.4; do
	if [ -L "$host/$l" ]; then ln -sf /usr/lib/x86_64-linux-gnu/libssh.so.4 "$host/$l"; fi
done
if [ -d "$host/python/lib" ]; then cp -n "$new"/target-linux-x64/python/lib/*.py "$host/python/lib/"; fi # stats needs them
rm -f "$host/libQt6WebEngineCore.so.6"
"$new/bin/nsys" --version
rm -rf "$dir"
mv "$new" "$dir"
