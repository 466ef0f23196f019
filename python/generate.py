"""Reads the public headers and writes the table by which Python calls the library.

    python generate.py CC BUILD.H-FOLDER INCLUDE-FOLDER TABLE.PY CHECK.C STUB.PYI

The headers are preprocessed by the C compiler; from what remains of gnn/*.h come all enums, structs
and functions. TABLE.PY holds them as literals. CHECK.C compares them with the headers once more, by
the compiler: the size of every struct and the offset and size of every member as ctypes lays them
out, the value of every enumerator, and the type of every function. A difference ends the build.
STUB.PYI has the presets as classes, and the keyword arguments that are members of structs, for type
checkers.
"""
import ctypes
import re
import subprocess
import sys

REALS = {"float": "f", "double": "d"}
BASIC = {"void": "v", "FILE": "v", "char": "c", "int": "i", "int8_t": "b", "uint8_t": "B", "int16_t": "h", "uint16_t": "H", "int32_t": "i", "uint32_t": "I",
         "int64_t": "q", "uint64_t": "Q", "size_t": "Q", "unsigned": "I", **REALS}
CTYPES = {"c": ctypes.c_char, "i": ctypes.c_int32, "b": ctypes.c_int8, "B": ctypes.c_uint8, "h": ctypes.c_int16, "H": ctypes.c_uint16, "I": ctypes.c_uint32,
          "q": ctypes.c_int64, "Q": ctypes.c_uint64, "f": ctypes.c_float, "d": ctypes.c_double, "P": ctypes.c_void_p, "s": ctypes.c_char_p, "F": ctypes.c_void_p}
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\w+|\.\.\.|<<|>>|[^\s\w]')


class Unreadable(Exception):
    """A declaration that this reader of C does not know."""


def own_lines(text):
    """The lines of preprocessed text that come from gnn/."""
    own, kept = False, []
    for line in text.splitlines():
        if line.startswith("# "):
            own = re.search(r'"[^"]*\bgnn/[^"]*"', line) is not None
        elif own and not line.startswith("#"):
            kept.append(line)
    return "\n".join(kept)


def without_attributes(tokens):
    out, k = [], 0
    while k < len(tokens):
        if tokens[k] in ("__attribute__", "__asm__", "_Alignas"):
            k = closing(tokens, k + 1) + 1
        elif tokens[k] in ("__extension__", "__inline", "__restrict", "restrict", "_Noreturn"):
            k += 1
        else:
            out.append(tokens[k])
            k += 1
    return out


def closing(tokens, at):
    """The index of the bracket that closes the one at `at`."""
    pairs, depth = {"(": ")", "{": "}", "[": "]"}, 0
    for k in range(at, len(tokens)):
        depth += (tokens[k] in pairs) - (tokens[k] in pairs.values())
        if depth == 0:
            return k
    raise Unreadable(" ".join(tokens[at:at + 20]))


def declarations(tokens):
    """Splits a file into its declarations; bodies of functions are dropped with their heads."""
    k, start = 0, 0
    while k < len(tokens):
        if tokens[k] in "([":
            k = closing(tokens, k)
        elif tokens[k] == "{":
            k = closing(tokens, k)
            if tokens[start] == "static":
                start = k + 1
        elif tokens[k] == ";":
            if tokens[start:k]:
                yield tokens[start:k]
            start = k + 1
        k += 1


def split(tokens, by):
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token in "([{") - (token in ")]}")
        if token == by and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


class Reader:
    def __init__(self):
        self.enums, self.constants, self.structs, self.functions, self.callbacks = {}, {}, {}, {}, {}
        self.chosen = {}  # struct.member -> its enum
        self.texts = {}  # function -> its result and its arguments as written
        self.names, self.kinds = {}, {}  # typedef -> (code, struct or None, array count); enum or struct tag -> the same

    def read(self, tokens):
        for words in declarations(tokens):
            if words[0] == "typedef":
                self.typedef(words[1:])
            elif words[0] == "extern" and "{" not in words or words[0] == "static":
                continue
            elif words[0] in ("struct", "enum", "union") and ("{" in words or len(words) == 2):
                self.tagged(words)
            else:
                self.function(words)

    # ---- types ----

    def value(self, expression):
        text = " ".join(str(self.constants.get(token, token)) for token in expression if token not in ("int", "gnn_var_t"))
        text = re.sub(r"(\d)[uUlL]+\b", r"\1", text.replace("( )", ""))
        if not re.fullmatch(r"[\d\sxXa-fA-F()+\-*<>|&~]+", text):
            raise Unreadable(text)
        return int(eval(text, {"__builtins__": {}}))  # noqa: S307 (digits and operators alone)

    def enum(self, body, name):
        following, members = 0, {}
        for part in split(body, ","):
            following = self.value(part[2:]) if len(part) > 1 else following
            self.constants[part[0]] = members[part[0]] = following
            following += 1
        self.enums[name] = members

    def tagged(self, words, name=None):
        """A struct or enum, with or without its members; returns (code, struct name) and what follows."""
        kind, k = words[0], 1
        tag = words[1] if words[1] != "{" else None
        k += tag is not None
        own = f"{kind} {tag}" if tag else None
        if k < len(words) and words[k] == "{":
            end = closing(words, k)
            called = name or own
            if kind == "enum":
                self.enum(words[k + 1:end], called)
            elif kind == "struct":
                self.structs[called] = self.members(words[k + 1:end], called)
            else:
                raise Unreadable(" ".join(words[:8]))
            made = ("i" if kind == "enum" else "S", called)
            if own:
                self.kinds[own] = made
            return made, words[end + 1:]
        return self.kinds.get(own, ("i" if kind == "enum" else "S", own)), words[k:]

    def base(self, words, name=None):
        """The type that a declaration begins with, and the declarators after it."""
        words = [word for word in words if word not in ("const", "volatile")]
        if words[0] in ("struct", "enum"):
            return self.tagged(words, name)
        if words[0] in ("unsigned", "signed", "long", "short"):
            k = 1
            while words[k] in ("int", "long", "char"):
                k += 1
            code = {"unsigned": "I", "unsigned int": "I", "unsigned char": "B", "long": "q", "long long": "q", "unsigned long": "Q"}[" ".join(words[:k])]
            return (code, None), words[k:]
        if words[0] in self.names:
            return self.names[words[0]], words[1:]
        if words[0] in BASIC:
            return (BASIC[words[0]], None), words[1:]
        raise Unreadable(" ".join(words[:8]))

    def declared(self, made, words):
        """(name, code, struct, count) of one declarator: the code of a pointer is P, s (characters) or F (a function)."""
        code, struct = made[0], made[1]
        counts = list(made[2:])
        stars = 0
        while words and words[0] == "*":
            stars, words = stars + 1, words[1:]
        if words and words[0] == "(":  # ( * name ) ( arguments )
            end = closing(words, 0)
            inner = words[1:end]
            if inner[0] != "*":
                raise Unreadable(" ".join(words))
            if words[end + 1] == "[":
                return inner[-1], "P", None, 1
            arguments = self.arguments(words[end + 2:closing(words, end + 1)])
            return inner[-1], "F", (self.pointer(code, stars), "".join(arguments)), 1
        name, words = (words[0], words[1:]) if words and re.match(r"\w", words[0]) else ("", words)
        while words and words[0] == "[":
            end = closing(words, 0)
            counts.append(self.value(words[1:end]) if words[1:end] else 0)
            words = words[end + 1:]
        if stars:
            code, struct = self.pointer(code, stars), None
            counts = counts if len(counts) > len(made[2:]) else []
        count = 1
        for c in counts:
            count *= c
        return name, code, struct, count if counts else 1

    @staticmethod
    def pointer(code, stars):
        return code if not stars else "s" if stars == 1 and code == "c" else "P"

    def members(self, words, struct):
        out = []
        for part in split(words, ";"):
            made, rest = self.base(part)
            for declarator in split(rest, ","):
                name, code, what, count = self.declared(made, [word for word in declarator if word not in ("const", "volatile")])
                if code == "i" and what:
                    self.chosen[f"{struct}.{name}"] = what
                if code == "F":
                    self.callbacks[f"{struct}.{name}"] = what
                out.append((name, what if code == "S" else code, count))
        return out

    def arguments(self, words):
        out = []
        for part in split(words, ","):
            if part in (["void"], ["..."]):
                continue
            made, rest = self.base(part)
            name, code, struct, count = self.declared(made, [word for word in rest if word not in ("const", "volatile")])
            if "[" in rest or count != 1:
                code = "P"
            out.append(f"{{{struct}}}" if code == "S" else "P" if code == "F" else code)
        return out

    def typedef(self, words):
        if words[0] in ("struct", "enum") and "{" in words:
            name = words[-1]
            made, _ = self.tagged(words, name)
            self.names[name] = made
            return
        made, rest = self.base(words)
        at = rest.index("(") if "(" in rest else None
        if at is not None and rest[at + 1] != "*":
            self.names[rest[at - 1]] = ("F", None)
            return
        name, code, struct, count = self.declared(made, rest)
        self.names[name] = (code, None if code == "F" else struct) + ((count,) if count != 1 else ())

    def function(self, words):
        made, rest = self.base(words)
        k = 0
        while rest[k] == "*":
            k += 1
        if k + 1 >= len(rest) or rest[k + 1] != "(":
            raise Unreadable(" ".join(words[:12]))
        end = closing(rest, k + 1)
        code = self.pointer(made[0], k)
        at = words.index(rest[k])
        self.texts[rest[k]] = " ".join(words[:at]), [" ".join(part) for part in split(words[at + 2:closing(words, at + 1)], ",")]
        self.functions[rest[k]] = (f"{{{made[1]}}}" if code == "S" else code, "".join(self.arguments(rest[k + 2:end])))


def read(compiler, folders):
    command = [*compiler, "-E", *(f"-I{folder}" for folder in folders), "-x", "c", "-"]
    text = subprocess.run(command, input="#include <gnn/gnn.h>\ngnn_version_is GNN_VERSION\n", capture_output=True, text=True, check=True).stdout
    reader = Reader()
    reader.version = re.search(r'gnn_version_is "([^"]*)"', text).group(1)
    reader.read(without_attributes(TOKEN.findall(own_lines(text))))
    return reader


def completed(reader):
    """Structs whose members are known, under all their names, innermost first."""
    order, done = [], set()

    def add(name):
        if name in done or name not in reader.structs:
            return
        done.add(name)
        for _, code, _ in reader.structs[name]:
            add(code)
        order.append(name)
    for name in reader.structs:
        add(name)
    return order


def classes(reader, order):
    made = {}
    for name in order:
        fields = [(member, (made[code] if code in made else CTYPES[code]) * count if count != 1 else made.get(code) or CTYPES[code])
                  for member, code, count in reader.structs[name]]
        made[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return made


def check(reader, order):
    """A file of C that compiles only where the headers say the same."""
    lines = ["/* Generated: what Python believes of the headers, for the compiler to compare. */", "#include <gnn/gnn.h>", "#include <stddef.h>",
             "typedef int gnn_python_checked; /* a file needs one declaration */"]
    word = {code: name for name, code in (("int8_t", "b"), ("uint8_t", "B"), ("int16_t", "h"), ("uint16_t", "H"), ("int32_t", "i"), ("uint32_t", "I"),
                                          ("int64_t", "q"), ("uint64_t", "Q"), ("float", "f"), ("double", "d"))}

    def like(expression, code):
        """That an expression has the size and the class of a code: pointer, real or integer."""
        if code == "v":
            return f"__builtin_types_compatible_p(__typeof__({expression}), void)"
        if code in "PsF":
            return f"__builtin_classify_type({expression}) == 5"
        kind = 8 if code in "fd" else 1
        return f"sizeof({expression}) == sizeof({word[code]}) && (__builtin_classify_type({expression}) == {kind} || ({kind} == 1 && __builtin_classify_type({expression}) <= 4))"
    for name, made in classes(reader, order).items():
        lines.append(f'_Static_assert(sizeof({name}) == {ctypes.sizeof(made)}, "{name}");')
        for member, code, count in reader.structs[name]:
            field = getattr(made, member)
            lines.append(f'_Static_assert(offsetof({name}, {member}) == {field.offset} && sizeof((({name} *)0)->{member}) == {field.size}, "{name}.{member}");')
            if count == 1 and code in CTYPES:
                lines.append(f'_Static_assert({like(f"(({name} *)0)->{member}", code)}, "{name}.{member}");')
    for name, value in reader.constants.items():
        lines.append(f'_Static_assert({name} == {value}, "{name}");')
    for name, (result, arguments) in reader.functions.items():
        kept, (written, texts) = "i", reader.texts[name]
        codes = re.findall(r"\{[^}]*\}|.", arguments)
        # A number is spelt by its code; enums, pointers and structs as in the header.
        exact = ", ".join((text if code in kept else word.get(code, text)) for code, text in zip(codes, texts)) or "void"
        exact += ", ..." if texts[-1:] == ["..."] else ""
        lines.append(f'_Static_assert(__builtin_types_compatible_p(__typeof__(&{name}), {written if result in kept else word.get(result, written)} (*)({exact})), "{name}");')
    return "\n".join(lines) + "\n"


def table(reader, order):
    lines = ['"""Generated from the headers by python/generate.py; checked by the compiler."""', f"VERSION = {reader.version!r}"]
    for name, value in (("CONSTANTS", reader.constants), ("ENUMS", reader.enums), ("STRUCTS", {n: reader.structs[n] for n in order}),
                        ("CHOSEN", reader.chosen), ("CALLBACKS", reader.callbacks), ("FUNCTIONS", reader.functions)):
        lines.append(f"{name} = {{")
        lines += [f"    {key!r}: {item!r}," for key, item in value.items()]
        lines.append("}")
    return "\n".join(lines) + "\n"


TYPED = {"LayerSettings": ("gnn_layer_config_t",), "TrainSettings": ("gnn_train_config_t", "gnn_optimizer_config_t", "gnn_schedule_t"), "GenerationSettings": ("gnn_generation_t",)}
KINDS = {"gnn_optimizer_config_t": "optimizer", "gnn_schedule_t": "schedule"}  # what their member `kind` is called
LEFT_OUT = {"preset", "in", "out", "resolved", "callback", "user", "optimizer", "schedule", "class_weight", "end", "never"}


def python_type(reader, struct, member, code, count):
    """The type of a keyword argument by that of its member; None: it is no argument."""
    enum = reader.chosen.get(f"{struct}.{member}")
    if member in LEFT_OUT or member.startswith("n_"):
        return None
    if count != 1:
        return {"f": "Sequence[float] | float | str", "d": "Sequence[float] | float | str", "i": "Sequence[int] | str", "q": "Sequence[int] | str"}.get(code)
    if enum:
        return "bool" if enum == "gnn_flag_t" else "str"
    if (struct, member) == ("gnn_train_config_t", "stop"):
        return None  # a flag that another thread sets
    if code == "P":  # an entry of a table, or texts
        return "str" if struct in ("gnn_layer_config_t", "gnn_layer_prior_t") else "str | Sequence[str]" if (struct, member) == ("gnn_generation_t", "stop") else None
    return {"i": "int", "I": "int", "q": "int", "Q": "int", "f": "float", "d": "float", "s": "str"}.get(code)


def keywords(reader, struct):
    """(name, type) of the members of a struct; those of an array of structs are called prior_0,
    prior_0_options."""
    for member, code, count in reader.structs[struct]:
        if code in reader.structs and count != 1:
            for k in range(count):
                for name, kind in keywords(reader, code):
                    yield f"{member.rstrip('s')}_{k}" + ("" if f"{name}s" == member else f"_{name}"), kind
            continue
        kind = python_type(reader, struct, member, code, count)
        if kind:
            yield KINDS.get(struct, member) if member == "kind" else member, kind


def stub(reader):
    """Presets and keyword arguments for type checkers."""
    lines = ['"""Generated from the headers by python/generate.py: presets, and keyword arguments."""', "from collections.abc import Sequence", "from typing import TypedDict", "",
             "from .layers import Layer"]
    for name, sources in TYPED.items():
        lines += ["", f"class {name}(TypedDict, total=False):"]
        lines += [f"    {keyword}: {kind} | None" for struct in sources for keyword, kind in keywords(reader, struct)]
    for name in reader.enums["gnn_preset_t"]:
        short = name[len("GNN_PRESET_"):]
        if short not in ("COUNT", "NONE", "DEFAULT"):
            lines += ["", f"class {short}(Layer): ..."]
    return "\n".join(lines) + "\n"


def main(arguments):
    *compiler, build, include, table_path, check_path, stub_path = arguments
    reader = read(compiler, [build, include])
    order = completed(reader)
    for path, text in ((table_path, table(reader, order)), (check_path, check(reader, order)), (stub_path, stub(reader))):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
