"""Small real pictures, and bytes that only claim to be some."""

import hashlib
import struct
import zlib

WIDTH = 48
HEIGHT = 36


def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data
            + struct.pack(">I", zlib.crc32(kind + data)))


def png(seed):
    """A PNG of two colours that follow from the seed; other seeds have other
    bytes, whatever the colours."""
    digest = hashlib.sha256(seed.encode("utf-8", "replace")).digest()
    rows = b""
    for y in range(HEIGHT):
        rows += b"\0"
        for x in range(WIDTH):
            inside = ((x - WIDTH / 2) ** 2 + (y - HEIGHT / 2) ** 2
                      < (6 + digest[6] % 10) ** 2)
            rows += digest[0:3] if inside else digest[3:6]
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
            + chunk(b"tEXt", b"Seed\0" + digest.hex().encode())
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


WRONG = {
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)'
           b"</script></svg>",
    "html": b"<!doctype html><script>alert(1)</script>",
    "gif": b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\0\0\0\0\0,"
           b"\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;",
    # The start of a JPEG, declared as a PNG.
    "jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\0\0\x01\0\x01\0\0",
    "empty": b"",
}
