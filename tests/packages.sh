#!/bin/sh
# The package list is complete: apt can install all of it, and every library that the programs link
# comes from a listed package or from one that a listed package depends on.
# usage: packages.sh SOURCE-DIR BINARY...
set -eu
list=$1/.ci/packages
shift
names=$(sed -n 's/^\(run\|check\) //p' "$list")
run_names=$(sed -n 's/^run //p' "$list")

echo 1..2
if apt-get install --simulate --no-install-recommends -qq $names >/dev/null 2>&1; then
  echo "ok 1 - every listed package exists"
else
  echo "not ok 1 - every listed package exists"
fi

# a clang build, which only ./check makes, brings its own OpenMP
ldd "$@" | grep -q libomp && run_names=$names
closure=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
  --no-replaces --no-enhances $run_names 2>/dev/null | sed -n 's/^\([a-z0-9][^ :]*\).*/\1/p' | sort -u)
# dpkg knows a library by the path it was packed under, with or without /usr; what it does not know is built here
libraries=$(ldd "$@" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u)
real=$(readlink -f $libraries)
packages=$(dpkg -S $libraries $real $(echo "$real" | sed 's|^/usr||') 2>/dev/null | sed 's/:.*//' | sort -u)
missing=$(echo "$packages" | grep -vxF "$closure" || true)
if [ -z "$missing" ]; then
  echo "ok 2 - every linked library is listed"
else
  echo "# not reachable from the list: $(echo $missing)"
  echo "not ok 2 - every linked library is listed"
fi
