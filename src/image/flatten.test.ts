import assert from "node:assert/strict";
import { test } from "node:test";

import { LarderError } from "../errors.ts";
import { decodeName, pathComponents } from "./entry-name.ts";
import { Flattening, type FlattenLimits } from "./flatten.ts";
import type { EntryKind, TarEntry } from "./tar-entry.ts";

function entryOf(path: string | Buffer, kind: EntryKind = "file", typeflag = "0"): TarEntry {
  const linkName = Buffer.alloc(0);
  return { path: Buffer.from(path), kind, typeflag, size: 1, linkName, offset: 0 };
}

/** `dir/` is a directory, everything else a regular file. */
function shorthand(entry: string | TarEntry): TarEntry {
  if (typeof entry !== "string") return entry;
  return entryOf(entry, entry.endsWith("/") ? "directory" : "file");
}

type Layers = readonly (readonly (string | TarEntry)[])[];

function flattened(layers: Layers, limits?: FlattenLimits): Flattening {
  const flattening = new Flattening("registry.example.com/app:1", limits);
  for (const [layer, entries] of layers.entries()) {
    for (const entry of entries) flattening.add(layer, shorthand(entry));
  }
  return flattening;
}

/** The paths that are left, sorted by base name. */
function paths(...layers: Layers): string[] {
  const flattening = new Flattening("registry.example.com/app:1");
  const told = new Map<number, string>();
  for (const [layer, entries] of layers.entries()) {
    for (const entry of entries.map(shorthand)) {
      const file = flattening.add(layer, entry);
      if (file !== undefined) told.set(file.id, decodeName(pathComponents(entry.path).join("/")));
    }
  }
  return flattening.survivors().map(({ id }) => told.get(id) ?? assert.fail());
}

/** The ids that are left: files are numbered in the order in which they are told of. */
function ids(...layers: Layers): number[] {
  return flattened(layers)
    .survivors()
    .map(({ id }) => id);
}

function refusal(layers: Layers, limits?: FlattenLimits): string {
  try {
    flattened(layers, limits).survivors();
  } catch (error) {
    assert.ok(error instanceof LarderError);
    assert.equal(error.code, "image");
    assert.match(error.message, /^cannot cache registry\.example\.com\/app:1: /);
    return error.message.slice("cannot cache registry.example.com/app:1: ".length);
  }
  return "";
}

test("a regular file gets a number, counting from 0, and nothing else does", () => {
  const flattening = new Flattening("an image");
  assert.equal(flattening.add(0, entryOf("a"))?.id, 0);
  assert.equal(flattening.add(0, entryOf("d", "directory")), undefined);
  assert.equal(flattening.add(0, entryOf("l", "symbolic link")), undefined);
  assert.equal(flattening.add(1, entryOf(".wh.l")), undefined);
  assert.equal(flattening.add(1, entryOf("b"))?.id, 1);
  assert.deepEqual(flattening.survivors(), [
    { id: 0, name: "a", size: 1 },
    { id: 1, name: "b", size: 1 },
  ]);
});

test("what is left is cached by base name, sorted by it", () => {
  const layers = [["z/a", "b", "a/c"]];
  assert.deepEqual(
    flattened(layers)
      .survivors()
      .map(({ name }) => name),
    ["a", "b", "c"],
  );
  assert.deepEqual(paths(...layers), ["z/a", "b", "a/c"]);
});

test("base names are text, also beyond ASCII", () => {
  const flattening = new Flattening("an image");
  assert.deepEqual(flattening.add(0, entryOf("dé/été.tar")), { id: 0, name: "été.tar" });
  assert.equal(flattening.survivors()[0]?.name, "été.tar");
  assert.match(refusal([["dé/été.tar", "été.tar"]]), /^"dé\/été\.tar" of layer 1 and "été\.tar" /);
});

test("directories are passed over", () => {
  assert.deepEqual(paths(["d/", "d/e/", "d/f", "./"]), ["d/f"]);
});

// Which of several things at one path is left.

test("a later layer wins", () => {
  assert.deepEqual(ids(["f"], ["f"], ["f"]), [2]);
});

test("the same path twice in one layer: the last wins", () => {
  assert.deepEqual(ids(["f", "f"]), [1]);
});

for (const other of ["./f", "/f", "//f", "x/../f", "../f", "././f", "f/"]) {
  test(`${other} and f are one path`, () => {
    assert.deepEqual(ids([entryOf("f")], [entryOf(other)]), [1]);
    assert.deepEqual(paths(["f", "g"], [`${other.replace(/f\/?$/, "")}.wh.f`]), ["g"]);
  });
}

test("d/f, d//f and d/./f are one path", () => {
  assert.deepEqual(ids(["d/f"], ["d//f"], ["d/./f"]), [2]);
});

test("paths are compared by their bytes: the same letter written in two ways is two paths", () => {
  assert.deepEqual(ids(["d\u00e9/f", "g"], ["de\u0301/.wh.f"]), [0, 1]);
});

test("a path that is not UTF-8 is told from others that are not", () => {
  const path = (byte: number, name: string): Buffer =>
    Buffer.concat([Buffer.from([byte]), Buffer.from(name)]);
  assert.deepEqual(ids([entryOf(path(0xff, "/f")), "g"], [entryOf(path(0xfe, "/.wh.f"))]), [0, 1]);
  assert.deepEqual(ids([entryOf(path(0xff, "/f")), "g"], [entryOf(path(0xff, "/.wh.f"))]), [1]);
});

// Whiteouts.

test("a whiteout .wh.<name> hides the file of lower layers", () => {
  assert.deepEqual(paths(["a", "b"], [".wh.a"]), ["b"]);
  assert.deepEqual(paths(["d/a", "d/b"], ["d/.wh.a"]), ["d/b"]);
});

test("a whiteout hides everything below a directory of lower layers", () => {
  assert.deepEqual(paths(["d/a", "d/e/b", "c"], [".wh.d"]), ["c"]);
});

test("a whiteout hides what lower layers have, however many they are", () => {
  assert.deepEqual(paths(["d/a", "x"], ["d/b"], ["c"], [".wh.d"]), ["c", "x"]);
});

test("a whiteout hides lower layers only, whatever its order in its own layer", () => {
  assert.deepEqual(ids(["f"], [".wh.f", "f"]), [1]);
  assert.deepEqual(ids(["f"], ["f", ".wh.f"]), [1]);
  assert.deepEqual(ids(["d/a"], ["d/b", ".wh.d"]), [1]);
});

test("a whiteout does not hide what a higher layer brings back", () => {
  assert.deepEqual(ids(["f"], [".wh.f"], ["f"]), [1]);
});

test("a whiteout hides no file whose name only begins like its own", () => {
  assert.deepEqual(paths(["ab", "a.b", "a/c"], [".wh.a"]), ["a.b", "ab"]);
});

test("a whiteout for what is not there hides nothing", () => {
  assert.deepEqual(paths(["a"], [".wh.b", "x/y/.wh.z"]), ["a"]);
});

test("a whiteout in the lowest layer hides nothing", () => {
  assert.deepEqual(paths([".wh.a", "a", ".wh..wh.opq"]), ["a"]);
});

test("a whiteout hides links, devices and pipes, too", () => {
  for (const kind of [
    "symbolic link",
    "hard link",
    "block device",
    "pipe",
    "unsupported",
  ] as const) {
    assert.deepEqual(paths([entryOf("x", kind), "f"], [".wh.x"]), ["f"]);
  }
});

test("an opaque whiteout .wh..wh.opq hides everything below its directory in lower layers", () => {
  assert.deepEqual(paths(["d/a", "d/e/b", "c"], ["d/.wh..wh.opq"]), ["c"]);
});

test("an opaque whiteout hides lower layers only, whatever its order in its own layer", () => {
  assert.deepEqual(paths(["d/a"], ["d/", "d/.wh..wh.opq", "d/b"]), ["d/b"]);
  assert.deepEqual(paths(["d/a"], ["d/b", "d/.wh..wh.opq"]), ["d/b"]);
});

test("an opaque whiteout at the root hides everything that lower layers have", () => {
  assert.deepEqual(paths(["a", "d/b"], ["c", ".wh..wh.opq"]), ["c"]);
});

test("an opaque whiteout does not hide its own directory, so what else is there stays", () => {
  assert.deepEqual(
    refusal([[entryOf("d", "symbolic link")], ["d/.wh..wh.opq", "f"]]).slice(0, 3),
    '"d"',
  );
});

test("whiteouts are never content, nor is metadata of aufs", () => {
  assert.deepEqual(paths([".wh.x", ".wh..wh.aufs", ".wh..wh.plnk/1.2", "d/.wh..wh.orph/x", "f"]), [
    "f",
  ]);
});

test("metadata of aufs hides nothing and refuses nothing", () => {
  assert.deepEqual(
    paths(
      ["aufs", "f"],
      [entryOf(".wh..wh.aufs", "hard link"), entryOf(".wh..wh.plnk", "directory")],
    ),
    ["aufs", "f"],
  );
});

test("a whiteout hides whatever type its entry has: old graph drivers wrote hard links", () => {
  for (const kind of [
    "hard link",
    "symbolic link",
    "character device",
    "directory",
    "unsupported",
  ] as const) {
    assert.deepEqual(paths(["a", "b"], [entryOf(".wh.a", kind)]), ["b"]);
  }
});

for (const path of [".wh.", ".wh..", ".wh...", "d/.wh.."]) {
  test(`a whiteout that names no file refuses the image: ${path}`, () => {
    assert.match(
      refusal([["f"], [path]]),
      new RegExp(`^"${path}" of layer 2 is a whiteout that names no file: `),
    );
  });
}

test("an entry below a whiteout refuses the image", () => {
  assert.match(refusal([[".wh.d/f"]]), /^"\.wh\.d\/f" of layer 1 lies below a whiteout: /);
});

// Directories and files in each other's place.

test("a file of a higher layer hides the content of a directory of a lower one", () => {
  assert.deepEqual(ids(["d/", "d/a", "d/e/b"], ["d"]), [2]);
});

test("a link of a higher layer hides a directory's content, even when it is gone later", () => {
  assert.deepEqual(paths(["d/a", "f"], [entryOf("d", "symbolic link")], [".wh.d"]), ["f"]);
});

test("in one layer a later file hides what came before it below its path", () => {
  assert.deepEqual(ids(["d/a", "d"]), [1]);
});

test("a directory of a higher layer hides a file or link at its path", () => {
  assert.deepEqual(paths(["d", "f"], ["d/"]), ["f"]);
  assert.deepEqual(paths([entryOf("d", "symbolic link")], ["d/", "d/a"]), ["d/a"]);
});

test("a directory of a higher layer leaves a lower directory's content", () => {
  assert.deepEqual(paths(["d/a"], ["d/", "d/b"]), ["d/a", "d/b"]);
});

test("in one layer a later directory replaces a file", () => {
  assert.deepEqual(paths(["d", "d/", "d/a"]), ["d/a"]);
});

test("a file below what is no directory refuses the image, and both are named", () => {
  assert.match(
    refusal([["d"], ["d/a"]]),
    /^"d\/a" of layer 2 lies below "d" of layer 1, which is a regular file and no directory: /,
  );
});

test("a directory below what is no directory refuses the image", () => {
  assert.match(refusal([["d"], ["d/e/"]]), /^"d\/e" of layer 2 lies below "d"/);
});

test("a file below what was no directory is fine when that was hidden", () => {
  assert.deepEqual(paths(["d"], [".wh.d", "d/a"]), ["d/a"]);
  assert.deepEqual(paths(["d"], ["d/a"], ["d/"]), ["d/a"]);
});

// What refuses the image when it is left.

for (const [kind, said] of [
  ["symbolic link", "a symbolic link"],
  ["hard link", "a hard link"],
  ["character device", "a character device"],
  ["block device", "a block device"],
  ["pipe", "a pipe"],
] as const) {
  test(`a ${kind} that survives refuses the image and is named with its kind`, () => {
    assert.match(
      refusal([["f"], [entryOf("d/x", kind)]]),
      new RegExp(`^"d/x" of layer 2 is ${said}: only regular files can be cached; build `),
    );
  });

  test(`a ${kind} that a later layer replaces does not refuse the image`, () => {
    assert.deepEqual(paths([entryOf("d/x", kind)], ["d/x"]), ["d/x"]);
  });
}

test("an entry of a type that is not known refuses the image when it survives", () => {
  const label = entryOf("label", "unsupported", "V");
  assert.match(
    refusal([["f", label]]),
    /^"label" of layer 1 is an entry of the unknown type "V": /,
  );
  assert.deepEqual(paths(["f", label], [".wh.label"]), ["f"]);
});

test("of several entries that refuse the image the first is named", () => {
  const link = (path: string): TarEntry => entryOf(path, "symbolic link");
  assert.match(refusal([["f", link("z")], [link("a")]]), /^"z"/);
});

for (const path of ["", ".", "..", "/", "./", "a/..", "a/.", "../"]) {
  test(`an entry without a file name refuses the image: ${JSON.stringify(path)}`, () => {
    assert.equal(
      refusal([["f"], [entryOf(path)]]).split(":")[0],
      `the entry "${path}" of layer 2 is a regular file without a file name`,
    );
  });
}

test("an entry without a file name refuses the image whatever its kind, directories apart", () => {
  assert.match(
    refusal([["f", entryOf(".", "symbolic link")]]),
    /is a symbolic link without a file name/,
  );
  assert.deepEqual(paths(["f", entryOf(".", "directory"), entryOf("", "directory")]), ["f"]);
});

test("absolute paths and .. inside an image are only a path to a base name", () => {
  const survivors = flattened([["/etc/a", "../../../b", "x/../../c"]]).survivors();
  assert.deepEqual(
    survivors.map(({ name }) => name),
    ["a", "b", "c"],
  );
});

test("a base name that is not UTF-8 refuses the image", () => {
  const name = Buffer.concat([Buffer.from("d/"), Buffer.from([0xff, 0x61])]);
  assert.match(refusal([[entryOf(name)]]), / of layer 1 has a name that is not UTF-8: rename it/);
});

test("a base name of more than 255 bytes refuses the image", () => {
  assert.deepEqual(paths([`d/${"n".repeat(255)}`]).length, 1);
  assert.match(refusal([[`d/${"n".repeat(256)}`]]), / has a name of 256 bytes/);
});

test("a base name with a control character refuses the image", () => {
  assert.match(refusal([["a\nb"]]), /^"a\\x0ab" of layer 1 has a control character in its name/);
});

test("a bad base name that a higher layer hides does not refuse the image", () => {
  assert.deepEqual(paths(["d/a\nb", "f"], [".wh.d"]), ["f"]);
});

test("a directory may have any name, for it is passed over", () => {
  assert.equal(
    paths([entryOf(Buffer.concat([Buffer.from([0xff, 0x0a]), Buffer.from("/f")]))]).length,
    1,
  );
});

test("two surviving paths with one base name refuse the image, and both are named", () => {
  assert.match(
    refusal([["a/f", "g"], ["b/f"]]),
    /^"a\/f" of layer 1 and "b\/f" of layer 2 have the same base name: rename one of them/,
  );
});

test("two paths with one base name are fine when one of them is hidden", () => {
  assert.deepEqual(paths(["a/f"], ["a/.wh.f", "b/f"]), ["b/f"]);
});

test("a file and a directory may have one base name", () => {
  assert.deepEqual(paths(["f", "d/f/", "d/f/g"]), ["f", "d/f/g"]);
});

test("an image with no file to cache is refused", () => {
  for (const layers of [[], [[]], [["d/"]], [["f"], [".wh.f"]], [[".image-cache-agent.json"]]]) {
    assert.match(refusal(layers), /^it has no file to cache: /);
  }
});

// What is skipped.

test("an entry with the sentinel's own name is skipped, wherever it is", () => {
  const flattening = new Flattening("an image");
  assert.equal(flattening.add(0, entryOf("d/.image-cache-agent.json")), undefined);
  assert.equal(flattening.add(0, entryOf(".image-cache-agent.json")), undefined);
  assert.equal(flattening.add(0, entryOf("f"))?.id, 0);
  assert.deepEqual(
    flattening.survivors().map(({ name }) => name),
    ["f"],
  );
});

test("an entry with the sentinel's own name is skipped whatever its kind", () => {
  assert.deepEqual(paths([entryOf(".image-cache-agent.json", "symbolic link"), "f"]), ["f"]);
});

for (const name of ["stargz.index.json", ".prefetch.landmark", ".no.prefetch.landmark"]) {
  test(`${name}, eStargz's bookkeeping at a layer's root, is not content`, () => {
    assert.deepEqual(paths([name, "f"], [`./${name}`]), ["f"]);
    assert.equal(new Flattening("an image").add(0, entryOf(name)), undefined);
  });

  test(`${name} below a layer's root is content like any other`, () => {
    assert.deepEqual(paths([`d/${name}`]), [`d/${name}`]);
  });
}

// Bounds.

test("more surviving files than allowed refuse the image", () => {
  const limits = { files: 3, nameBytes: 1000 };
  assert.equal(flattened([["a", "b", "c"]], limits).survivors().length, 3);
  assert.match(
    refusal([["a", "b", "c", "d"]], limits),
    /^it has 4 files with 4 bytes of names, and at most 3 files/,
  );
});

test("more bytes of base names than allowed refuse the image; directories' names do not count", () => {
  const limits = { files: 10, nameBytes: 8 };
  assert.equal(flattened([["dir/aaaa", "dir/bbbb"]], limits).survivors().length, 2);
  assert.match(
    refusal([["dir/aaaa", "dir/bbbbc"]], limits),
    /with 9 bytes of names, and at most 10 files and 8 bytes/,
  );
});

test("files that higher layers hide do not count as surviving", () => {
  const limits = { files: 3, nameBytes: 1000 };
  assert.equal(
    flattened(
      [
        ["a", "b", "c"],
        [".wh.a", ".wh.b", "d", "e"],
      ],
      limits,
    ).survivors().length,
    3,
  );
});

const hiddenToo =
  /^with what higher layers hide, its layers have more than 6 files and directories or 40 bytes/;

test("what is remembered of hidden files is bounded in number", () => {
  assert.match(
    refusal([["a", "b", "c", "d", "e", "f", "g"]], { files: 3, nameBytes: 20 }),
    hiddenToo,
  );
});

test("what is remembered of directories is bounded in number", () => {
  assert.match(refusal([["a/b/c/d/e/f/g"]], { files: 3, nameBytes: 20 }), hiddenToo);
});

test("what is remembered of whiteouts is bounded in number", () => {
  const whiteouts = ["a", "b", "c", "d", "e", "f", "g"].map((name) => `.wh.${name}`);
  assert.match(refusal([whiteouts], { files: 3, nameBytes: 20 }), hiddenToo);
});

test("what is remembered of names is bounded in bytes", () => {
  assert.match(refusal([["n".repeat(41)]], { files: 3, nameBytes: 20 }), hiddenToo);
});

test("one path over and over is bounded by the number of files that it makes", () => {
  assert.match(
    refusal([Array.from({ length: 7 }, () => "f")], { files: 3, nameBytes: 20 }),
    hiddenToo,
  );
});

test("by default 1,000,000 surviving files are allowed, and 64 MiB of names", () => {
  const flattening = new Flattening("an image");
  for (let count = 0; count < 1_000_001; count++) flattening.add(0, entryOf(`${count}`));
  assert.throws(
    () => flattening.survivors(),
    /it has 1000001 files .* at most 1000000 files and 67108864 bytes/,
  );
});

test("a path of half a million directories is laid out in one pass", () => {
  const path = `${"d/".repeat(500_000)}f`;
  assert.deepEqual(
    flattened([[path, `${path}g`]])
      .survivors()
      .map(({ name }) => name),
    ["f", "fg"],
  );
});
