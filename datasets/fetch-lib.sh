# Shared by the fetch scripts: one checksummed file out of a Debian package, without installing it.
# shellcheck shell=sh

name=$(basename "$0")
here=$(cd "$(dirname "$0")" && pwd)

say() {
  echo "$name: $*"
}

fail() {
  echo "$name: $*" >&2
  exit 1
}

# The scratch folder goes whatever happens.
work=$(mktemp -d "${TMPDIR:-/tmp}/platysma-fetch.XXXXXX") || fail "no temporary folder can be made"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

matches() { # FILE SHA256
  [ "$(sha256sum "$1" | cut -d ' ' -f 1)" = "$2" ]
}

# Leaves the package as $work/*.deb, through apt; its lists may be missing or old, so they are
# refreshed (where we may) before the second try.
download() ( # PACKAGE
  cd "$work"
  exec >log 2>&1
  get="apt-get -q -o Acquire::Retries=1 -o Acquire::http::Timeout=30"
  $get download "$1" && exit 0
  if [ "$(id -u)" -eq 0 ]; then
    $get update
  elif command -v sudo; then
    sudo -n $get update
  fi
  $get download "$1"
)

# Puts the file PATH (absolute, as installed) of PACKAGE into $work/file, and checks it.
fetch_member() { # PACKAGE PATH SHA256
  if [ -f "$2" ] && matches "$2" "$3"; then # the package happens to be installed
    cp "$2" "$work/file"
    return
  fi
  say "downloading the Debian package $1"
  download "$1" ||
    fail "the package $1 cannot be downloaded; check the network connection and run this again"
  dpkg-deb --fsys-tarfile "$work"/*.deb 2>>"$work/log" | tar -xOf - ".$2" >"$work/file" 2>>"$work/log" ||
    fail "the package $1 holds no $2; Debian may have changed it"
  matches "$work/file" "$3" ||
    fail "$(basename "$2") from the package $1 is not the expected file (SHA-256 differs); run this again"
}

# The output named on the command line, or the default in the cache; leaves when it is there.
target() { # DEFAULT [ARGUMENTS]
  out=${2:-$here/cache/$1}
  case $out in
    -*)
      echo "usage: $name [OUT.nii.gz]   (default: datasets/cache/$1)" >&2
      exit 2
      ;;
  esac
  if [ -f "$out" ]; then
    say "$out is there already"
    exit 0
  fi
  mkdir -p "$(dirname "$out")" || fail "the folder of $out cannot be made"
}
