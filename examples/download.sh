# Downloads by curl or wget, whichever is there. Sourced by fetch.sh and fetch-minilm.sh.

can_download() {
    command -v curl >/dev/null 2>&1 || command -v wget >/dev/null 2>&1
}

# download ADDRESS FILE
download() {
    if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --retry 2 --output "$2" "$1"
    else
        wget --quiet --tries=3 --output-document="$2" "$1"
    fi
}
