import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { mountDisk } from "../../testbed/loop-disk.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";

test("a disk that cannot be mounted leaves no folder behind", async (t) => {
  const folder = await tempDirectory(t);
  const file = join(folder, "disk");
  await writeFile(file, Buffer.alloc(1024 * 1024));
  const { TMPDIR } = process.env;
  process.env["TMPDIR"] = folder;
  try {
    await assert.rejects(mountDisk(file, "ext4"), /mount/);
  } finally {
    if (TMPDIR === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = TMPDIR;
  }
  assert.deepEqual(await readdir(folder), ["disk"]);
});
