import assert from "node:assert/strict";
import { test } from "node:test";

import { tarOf } from "../../testbed/tar-writer.ts";
import { beginsLikeTar, notAnArchive, notAnImageArchive } from "./not-an-archive.ts";

const starts: [string, string | Buffer, RegExp][] = [
  ["an empty file", "", /it is empty: copy or save it again/],
  ["xz", Buffer.from("fd377a585a0000", "hex"), /xz-compressed, not a tar archive: .*xz -d/],
  ["bzip2", "BZh91AY", /bzip2-compressed/],
  ["lz4", Buffer.from("04224d18", "hex"), /lz4-compressed/],
  ["zip", "PK\u0003\u0004...", /zip file/],
  ["7z", Buffer.from("377abcaf271c", "hex"), /7z file/],
  ["a web page", "<!DOCTYPE html>", /web page, not a tar archive: download the archive again/],
  ["JSON", '{"schemaVersion":2}', /JSON file/],
  ["noise", "what is this", /it is not a tar archive: give an archive that 'docker save'/],
];

for (const [name, start, pattern] of starts) {
  test(`what is not an archive is refused by what it is, with a remedy: ${name}`, () => {
    const error = notAnArchive("/mnt/app.tar", Buffer.from(start));
    assert.equal(error.code, "image");
    assert.match(error.message, pattern);
  });
}

test("a tar is told by its first header", () => {
  assert.equal(beginsLikeTar(tarOf([{ path: "a" }]).subarray(0, 512)), true);
  assert.equal(beginsLikeTar(Buffer.alloc(512)), true);
  assert.equal(beginsLikeTar(Buffer.alloc(512, 65)), false);
});

const holdings: [string, string[], RegExp][] = [
  ["nothing", [], /holds no file at all/],
  ["a file system", ["etc/passwd", "bin/sh"], /neither the manifest\.json .* nor the oci-layout/],
  ["a pre-1.10 docker archive", ["repositories", "a/layer.tar"], /older than 1\.10/],
  ["a layout in a folder", ["app/oci-layout", "app/index.json"], /in a folder \(app\/oci-layout\)/],
  ["a cut archive", ["blobs/sha256/aa"], /cut short/],
];

for (const [name, names, pattern] of holdings) {
  test(`a tar without an image is refused by what it holds: ${name}`, () => {
    const error = notAnImageArchive("/mnt/app.tar", names);
    assert.equal(error.code, "image");
    assert.match(error.message, pattern);
  });
}
