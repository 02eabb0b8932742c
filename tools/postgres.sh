#!/usr/bin/env bash
# Installs the PostgreSQL server that tests start for themselves, where that is
# wanted. Prints the reason and exits with 3 where it is missing and may not be
# installed.
set -euo pipefail

if command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
	exit 0
fi
# An installation changes the machine, so it is done only where that is plainly
# wanted: in CI, or when asked for.
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "PostgreSQL: skipped, it is missing: install the server, version 13 or newer" >&2
	exit 3
fi
if [ "${CI:-}" != true ] && [ "${TENON_INSTALL:-}" != 1 ]; then
	echo "PostgreSQL: skipped, it is missing: TENON_INSTALL=1 lets make install it with apt-get" >&2
	exit 3
fi
echo "PostgreSQL: installing it with apt-get" >&2
# No cluster is made and nothing is started: tests start a server of their own.
mkdir -p /etc/postgresql-common/createcluster.d
echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/tenon.conf
apt-get -o DPkg::Lock::Timeout=120 update -q >&2
DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -q -y --no-install-recommends postgresql >&2
