"""What the two launchers in Python share: the reflection, the block of arguments, and the result."""

import json
import struct

GROUPS = 4
FACTOR = 7


def read(path):
    """The one entry point of a reflection (docs/launching.md)."""
    with open(path, encoding="utf-8") as file:
        entry, = json.load(file)
    if entry["schema_version"] != 2:
        raise SystemExit(f"{path}: schema {entry['schema_version']} is not known")
    if entry["dynamic_shared_memory"]:
        raise SystemExit(f"{path}: the kernel wants dynamic workgroup memory")
    return entry


def block(entry, buffers, push_constants):
    """The bytes of all arguments. `buffers` has addresses and lengths by (set, binding)."""
    data = bytearray(entry["kernarg_segment_size"])
    for argument in entry["arguments"]:
        buffer = buffers.get((argument["set"], argument["binding"]))
        match argument["kind"]:
            case "global_buffer":
                address, _ = buffer
                if address % argument["pointee_align"]:
                    raise SystemExit(f"{address:#x} is not aligned")
                value = struct.pack("<Q", address)
            case "array_length":
                value = struct.pack("<I", buffer[1])
            case "push_constant":
                value = push_constants.ljust(argument["size"], b"\0")
            case kind:
                raise SystemExit(f"this example passes no arguments of kind {kind}")
        offset, size = argument["offset"], argument["size"]
        if len(value) != size:
            raise SystemExit(f"argument {argument['index']} has {size} bytes, not {len(value)}")
        data[offset:offset + size] = value
    return bytes(data)


def source(entry):
    """The input: 0, 1, 2 and so on."""
    size, _, _ = entry["workgroup_size"]
    return list(range(GROUPS * size))


def compare(entry, given, found):
    """Says whether the kernel has computed what exchange.comp says."""
    size, _, _ = entry["workgroup_size"]
    for i, value in enumerate(found):
        mirror = i // size * size + size - 1 - i % size
        expected = given[mirror] + FACTOR * given[i]
        if value != expected:
            raise SystemExit(f"element {i} is {value}, not {expected}")
    print(f"{len(found)} elements are right")
