#!/bin/sh
# Writes voyage.*, ledger.*, catch.* and lecture.* anew from the flat OpenDocument files of the same
# names: sh make.sh. It wants LibreOffice (writer, calc and impress) and nothing else.
set -eu
cd "$(dirname "$0")"
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
convert() { # FROM TO[:FILTER]
	soffice -env:UserInstallation="file://$profile" --headless --convert-to "$2" --outdir . "$1" >/dev/null 2>&1
}
for to in odt docx rtf doc html epub pdf txt:'Text (encoded):UTF8'; do convert voyage.fodt "$to"; done
for to in ods xlsx xls html csv:'Text - txt - csv (StarCalc):44,34,76,1,,0,false,true'; do convert ledger.fods "$to"; done
for to in ods xlsx xls; do convert catch.fods "$to"; done # with charts
for to in odp pptx ppt; do convert lecture.fodp "$to"; done
gzip -9 -n -f lecture.ppt # most of it is an image of the first slide, unpacked
rm -f *_html_*.png
