#!/bin/sh
# The files a desktop reads are valid, and every file with words for users is listed for translators.
# usage: desktop.sh SOURCE-DIR METAINFO DESKTOP
set -u
source=$1 metainfo=$2 desktop=$3
echo 1..4

check() { # NUMBER NAME COMMAND...: skipped where the command is not installed
  number=$1 name=$2
  shift 2
  if ! command -v "$1" >/dev/null; then
    echo "ok $number - $name # SKIP $1 is not installed"
  elif message=$("$@" 2>&1); then
    echo "ok $number - $name"
  else
    echo "$message" | sed 's/^/# /'
    echo "not ok $number - $name"
  fi
}

check 1 "the description is valid" appstreamcli validate --no-net "$metainfo"
check 2 "the launcher is valid" desktop-file-validate "$desktop"
check 3 "the preferences are valid" glib-compile-schemas --dry-run --strict "$source/ui/data"

cd "$source" || exit 1
missing=
for file in $(grep -rlE '\b(_|N_|C_|ngettext)\("|translatable="yes"' ui --include='*.c' --include='*.ui'); do
  grep -qx "$file" po/POTFILES || missing="$missing $file"
done
for file in $(grep -v '^#' po/POTFILES); do
  [ -f "$file" ] || missing="$missing $file(gone)"
done
if [ -z "$missing" ]; then
  echo "ok 4 - po/POTFILES is complete"
else
  echo "# not as listed:$missing"
  echo "not ok 4 - po/POTFILES is complete"
fi
