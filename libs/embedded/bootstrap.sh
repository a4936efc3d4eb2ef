#!/bin/sh
# Everything that penstock needs on a machine with only Python, make, git and a package manager.
#
# In:  nothing; it may be called from anywhere, as often as you like. PENSTOCK_PYTHON names the Python to use.
# Out: .tools/ (uv, pinned), .venv/ (exactly uv.lock), and a Java that can run Kafka and Spark.
# A second run finds all of it and says nothing. What cannot be had ends it with one sentence.
set -eu

UV_VERSION=0.13.7
JAVA_MIN=17
JAVA_MODULE=jdk.incubator.vector
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)

say() { printf '==> %s\n' "$*"; }
fail() { printf 'penstock: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Runs a command as root where that needs no password.
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# Which package manager we may use; fails where there is none, or it would ask for a password.
find_installer() {
    if have brew; then echo brew && return 0; fi
    [ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2>/dev/null; } || return 1
    for name in apt-get dnf yum zypper pacman apk; do
        if have "$name"; then echo "$name" && return 0; fi
    done
    return 1
}

install() {
    case $installer in
        brew) brew install "$1" ;;
        apt-get) as_root apt-get update -q && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$1" ;;
        zypper) as_root zypper --non-interactive install "$1" ;;
        pacman) as_root pacman -Sy --noconfirm --needed "$1" ;;
        apk) as_root apk add "$1" ;;
        *) as_root "$installer" install -y "$1" ;;
    esac
}

is_python() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    # A .venv that is there keeps its Python: another one would have it removed and made anew.
    if [ -z "${PENSTOCK_PYTHON:-}" ] && is_python "$root/.venv/bin/python"; then
        printf '%s\n' "$root/.venv/bin/python"
        return 0
    fi
    for name in ${PENSTOCK_PYTHON:-python3.14 python3.13 python3.12 python3.11 python3}; do
        if have "$name" && is_python "$name"; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

# Debian keeps it in a package of its own.
make_venv_module() {
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    installer=$(find_installer) || fail "$python has no venv module: install the package $package."
    say "installing $package"
    install "$package" || fail "$installer could not install $package; its message is above."
}

make_tools() {
    tools=$root/.tools
    [ "$(cat "$tools/uv.version" 2>/dev/null)" = "$UV_VERSION" ] && [ -x "$tools/bin/uv" ] && return 0
    "$python" -c 'import ensurepip' 2>/dev/null || make_venv_module
    say "installing uv $UV_VERSION into .tools"
    rm -rf "$tools"
    "$python" -m venv "$tools" || fail "$python could not make a virtual environment in $tools."
    "$tools/bin/python" -m pip install --disable-pip-version-check --quiet "uv==$UV_VERSION" ||
        fail "pip could not install uv $UV_VERSION: is the network, or your package index, there?"
    printf '%s\n' "$UV_VERSION" >"$tools/uv.version"
}

# The stamp is older than what it depends on, or there is none.
is_stale() {
    [ -x "$root/.venv/bin/python" ] && [ -f "$stamp" ] || return 0
    for file in "$root/uv.lock" "$root"/pyproject.toml "$root"/*/pyproject.toml "$root"/*/*/pyproject.toml; do
        [ -f "$file" ] && [ "$file" -nt "$stamp" ] && return 0
    done
    return 1
}

sync_packages() {
    stamp=$root/.venv/penstock-synced
    is_stale || return 0
    say "installing the locked packages into .venv"
    (cd "$root" && UV_PYTHON=$python UV_PYTHON_DOWNLOADS=never "$root/.tools/bin/uv" sync --locked) ||
        fail "uv could not install the locked packages; its message is above."
    : >"$stamp"
}

# java_fault JAVA: what is wrong with it, empty when nothing is.
java_fault() {
    answer=$("$1" -XshowSettings:properties --list-modules 2>&1 </dev/null) || :
    major=$(printf '%s\n' "$answer" | sed -n 's/^ *java\.version = \(1\.\)\{0,1\}\([0-9][0-9]*\).*/\2/p' | head -n 1)
    if [ -z "$major" ]; then echo "did not say its version"
    elif [ "$major" -lt "$JAVA_MIN" ]; then echo "is Java $major"
    elif ! printf '%s\n' "$answer" | grep -q "^$JAVA_MODULE"; then echo "lacks the module $JAVA_MODULE"
    fi
}

# Homebrew keeps its Java off the PATH.
brewed_java() {
    brew=$(command -v brew 2>/dev/null) && echo "$(dirname -- "$(dirname -- "$brew")")/opt/openjdk@21/bin/java"
}

# Sets java_found to what was wrong with each Java; succeeds at the first one that is right.
find_java() {
    java_found=
    for java in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java 2>/dev/null)" "$(brewed_java)"; do
        [ -n "$java" ] && [ -x "$java" ] || continue
        fault=$(java_fault "$java")
        [ -n "$fault" ] || return 0
        java_found="${java_found:+$java_found; }$java $fault"
    done
    return 1
}

java_packages() {
    case $installer in
        apt-get) echo default-jre-headless openjdk-17-jre-headless ;;
        pacman) echo jre21-openjdk-headless jre17-openjdk-headless ;;
        apk) echo openjdk21-jre-headless openjdk17-jre-headless ;;
        brew) echo openjdk@21 ;;
        *) echo java-21-openjdk-headless java-17-openjdk-headless ;;
    esac
}

make_java() {
    find_java && return 0
    if installer=$(find_installer); then
        for package in $(java_packages); do
            say "no usable Java (${java_found:-none found}): installing $package"
            install "$package" && find_java && return 0
        done
    fi
    fail "Java $JAVA_MIN or newer with the module $JAVA_MODULE is needed (${java_found:-no java in JAVA_HOME or on PATH}): install your system's full headless JRE, for example openjdk-17-jre-headless."
}

python=$(find_python) ||
    fail "Python 3.11 or newer is needed and none was found: install it, or name one in PENSTOCK_PYTHON."
make_tools
sync_packages
make_java
