"""Files of docs/ that a script makes: written, or compared with those that are there."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write_or_compare(files, pictures, source):
    """With --write among the arguments of the script: writes `files` (path -> text). Without it:
    exits with 1 and their names if a file differs, or if the folder `pictures` (None: no folder is
    made of such files alone) has one that is not among them. `source`: what the files are made of,
    for the message."""
    if "--write" in sys.argv[1:]:
        if pictures:
            os.makedirs(pictures, exist_ok=True)
        for path, content in files.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        return
    there = {os.path.join(pictures, name) for name in (os.listdir(pictures) if pictures and os.path.isdir(pictures) else [])}
    wrong = [path for path, content in files.items() if not os.path.exists(path) or read(path) != content] + sorted(there - set(files))
    if wrong:
        sys.exit("not what the %s say (%s --write mends it): %s"
                 % (source, os.path.relpath(sys.argv[0], ROOT), ", ".join(os.path.relpath(path, ROOT) for path in wrong)))
