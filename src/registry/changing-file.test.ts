import assert from "node:assert/strict";
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";

import { ChangingFile, describeFileError } from "./changing-file.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "larder-changing-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("a file that others may change", () => {
  it("is parsed anew after a change of the same length within one tick of the clock", async () => {
    const path = join(folder, "file");
    const file = new ChangingFile(path, (bytes) => bytes.toString());
    for (const content of ["a", "b", "c", "d"]) {
      await writeFile(path, content);
      assert.equal(await file.read(), content);
    }
  });

  it("is parsed once for as long as it stays the same", async () => {
    const path = join(folder, "file");
    await writeFile(path, "x");
    let parsed = 0;
    const later = () => Date.now() + 60_000;
    const file = new ChangingFile(path, () => (parsed += 1), later);
    assert.deepEqual([await file.read(), await file.read(), await file.read()], [1, 1, 1]);
    await utimes(path, 1, 1);
    assert.equal(await file.read(), 2);
  });

  it("is tried again after a parse that failed", async () => {
    const path = join(folder, "file");
    await writeFile(path, "{");
    const file = new ChangingFile(path, (bytes): unknown => JSON.parse(bytes.toString()));
    await assert.rejects(file.read(), SyntaxError);
    await writeFile(path, "1");
    assert.equal(await file.read(), 1);
  });
});

it("a file error is told in words, and by its code where there are none", () => {
  const error = (code: string) => Object.assign(new Error(code), { code });
  assert.equal(describeFileError(error("ENOENT")), "it does not exist");
  assert.equal(describeFileError(error("EACCES")), "this user may not read it");
  assert.equal(describeFileError(error("EIO")), "the system answered EIO");
  assert.equal(describeFileError("?"), "it cannot be read");
});
