#!/bin/sh
# Makes the readers of other people that tests of exports run: Perfetto's descriptors,
# DuckDB and Arrow for Python, speedscope and a browser's driver for Node.
#   tools.sh python|node FOLDER     into FOLDER, unless they are there already
set -eu
what=$1 folder=$2
PYTHON="perfetto==0.59.1 duckdb==2.0.0 pyarrow==26.0.1"
NODE="speedscope@1.25.0 playwright-core@1.65.1"
mkdir -p "$folder"
exec 9>"$folder/$what.lock"
flock 9
case $what in
python)
  mark="$folder/python/$(echo "$PYTHON" | tr ' =' '__')"
  [ ! -e "$mark" ] || exit 0
  rm -rf "$folder/python"
  python3 -m venv "$folder/python"
  # shellcheck disable=SC2086
  "$folder/python/bin/pip" install --quiet --disable-pip-version-check $PYTHON
  ;;
node)
  mark="$folder/node/$(echo "$NODE" | tr ' @' '__')"
  [ ! -e "$mark" ] || exit 0
  rm -rf "$folder/node"
  mkdir "$folder/node"
  echo '{"private": true}' >"$folder/node/package.json"
  # shellcheck disable=SC2086
  (cd "$folder/node" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --no-audit --no-fund --silent $NODE)
  ;;
esac
touch "$mark"
