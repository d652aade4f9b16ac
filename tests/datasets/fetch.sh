#!/bin/sh
# The fetch scripts without a network: refusals in one sentence, nothing half-written, no second
# download.  Programs that would reach out are replaced by stubs.
# usage: fetch.sh SOURCE_ROOT
set -u
root=$1
if [ -e /usr/share/doc/invesalius-examples/examples/Cranium.inv3 ] ||
  [ -e /usr/share/mricron/templates/ch2.nii.gz ]; then
  echo "1..0 # SKIP the packages are installed, so nothing would be fetched"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/tmp"
for tool in apt-get curl wget; do
  printf '#!/bin/sh\nexit 100\n' >"$work/bin/$tool"
  chmod +x "$work/bin/$tool"
done
printf '#!/bin/sh\ncp "$2" "$3"\n' >"$work/bin/converter"
chmod +x "$work/bin/converter"
export PATH="$work/bin:$PATH" TMPDIR="$work/tmp" PLATYSMA_CLI="$work/bin/converter"

n=0
check() { # TITLE; succeeds with the last status
  status=$?
  n=$((n + 1))
  if [ "$status" -eq 0 ]; then echo "ok $n $1"; else echo "not ok $n $1"; fi
}
echo 1..9

for script in fetch-ct-head fetch-mr-head; do
  out="$work/$script.nii.gz"

  "$root/datasets/$script" "$out" >"$work/stdout" 2>"$work/stderr"
  [ $? -eq 1 ] && [ "$(wc -l <"$work/stderr")" -eq 1 ] && grep -q "check the network" "$work/stderr" &&
    [ ! -e "$out" ]
  check "$script: no network is one sentence"

  echo scan >"$out"
  "$root/datasets/$script" "$out" >/dev/null 2>&1 && [ "$(cat "$out")" = scan ]
  check "$script: an output that is there stays"
  rm "$out"

  "$root/datasets/$script" --nonsense >/dev/null 2>&1
  [ $? -eq 2 ]
  check "$script: unknown options are refused"
done

# a package of the right name with other contents
mkdir -p "$work/deb/DEBIAN" "$work/deb/usr/share/doc/invesalius-examples/examples"
printf 'Package: invesalius-examples\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: none\n' \
  >"$work/deb/DEBIAN/control"
echo other >"$work/deb/usr/share/doc/invesalius-examples/examples/Cranium.inv3"
dpkg-deb --build "$work/deb" "$work/other.deb" >/dev/null 2>&1
printf '#!/bin/sh\ncp "%s/other.deb" invesalius-examples_1_all.deb\n' "$work" >"$work/bin/apt-get"
"$root/datasets/fetch-ct-head" "$work/ct.nii.gz" >"$work/stdout" 2>"$work/stderr"
[ $? -eq 1 ] && grep -q "SHA-256 differs" "$work/stderr" && [ ! -e "$work/ct.nii.gz" ]
check "fetch-ct-head: another file is refused"

PLATYSMA_CLI="$work/none" "$root/datasets/fetch-ct-head" "$work/ct.nii.gz" >/dev/null 2>"$work/stderr"
[ $? -eq 1 ] && grep -q "set PLATYSMA_CLI" "$work/stderr"
check "fetch-ct-head: a missing converter is named"

[ -z "$(ls -A "$work/tmp")" ]
check "no temporary files are left"
