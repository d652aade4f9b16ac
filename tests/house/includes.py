#!/usr/bin/env python3
# Reads every #include of the product and refuses what the rooms do not declare.
"""A room is a folder with a meson.build that sets <layer>_<room>_needs; that list is the only
declaration of what it may include.  Refused: a room that is not in the list, another room's
*-private.h, an arrow up between layers, sim and io in each other, ui in sim or io, and a cycle.
JSON in ui is refused too, included, called or named: there, app gives structs and takes values.
Each rule is first tried on an example that breaks it.
"""
import os
import re
import sys

LAYERS = ["anatomy", "sim", "io", "app", "ui"]
BELOW = {
    "anatomy": {"anatomy"},
    "sim": {"sim", "anatomy"},
    "io": {"io", "anatomy"},
    "app": {"app", "sim", "io", "anatomy"},
    "ui": {"ui", "app", "anatomy"},
}
# the two programs see every layer
MAINS = "app/main"
GENERATED = {"platysma-config.h", "app/speech/speech-resource.h"}


def read_needs(root):
    """{room: set of rooms}, from the meson.build files"""
    needs = {}
    for layer in LAYERS:
        for folder in sorted(os.listdir(os.path.join(root, layer))):
            path = os.path.join(root, layer, folder, "meson.build")
            if not os.path.exists(path):
                continue
            text = open(path, encoding="utf-8").read()
            found = re.search(r"^(\w+)_needs = \[(.*?)\]", text, re.M | re.S)
            if found:
                needs[f"{layer}/{folder}"] = set(re.findall(r"\w+", found.group(2)))
    names = {room.replace("/", "_").replace("-", "_"): room for room in needs}
    return {room: {names[n] for n in listed if n in names} for room, listed in needs.items()}


def read_sources(root):
    """{path: [included paths]} of the product"""
    sources = {}
    for layer in LAYERS:
        for folder, _, names in os.walk(os.path.join(root, layer)):
            for name in names:
                if name.endswith((".c", ".h", ".cpp", ".hpp")):
                    path = os.path.join(folder, name)
                    text = open(path, encoding="utf-8").read()
                    sources[os.path.relpath(path, root)] = re.findall(
                        r'^\s*#\s*include\s+"([^"]+)"', text, re.M)
    return sources


def read_json(root):
    """{path: [lines]} of ui that name JSON"""
    found = {}
    for folder, _, names in os.walk(os.path.join(root, "ui")):
        for name in names:
            if name.endswith((".c", ".h", ".cpp", ".hpp")):
                path = os.path.join(folder, name)
                lines = open(path, encoding="utf-8").read().split("\n")
                found[os.path.relpath(path, root)] = json_lines(lines)
    return found


def json_lines(lines):
    """those with an include, a call, a macro or a type of json-glib, or of our own calls over it"""
    names = re.compile(r"json-glib|app/base/json\.h|\b(pla_)?json_\w+|\bJSON_[A-Z]\w*|\bJson[A-Z]\w*|"
                       r"\bPlaJson\w*|_(to|from)_json\b")
    return [line.strip() for line in lines if names.search(line)]


def json_breaches(found):
    return [f"{path}: ui may not use JSON: {line}"
            for path, lines in sorted(found.items()) for line in lines]


def cycles(needs):
    """rooms that reach themselves"""
    found = []
    for start in needs:
        seen, todo = set(), list(needs[start])
        while todo:
            room = todo.pop()
            if room not in seen:
                seen.add(room)
                todo += needs.get(room, ())
        if start in seen:
            found.append(start)
    return found


def breaches(needs, sources):
    """one sentence for each breach"""
    found = [f"{room}: reaches itself through what it needs" for room in cycles(needs)]
    for path, included in sorted(sources.items()):
        room, layer = os.path.dirname(path), path.split("/")[0]
        if room == MAINS:
            continue
        if room not in needs:
            found.append(f"{path}: stands in no room")
            continue
        for other in included:
            target = os.path.dirname(other)
            if other in GENERATED or target == room:
                continue
            if other not in sources:
                found.append(f"{path}: includes {other}, which is no path from the root of the tree")
            elif other.split("/")[0] not in BELOW[layer]:
                found.append(f"{path}: {layer} may not include {other}")
            elif other.endswith("-private.h"):
                found.append(f"{path}: {other} is private to {target}")
            elif target not in needs[room]:
                found.append(f"{path}: {room} does not declare that it needs {target} ({other})")
    names = {}
    for path in sources:
        if path.endswith((".c", ".cpp")):
            names.setdefault(os.path.basename(path), []).append(path)
    found += [f"{' and '.join(paths)} have one name" for paths in names.values() if len(paths) > 1]
    return found


def planted():
    """each rule against an example that breaks it; the number of rules that let it pass"""
    needs = {"anatomy/base": set(), "sim/fem": {"anatomy/base"}, "sim/cut": {"sim/fem"},
             "io/store": {"anatomy/base"}, "app/case": {"io/store"}, "ui/views": {"app/case"}}
    files = ["anatomy/base/a.h", "sim/fem/f.h", "sim/fem/f-private.h", "sim/cut/c.h", "io/store/s.h",
             "app/case/k.h", "ui/views/v.h"]
    plain = {path: [] for path in files}
    examples = {
        "sound": ({}, {"sim/cut/c.c": ["sim/cut/c.h", "sim/fem/f.h"]}, False),
        "arrow up": ({}, {"anatomy/base/a.c": ["sim/fem/f.h"]}, True),
        "strangers": ({}, {"sim/fem/f.c": ["io/store/s.h"]}, True),
        "window into io": ({}, {"ui/views/v.c": ["io/store/s.h"]}, True),
        "private header": ({}, {"sim/cut/c.c": ["sim/fem/f-private.h"]}, True),
        "not declared": ({}, {"sim/cut/c.c": ["anatomy/base/a.h"]}, True),
        "cycle": ({"sim/fem": {"sim/cut"}}, {}, True),
        "no such path": ({}, {"sim/cut/c.c": ["c.h"]}, True),
        "no room": ({}, {"sim/x.c": []}, True),
        "one name twice": ({}, {"sim/cut/x.c": [], "sim/fem/x.c": []}, True),
    }
    missed = 0
    for name, (more_needs, more_files, wanted) in examples.items():
        refused = bool(breaches({**needs, **more_needs}, {**plain, **more_files}))
        missed += refused != wanted
        print(f"{'ok' if refused == wanted else 'not ok'} - planted: {name}")
    for name, line, wanted in (
            ("json-glib in ui", "#include <json-glib/json-glib.h>", True),
            ("our JSON in ui", '#include "app/base/json.h"', True),
            ("a call in ui", '  x = json_object_get_double_member(found, "rms_mm");', True),
            ("a type in ui", "static JsonObject *", True),
            ("the name of a file in ui", 'set_name(dialog, "plan.json");', False)):
        refused = bool(json_breaches({"ui/views/v.c": json_lines([line])}))
        missed += refused != wanted
        print(f"{'ok' if refused == wanted else 'not ok'} - planted: {name}")
    return missed


def main():
    root = sys.argv[1]
    missed = planted()
    found = breaches(read_needs(root), read_sources(root)) + json_breaches(read_json(root))
    for sentence in found:
        print(f"# {sentence}")
    print(f"{'not ok' if found else 'ok'} - every include is declared")
    return 1 if found or missed else 0


if __name__ == "__main__":
    sys.exit(main())
