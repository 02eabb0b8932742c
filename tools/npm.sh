#!/usr/bin/env bash
# Installs the packages of a folder of testdata into .cache, exactly as its lock
# file says: "npm" (the tool servers that the tests run against) when none is
# named, or "conformance". It does nothing when that lock is already installed.
# Prints the reason and exits with 3 when Node.js is missing and may not be
# installed.
set -euo pipefail
cd "$(dirname "$0")/.."

set=${1:-npm}
lock=testdata/$set
into=.cache/$set
[ "$set" != npm ] || into=${TENON_TEST_NPM:-$into}
stamp=$into/.installed

hash=$(cat $lock/package.json $lock/package-lock.json $lock/.npmrc | cksum)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$hash" ]; then
	exit 0
fi

# An installation changes the machine, so it is done only where that is plainly
# wanted: in CI, or when asked for.
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "npm tool servers: skipped, node and npm are missing: install Node.js 20 or newer" >&2
		exit 3
	fi
	if [ "${CI:-}" != true ] && [ "${TENON_INSTALL:-}" != 1 ]; then
		echo "npm tool servers: skipped, node and npm are missing: TENON_INSTALL=1 lets make install them with apt-get" >&2
		exit 3
	fi
	echo "npm tool servers: installing nodejs and npm with apt-get" >&2
	apt-get update -q >&2
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends nodejs npm >&2
fi

mkdir -p "$into"
cp $lock/package.json $lock/package-lock.json $lock/.npmrc "$into"
(cd "$into" && npm ci --no-progress --loglevel=error >&2)
echo "$hash" >"$stamp"
echo "npm packages of $lock: installed $(ls "$into"/node_modules/@modelcontextprotocol | tr '\n' ' ')" >&2
