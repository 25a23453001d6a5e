# SPDX-License-Identifier: BSD-2-Clause
"""Debian's kernels: the packages of a suite, and their files. Package lists are kept apart from the machine's own.

A kernel is asked for as a suite (bookworm, trixie-backports, sid: the kernel that its metapackage names), a suite and a
flavour (trixie-rt), `newest` (of all suites), `all` (the newest of each minor version, and trixie-rt), a package
(linux-image-6.18.15+deb13-cloud-amd64), or one of the words of arm64.py.
"""
import dataclasses
import glob
import os
import re
import shutil
import subprocess
import time

ARCH = "amd64"
QEMU = "qemu-system-x86_64"
FLAVOURS = ("cloud", "rt")
SUITES = ("bookworm", "bookworm-backports", "trixie", "trixie-backports", "forky", "sid")
SECURED = ("bookworm", "trixie")        # suites that a suite of security updates belongs to
NEW = ("trixie-backports", "sid")       # where the newest kernel is
ALSO = "trixie-rt"                      # in `all`: the kernel whose locks sleep
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
LISTS_LAST = 12 * 3600                  # seconds until package lists are asked for again
IMAGE = re.compile(rf"linux-image-(\d+\.\d+\.\d[^-]*(?:-\d+)?)-({'|'.join(FLAVOURS)})-{ARCH}(-unsigned)?$")
BINARY = re.compile(r"linux-binary-(?:unsigned-)?\d")   # what has the kernel of 7.x; its modules are not needed


class Unavailable(Exception):
    """Why a kernel cannot be had: a sentence."""


@dataclasses.dataclass
class Kernel:
    name: str           # as it was asked for
    package: str
    version: str        # of the package
    folder: str = ""    # where it is unpacked
    arch: str = ARCH
    variant: str = ""   # of the machine
    arguments: tuple = ()   # for qemu, beside those of every machine
    append: str = ""    # to the kernel's command line
    threads: str = "multi"  # of qemu: one for each CPU, or a "single" one

    @property
    def label(self):
        return self.package + ("-" + self.variant.replace(" ", "-") if self.variant else "")

    def file(self, *patterns):
        found = [path for pattern in patterns for path in glob.glob(os.path.join(self.folder, pattern))]
        return found[0] if found else None

    def __str__(self):
        return f"{self.label} {self.version or '(fetched before)'}"

    def image(self):
        return self.file("boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz")


def numbers(version):
    """What Debian's versions of kernels are ordered by."""
    return [int(n) for n in re.findall(r"\d+", version)]


def mirrors():
    """(Debian's, that of its security updates): this machine's, or those that MIRROR and SECURITY_MIRROR name."""
    got = subprocess.run(["apt-get", "indextargets", "--no-release-info", "--format", "$(SITE) $(RELEASE)",
                          "Created-By: Packages"], capture_output=True, text=True, check=False)
    sites = {}
    for line in got.stdout.splitlines():
        site, release = line.split()
        sites.setdefault("security" if release.endswith("-security") else "main", site)
    main = os.environ.get("MIRROR") or sites.get("main")
    if not main or not os.path.exists(KEYS):
        raise Unavailable("no mirror of Debian is known here: MIRROR=URL names one, and the package "
                          "debian-archive-keyring its keys")
    return main, os.environ.get("SECURITY_MIRROR") or sites.get("security")


class Archive:
    """Package lists of some suites, and what they name. Of another architecture: as if nothing were installed."""

    def __init__(self, folder, suites, arch=ARCH):
        self.folder, self.arch = folder, arch
        self.apt = os.path.join(folder, "apt" if arch == ARCH else "apt-" + arch)
        self.config = os.path.join(self.apt, "apt.conf")
        self.packages = {}      # (suite, package): its newest fields
        for name, path in self._refresh(suites).items():
            suite = name.removesuffix("-security")
            if suite in suites:
                self._read(suite, path)

    def _write(self, suites):
        main, security = mirrors()
        options = f"[arch={self.arch} signed-by={KEYS}]"
        lines = [f"deb {options} {main} {suite} main" for suite in suites]
        lines += [f"deb {options} {security} {suite}-security main" for suite in suites
                  if suite in SECURED and security]
        for place in "etc", "lists/partial", "cache/archives/partial":
            os.makedirs(os.path.join(self.apt, place), exist_ok=True)
        with open(os.path.join(self.apt, "etc/sources.list"), "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        with open(self.config, "w", encoding="ascii") as file:
            file.write(f'Dir::Etc::sourcelist "{self.apt}/etc/sources.list";\nDir::Etc::sourceparts "/dev/null";\n'
                       f'Dir::Etc::preferences "/dev/null";\nDir::Etc::preferencesparts "/dev/null";\n'
                       f'Dir::State::Lists "{self.apt}/lists";\nDir::Cache "{self.apt}/cache";\n'
                       'APT::Sandbox::User "root";\nAcquire::Check-Valid-Until "false";\nAcquire::Languages "none";\n'
                       'Acquire::Retries "2";\nAcquire::http::Timeout "30";\n')
            if self.arch != ARCH:
                file.write(f'APT::Architecture "{self.arch}";\nAPT::Architectures {{ "{self.arch}"; }};\n'
                           f'Dir::State::status "{os.devnull}";\n')

    def _apt(self, *argv, **options):
        return subprocess.run(argv, capture_output=True, text=True, check=False,
                              env={**os.environ, "APT_CONFIG": self.config, "LC_ALL": "C"}, **options)

    def apt_get(self, *argv, **options):
        return self._apt("apt-get", "-q", *argv, **options)

    def _targets(self):
        """{suite: its lists}"""
        got = self._apt("apt-get", "indextargets", "--format", "$(CODENAME) $(FILENAME)", "Created-By: Packages")
        pairs = [line.split() for line in got.stdout.splitlines()]
        return {suite: path for suite, path in pairs if os.path.exists(path)}

    def _refresh(self, suites):
        """{suite: its list}. Lists that are old, or lack a suite, are fetched; without a network old ones do."""
        have = self._targets() if os.path.exists(self.config) else {}
        age = time.time() - max([os.stat(path).st_ctime for path in have.values()], default=0)
        if set(suites) <= set(have) and age < LISTS_LAST:
            return have
        self._write(sorted(set(suites) | set(have) & set(SUITES), key=SUITES.index))
        got = self._apt("apt-get", "-q", "update")
        have = self._targets()
        if not set(suites) <= set(have):
            lines = [line for line in got.stderr.splitlines() if line.startswith(("E:", "W:"))]
            raise Unavailable("package lists cannot be fetched: " + (lines or ["apt-get says nothing"])[0])
        return have

    def _read(self, suite, path):
        text = self._apt("/usr/lib/apt/apt-helper", "cat-file", path).stdout
        for entry in text.split("\n\n"):
            if not entry.startswith(("Package: linux-image-", "Package: linux-binary-")):
                continue
            fields = dict(re.findall(r"^(Package|Version|Depends): (.*)$", entry, re.M))
            key = suite, fields["Package"]
            if key not in self.packages or numbers(self.packages[key]["Version"]) < numbers(fields["Version"]):
                self.packages[key] = fields

    def of_suite(self, word):
        """The kernel that a suite's metapackage names."""
        flavour = next((f for f in FLAVOURS if word.endswith("-" + f)), None)
        suite = word[:-len(flavour) - 1] if flavour else word
        return self.of_meta(word, suite, f"linux-image-{flavour or FLAVOURS[0]}-{ARCH}")

    def of_meta(self, word, suite, meta):
        for package in re.findall(r"linux-image-[^ ,]+", self.packages.get((suite, meta), {}).get("Depends", "")):
            if (suite, package) in self.packages:
                return Kernel(word, package, self.packages[suite, package]["Version"], arch=self.arch)
        raise Unavailable(f"{word} has no kernel for {self.arch}")

    def named(self, package):
        for suite in SUITES:
            if (suite, package) in self.packages:
                return Kernel(suite, package, self.packages[suite, package]["Version"])
        raise Unavailable(f"{package} is in none of {', '.join(SUITES)}")

    def newest(self):
        return max((self.of_suite(suite) for suite in NEW), key=lambda kernel: numbers(kernel.version))

    def minors(self):
        """The newest kernel of each minor version."""
        best = {}
        for (suite, package), fields in self.packages.items():
            found = IMAGE.match(package)
            if not found or found.group(2) != FLAVOURS[0]:
                continue
            order = numbers(fields["Version"]), not found.group(3), SUITES.index(suite)
            minor = tuple(order[0][:2])
            if minor not in best or best[minor][0] < order:
                best[minor] = order, Kernel(suite, package, fields["Version"])
        return [best[minor][1] for minor in sorted(best)]

    def parts(self, package, version):
        """(package, version) of what is to be downloaded."""
        fields = next(f for (_, p), f in self.packages.items() if p == package and f["Version"] == version)
        found = [(package, version)]
        for name in re.findall(r"(?:^|, )(linux-[^ ,]+)", fields["Depends"]):
            if BINARY.match(name):
                found.append((name, version))
        return found

    def fetch(self, kernel):
        """Downloads and unpacks it, once."""
        kernel.folder = unpacked(self.folder, kernel.package)
        if kernel.image():
            return
        downloads = os.path.join(self.folder, "debs")
        os.makedirs(downloads, exist_ok=True)
        os.makedirs(kernel.folder, exist_ok=True)
        for package, version in self.parts(kernel.package, kernel.version):
            files = glob.glob(os.path.join(downloads, package + "_*.deb"))
            if not files:
                got = self._apt("apt-get", "-q", "download", f"{package}={version}", cwd=downloads)
                files = glob.glob(os.path.join(downloads, package + "_*.deb"))
                if got.returncode or not files:
                    raise Unavailable(f"{package} cannot be fetched: {(got.stderr.splitlines() or [''])[-1]}")
            subprocess.run(["dpkg", "-x", files[0], kernel.folder], check=True)
        if not kernel.image():
            raise Unavailable(f"{kernel.package} holds no kernel")


def unpacked(folder, package):
    return os.path.join(folder, "k", package)


def at_hand(folder, package):
    """A package that was unpacked before: no list is needed."""
    kernel = Kernel(package, package, "", unpacked(folder, package))
    return kernel if kernel.image() else None


def suites_of(words):
    """The suites whose lists are needed to find what was asked for."""
    need = set()
    for word in words:
        suite = next((s for s in SUITES for end in ("", *("-" + f for f in FLAVOURS)) if word == s + end), None)
        need |= {suite} if suite else set(NEW) if word == "newest" else set(SUITES)
    return sorted(need, key=SUITES.index)


def find(folder, words):
    """[(word, Kernel or Unavailable)], unpacked in the folder."""
    if not shutil.which(QEMU):
        return [(word, Unavailable(f"{QEMU} is missing: apt-get install qemu-system-x86")) for word in words]
    found = {word: at_hand(folder, word) for word in words}
    missing = [word for word in words if not found[word]]
    try:
        archive = Archive(folder, suites_of(missing)) if missing else None
    except (Unavailable, OSError) as why:
        return [(word, found[word] or Unavailable(str(why))) for word in words]
    pairs = []
    for word in words:
        try:
            pairs += [(word, found[word])] if found[word] else [(word, kernel) for kernel in asked(archive, word)]
        except Unavailable as why:
            pairs.append((word, why))
    return [(word, fetched(archive, kernel)) for word, kernel in pairs]


def asked(archive, word):
    if word == "all":
        return archive.minors() + [archive.of_suite(ALSO)]
    if word == "newest":
        return [archive.newest()]
    return [archive.named(word) if word.startswith("linux-image-") else archive.of_suite(word)]


def fetched(archive, kernel):
    try:
        if isinstance(kernel, Kernel) and not kernel.folder:
            archive.fetch(kernel)
    except (Unavailable, OSError, subprocess.CalledProcessError) as why:
        return Unavailable(str(why))
    return kernel
