#!/usr/bin/env bash
# Runs every fuzz target of the repository for the time given, one after the
# other, and fails if any of them finds something. A finding stays in the
# package's testdata/fuzz, where go test runs it from then on.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-30s}
go=${GO:-go}
status=0
total=0
while IFS= read -r file; do
	package=./$(dirname "$file")
	for name in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		total=$((total + 1))
		echo "== $package $name"
		"$go" test "$package" -run='^$' -fuzz="^$name\$" -fuzztime="$time" -fuzzminimizetime=10x || status=1
	done
done < <(git grep -l --untracked '^func Fuzz' -- '*_test.go')
echo "$total fuzz targets, $time each"
exit $status
