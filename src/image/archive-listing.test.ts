import assert from "node:assert/strict";
import { test } from "node:test";

import * as fc from "fast-check";

import { refusal } from "../../testbed/refusal.ts";
import { ArchiveListing } from "./archive-listing.ts";
import type { EntryKind, TarEntry } from "./tar-entry.ts";

interface Spec {
  path: string;
  kind?: EntryKind;
  link?: string;
  offset?: number;
  size?: number;
}

function entry({ path, kind = "file", link = "", offset = 512, size = 10 }: Spec): TarEntry {
  const [rawPath, linkName] = [Buffer.from(path), Buffer.from(link)];
  return { path: rawPath, kind, typeflag: "0", size, linkName, offset };
}

function listing(...specs: Spec[]): ArchiveListing {
  const list = new ArchiveListing("app.tar");
  for (const spec of specs) list.add(entry(spec));
  return list;
}

test("in an archive ./x and x are one name", () => {
  const list = listing({ path: "./blobs//sha256/./aa", offset: 1024 });
  assert.equal(list.find("blobs/sha256/aa")?.offset, 1024);
  assert.equal(list.find("./blobs/sha256/aa")?.offset, 1024);
  assert.deepEqual([...list.names()], ["blobs/sha256/aa"]);
});

test("of two entries of an archive with one name the later one counts, as unpacking would leave it", () => {
  const list = listing({ path: "index.json", offset: 512 }, { path: "./index.json", offset: 4096 });
  assert.equal(list.find("index.json")?.offset, 4096);
});

test("a name that the archive does not hold is not found, and neither is a directory", () => {
  const list = listing({ path: "blobs/", kind: "directory" });
  assert.equal(list.find("blobs"), undefined);
  assert.equal(list.find("nothing"), undefined);
  assert.equal(list.find("../nothing"), undefined);
});

test("a linked layer, a symbolic link to another layer.tar, is read where it points", () => {
  const link = { path: "b/layer.tar", kind: "symbolic link", link: "../a/layer.tar" } as const;
  const file = { path: "a/layer.tar", offset: 2048 };
  assert.equal(listing(link, file).find("b/layer.tar")?.offset, 2048);
  assert.equal(listing(file, link).find("b/layer.tar")?.offset, 2048);
});

test("a hard link counts from the root of the archive", () => {
  const link = { path: "b/layer.tar", kind: "hard link", link: "a/layer.tar" } as const;
  assert.equal(
    listing({ path: "a/layer.tar", offset: 2048 }, link).find("b/layer.tar")?.offset,
    2048,
  );
});

test("links that follow each other are followed to the file", () => {
  const list = listing(
    { path: "c", kind: "symbolic link", link: "b" },
    { path: "b", kind: "hard link", link: "./a" },
    { path: "a", offset: 2048 },
  );
  assert.equal(list.find("c")?.offset, 2048);
});

for (const link of ["/etc/shadow", "../../etc/shadow", "../..", "../a/../../x"]) {
  test(`a symbolic link that leaves the archive is refused: ${link}`, () => {
    const list = listing({ path: "a/layer.tar", kind: "symbolic link", link });
    assert.throws(() => list.find("a/layer.tar"), refusal("image", /outside the archive/));
  });
}

test("a hard link that leaves the archive is refused", () => {
  for (const link of ["/etc/shadow", "../etc/shadow"]) {
    const list = listing({ path: "a/layer.tar", kind: "hard link", link });
    assert.throws(() => list.find("a/layer.tar"), refusal("image", /outside the archive/));
  }
});

test("a link that nothing asks for does not refuse the archive, wherever it points", () => {
  const list = listing(
    { path: "a", offset: 512 },
    { path: "b", kind: "symbolic link", link: "/etc" },
  );
  assert.equal(list.find("a")?.offset, 512);
});

test("links that lead in a circle are refused", () => {
  const list = listing(
    { path: "a", kind: "symbolic link", link: "b" },
    { path: "b", kind: "symbolic link", link: "a" },
  );
  assert.throws(() => list.find("a"), refusal("image", /leads in a circle/));
});

test("a link to what the archive does not hold is refused with the name of that", () => {
  const list = listing({ path: "a/layer.tar", kind: "symbolic link", link: "../b/layer.tar" });
  assert.throws(
    () => list.find("a/layer.tar"),
    refusal("image", /b\/layer\.tar, which the archive does not/),
  );
});

test("an archive of more files than an image can have is refused", () => {
  const list = new ArchiveListing("root.tar", { entries: 3, nameBytes: 1000 });
  for (const path of ["a", "b", "c"]) list.add(entry({ path }));
  assert.throws(() => list.add(entry({ path: "d" })), refusal("image", /more than 3 files/));
});

test("an archive of more bytes of names than an image can have is refused", () => {
  const list = new ArchiveListing("root.tar", { entries: 100, nameBytes: 50 });
  list.add(entry({ path: "a".repeat(30) }));
  assert.throws(
    () => list.add(entry({ path: "b".repeat(30) })),
    refusal("image", /50 bytes of names/),
  );
});

test("names that are not UTF-8 stay apart", () => {
  const list = new ArchiveListing("app.tar");
  list.add({ ...entry({ path: "", offset: 512 }), path: Buffer.from([0xff]) });
  list.add({ ...entry({ path: "", offset: 1024 }), path: Buffer.from([0xfe]) });
  assert.equal([...list.names()].length, 2);
});

test("whatever links an archive holds, looking a name up ends, in a file of the archive or a refusal", () => {
  const part = fc.constantFrom("a", "b", "c", "..", ".", "");
  const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
  const kind = fc.constantFrom<EntryKind>("file", "symbolic link", "hard link", "directory");
  const specs = fc.array(fc.record({ path, kind, link: path }), { maxLength: 12 });
  fc.assert(
    fc.property(specs, path, (entries, name) => {
      const list = listing(...entries.map((spec, at) => ({ ...spec, offset: at })));
      try {
        const found = list.find(name);
        if (found !== undefined) assert.equal(entries[found.offset]?.kind, "file");
      } catch (error) {
        refusal("image", /archive|circle/)(error);
      }
    }),
  );
});
