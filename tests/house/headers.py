#!/usr/bin/env python3
# Compiles every header of the product alone, and all of them together.
"""The flags are those of a source of the same room, from compile_commands.json of the build.  Two
breaches are planted first: a header that needs another, and two that collide.
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
import tempfile

LAYERS = ["anatomy", "sim", "io", "app", "ui"]


def headers_of(root):
    found = []
    for layer in LAYERS:
        for folder, _, names in os.walk(os.path.join(root, layer)):
            found += [os.path.relpath(os.path.join(folder, n), root)
                      for n in names if n.endswith(".h")]
    return sorted(found)


def flags_by_room(root, build):
    """{room: compiler and flags} of the first C source of each room"""
    flags = {}
    for entry in json.load(open(os.path.join(build, "compile_commands.json"), encoding="utf-8")):
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), root)
        room = os.path.dirname(path)
        words = shlex.split(entry["command"])
        if path.endswith(".c") and room not in flags:
            kept, skip = [], False
            for word in words[:-2]:  # without -c FILE
                if skip:
                    skip = False
                elif word in ("-o", "-MF", "-MQ"):
                    skip = True
                elif word != "-MD":
                    kept.append(word)
            flags[room] = kept
    return flags


def compiles(flags, build, root, headers, folder=None):
    """what the compiler says of a file that includes @headers, or an empty text"""
    text = "".join(f'#include "{h}"\n' for h in headers)
    include = ["-I", folder] if folder else []
    done = subprocess.run(flags + include + ["-I", root, "-Wno-psabi", "-fsyntax-only", "-x", "c", "-"], cwd=build,
                          input=text + "typedef int pla_header_test;\n", text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout if done.returncode else ""


def planted(flags, build, root):
    """the number of faulty headers that pass"""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {"lone.h": "PlaStatus pla_lone(void);\n",
                           "first.h": "typedef struct { int a; } PlaTwice;\n",
                           "second.h": "typedef struct { int b; } PlaTwice;\n"}.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        alone = compiles(flags, build, root, ["lone.h"], folder)
        both = compiles(flags, build, root, ["first.h", "second.h"], folder)
    print(f"{'ok' if alone else 'not ok'} - planted: a header that needs another")
    print(f"{'ok' if both else 'not ok'} - planted: two headers with one name")
    return (not alone) + (not both)


def main():
    root, build = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    headers = headers_of(root)
    flags = flags_by_room(root, build)
    missed = planted(flags["anatomy/base"], build, root)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(h, pool.submit(compiles, flags.get(os.path.dirname(h), flags["ui/main"]), build,
                                root, [h])) for h in headers]
        for header, job in jobs:
            said = job.result()
            if said:
                failed += 1
                print(f"# {header} does not compile alone:")
                print("\n".join("#   " + line for line in said.splitlines()[:4]))
    print(f"{'not ok' if failed else 'ok'} - each of {len(headers)} headers compiles alone")
    said = compiles(flags["ui/main"], build, root, headers)
    print("\n".join("#   " + line for line in said.splitlines()[:40]))
    print(f"{'not ok' if said else 'ok'} - all headers compile together")
    return 1 if failed or missed or said else 0


if __name__ == "__main__":
    sys.exit(main())
