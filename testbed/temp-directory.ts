import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** A directory that is gone when the test is. */
export async function tempDirectory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "larder-test-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}
