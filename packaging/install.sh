#!/bin/sh
# Installs jobmeter from this archive, without root: ./install.sh [--prefix FOLDER] [--uninstall]
# The usual prefix is ~/.local; nothing outside of it is touched.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=${HOME:-}/.local
action=install
while [ $# -gt 0 ]; do
    case $1 in
        --prefix) prefix=${2:?--prefix needs a folder}; shift ;;
        --prefix=*) prefix=${1#--prefix=} ;;
        --uninstall) action=uninstall ;;
        *) echo "usage: ./install.sh [--prefix FOLDER] [--uninstall]" >&2; exit 2 ;;
    esac
    shift
done
cd "$here"
find bin share -type f | while read -r file; do
    if [ "$action" = install ]; then
        mkdir -p "$prefix/$(dirname "$file")"
        # Aside and then moved: a jobmeter that is at work keeps its file.
        cp "$file" "$prefix/$file.new"
        mv -f "$prefix/$file.new" "$prefix/$file"
    else
        rm -f "$prefix/$file"
    fi
done
if [ "$action" = uninstall ]; then
    rmdir "$prefix/share/doc/jobmeter" 2>/dev/null || true
    echo "removed jobmeter from $prefix"
    exit 0
fi
"$prefix/bin/jobmeter" --version
case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) echo "installed to $prefix/bin, which is not in PATH; add it with: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
