#!/usr/bin/env python3
"""null_calls.py HEADER... > null_calls.h: a call of every public function for each of its pointers
that its comment does not let be NULL, with NULL in its place (tests/test_null.c)."""
import re
import sys

# Values of scalars; others are 0, which is an id, an enum's first and GNN_OFF.
ONES = {"int", "int32_t", "int64_t", "uint32_t", "uint64_t", "size_t", "double", "float", "gnn_real_t"}
DECLARATION = re.compile(
    r"(?:/\*\*((?:[^*]|\*(?!/))*)\*/\s*)?^GNN_API (?!extern)([^;{(]*?)\b(gnn_\w+)\s*\(([^;{]*?)\)"
    r"\s*(?:(?:__attribute__|GNN_PRINTF)[^;]*)?;", re.M | re.S)


def arguments(text):
    """The declarations between a function's parentheses."""
    parts, depth = [""], 0
    for character in re.sub(r"/\*.*?\*/", "", text, flags=re.S):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [" ".join(part.split()) for part in parts]


def name_of(argument):
    """The name in a declaration: after (*, or the last word before [."""
    inner = re.search(r"\(\*(?:const )?(\w+)\)", argument)
    return inner.group(1) if inner else re.search(r"(\w+)(?:\[[^\]]*\])*$", argument).group(1)


def is_pointer(argument):
    return "*" in argument or "[" in argument or argument.startswith("gnn_ints_t ")


def may_be_null(comment, name):
    """True if a comment says what NULL means for an argument: in its paragraph, or in a sentence
    with its name."""
    text = re.sub(r"^ *\*", "", comment or "", flags=re.M)
    parameter = re.search(r"@param\S*\s+(?:\w+, )*" + name + r"\b((?:(?!@|\n *\n).)*)", text, re.S)
    said = [parameter.group(1)] if parameter else []
    prose = re.split(r"@param|@return", text)[0]
    said += [s for s in re.split(r"(?<=[.;])\s", prose) if re.search(r"`\*?" + name + r"\b", s)]
    return any(re.search(r"\bNULL(?! after|;? names)", s) and "must not be NULL" not in s for s in said)


def variable(argument, k):
    """An argument as a variable a<k>; arrays become pointers."""
    name = name_of(argument)
    declared = re.sub(r"\b" + name + r"\[[^\]]*\]$", "*" + name, argument)
    return re.sub(r"\b" + name + r"\b(?!.*\b" + name + r"\b)", f"a{k}", declared)


def call(index, result, function, given):
    """A C function that makes the call, with NULL for argument `at`."""
    lines = [f"static void call_{index}(int at)", "{"]
    for k, argument in enumerate(given):
        kind = argument.rsplit(" ", 1)[0]
        if argument.startswith("gnn_ints_t "):
            value = f"at == {k} ? (gnn_ints_t){{0}} : some_ints"
        elif is_pointer(argument):
            value = f"at == {k} ? NULL : (__typeof__(a{k}))some"
        else:
            value = "1" if kind in ONES else "{0}"
        lines.append(f"    {variable(argument, k)} = {value};")
    names = ", ".join(f"a{k}" for k in range(len(given)))
    lines += ["    (void)at;", f"    {'' if result == 'void' else '(void)'}({function})({names});", "}"]
    return lines


def main():
    lines, rows, index, permitted = [], [], 0, 0
    for header in sys.argv[1:]:
        with open(header, encoding="utf-8") as file:
            text = file.read()
        for comment, result, function, inner in DECLARATION.findall(text):
            given = [a for a in arguments(inner) if a != "void"]
            if "..." in given:  # of a message: format is checked by its caller
                continue
            pointers = [k for k, a in enumerate(given) if is_pointer(a)]
            if not pointers:
                continue
            frees = function.endswith("_free") or function == "gnn_free"
            refused = [k for k in pointers if frees or not may_be_null(comment, name_of(given[k]))]
            permitted += len(pointers) - len(refused)
            for k in refused:
                name = "NULL" if frees else f'"{name_of(given[k])}"'
                rows.append(f'    {{"{function}", {name}, call_{index}, {k}}},')
            if refused:
                lines += call(index, result.strip(), function, given)
                index += 1
    print("\n".join(lines))
    print("static const null_call_t null_calls[] = {", *rows, "};", sep="\n")
    print(f"enum {{ FUNCTIONS = {index}, PERMITTED = {permitted} }};")


main()
