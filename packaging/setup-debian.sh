#!/bin/sh
# Installs what building and testing Tenon needs on Debian 12 (or a relative of it). Only missing
# packages are installed; the apt line is printed before it runs. Does nothing on other systems.
set -eu

packages="
g++ make cmake ninja-build ccache
libboost-dev libboost-program-options-dev nlohmann-json3-dev
libgtest-dev googletest libbenchmark-dev
binutils python3 pkgconf
g++-aarch64-linux-gnu qemu-user
"

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: no Debian packages here; these are needed:" $packages >&2
    exit 0
fi

missing=
for p in $packages; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || true)" = installed ] || missing="$missing $p"
done
[ -z "$missing" ] && exit 0

sudo=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || { echo "setup: not root and no sudo; missing:$missing" >&2; exit 1; }
    sudo=sudo
fi
echo "+ $sudo apt-get install -y --no-install-recommends$missing"
# The package lists may be old or absent on a fresh machine.
if ! $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; then
    $sudo apt-get update
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
fi
