#!/bin/sh
# The browser test with all of its set-up: chromium, the driver, the pages.
#   tests/browser/run.sh [SHOTS]     pictures of every page into SHOTS
# CARGO_TARGET_DIR, where it is set, has to be a full path.
set -eu
shots=${1:-}
case $shots in "" | /*) ;; *) shots=$PWD/$shots ;; esac
here=$(cd "$(dirname "$0")" && pwd)

for tool in node npm cargo; do
  command -v "$tool" >/dev/null || { echo "browser test: $tool is missing; install it and run this again" >&2; exit 1; }
done
CHROMIUM=${CHROMIUM:-/usr/bin/chromium}
export CHROMIUM
if [ ! -x "$CHROMIUM" ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "browser test: $CHROMIUM is missing; run: sudo apt-get install -y chromium" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 chromium fonts-dejavu-core
fi
if [ ! -d "$here/node_modules/playwright-core" ] || [ ! -d "$here/node_modules/axe-core" ]; then
  (cd "$here" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --no-audit --no-fund --silent)
fi
echo "browser: writing the pages"
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
(cd "$here/../.." && RTSCOPE_PAGES=$pages cargo test --quiet --profile tests --workspace --test unit -- pages_are_written)
(cd "$here/../.." && cargo build --quiet --profile tests --workspace --bins --examples)
built=${CARGO_TARGET_DIR:-$here/../../target}/tests
cd "$here"
status=0
node test.mjs "$pages" $shots || status=1
node view.mjs "$built" $shots || status=1
exit $status
