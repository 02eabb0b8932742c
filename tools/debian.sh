#!/usr/bin/env bash
# Installs the programs of testdata/debian/programs that are missing, where that is
# wanted. Prints the reason and exits with 3 where some are missing and may not be
# installed.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
packages=()
while read -r program needs; do
	case $program in
	'' | '#'*) continue ;;
	/*) compgen -G "$program" >/dev/null && continue ;;
	*) PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null && continue ;;
	esac
	missing+=("${program##*/}")
	read -ra needs <<<"$needs"
	packages+=("${needs[@]}")
done <testdata/debian/programs
[ ${#missing[@]} -gt 0 ] || exit 0

# An installation changes the machine, so it is done only where that is plainly
# wanted: in CI, or when asked for.
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "skipped, missing: ${missing[*]} (of ${packages[*]} in Debian)" >&2
	exit 3
fi
if [ "${CI:-}" != true ] && [ "${TENON_INSTALL:-}" != 1 ]; then
	echo "skipped, missing: ${missing[*]}: TENON_INSTALL=1 lets make install them with apt-get" >&2
	exit 3
fi
echo "installing with apt-get: ${packages[*]}" >&2
# No service is started and no cluster is made: tests start what they need.
mkdir -p /etc/postgresql-common/createcluster.d
echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/tenon.conf
if [ ! -e /usr/sbin/policy-rc.d ]; then
	trap 'rm -f /usr/sbin/policy-rc.d' EXIT
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
	chmod +x /usr/sbin/policy-rc.d
fi
apt-get -o DPkg::Lock::Timeout=120 update -q >&2
DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -q -y --no-install-recommends "${packages[@]}" >&2
