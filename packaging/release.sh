#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes a release of the commit that is checked out.
#
#     packaging/release.sh VERSION [DIRECTORY]
#
# Writes VERSION into meson.build and include/corral.h, dates the section of CHANGELOG.md, commits,
# tags, and puts the tarball with its checksum into DIRECTORY (default: build-release).
# It pushes nothing.  RELEASE.md has the steps before and after.
#
# Should:   give the same tarball for the same commit, on every machine.
# Must not: change anything before every check has passed.
# Fails:    closed, with the reason, status 1.
set -eu

fail() {
	echo "release: $1" >&2
	echo "  remedy: $2" >&2
	exit 1
}

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	echo "usage: packaging/release.sh VERSION [DIRECTORY]" >&2
	exit 2
fi
version=$1
place=${2-build-release}
tag=v$version
top=$(git rev-parse --show-toplevel) || fail "this is not a git clone" "run it in a clone of the repository"
case $place in
/*) ;;
*) place=$PWD/$place ;;
esac
cd "$top"

# ---- checks ----

echo "$version" | grep -Eqx '(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)' ||
	fail "$version is not a version" "write MAJOR.MINOR.PATCH, such as 1.2.3"
[ -z "$(git status --porcelain)" ] ||
	fail "files differ from the commit" "commit or remove them: git status"
! git rev-parse -q --verify "refs/tags/$tag" >/dev/null ||
	fail "the tag $tag exists" "choose the next version"
newest=$(git tag --list 'v*' | sed 's/^v//' | sort -V | tail -1)
[ -z "$newest" ] || [ "$(printf '%s\n' "$newest" "$version" | sort -V | tail -1)" = "$version" ] ||
	fail "$version is older than $newest" "choose a later version"

# The lines of the section, without its title.
section() {
	awk -v title="## $version (unreleased)" '$0 == title { on = 1; next } /^## / { on = 0 } on' CHANGELOG.md
}
section | grep -q '^- ' ||
	fail "CHANGELOG.md has no entry in a section \"## $version (unreleased)\"" "write what changed for users there"

# ---- the commit ----

date=$(date -u +%Y-%m-%d)
sed -i "1,/version: /s/version: '[^']*'/version: '$version'/" meson.build
sed -i "s/^#define CORRAL_VERSION \".*\"/#define CORRAL_VERSION \"$version\"/" include/corral.h
notes=$(section)
sed -i "s/^## $version (unreleased)\$/## $version ($date)/" CHANGELOG.md
git commit -qas -m "release: $version"

# ---- the tag ----

# --cleanup: git would take lines that begin with # out of the notes.
if [ -n "$(git config user.signingkey || true)" ]; then
	git tag --cleanup=whitespace -s "$tag" -m "Corral $version" -m "$notes"
else
	git tag --cleanup=whitespace -a "$tag" -m "Corral $version" -m "$notes"
	echo "release: $tag is not signed; set user.signingkey to sign" >&2
fi

# ---- the tarball ----

name=corral-$version
mkdir -p "$place"
# gzip -n stores neither name nor time.
git archive --format=tar --prefix="$name/" "$tag" | gzip -9n >"$place/$name.tar.gz"
(cd "$place" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
echo "release: $tag, $place/$name.tar.gz"
