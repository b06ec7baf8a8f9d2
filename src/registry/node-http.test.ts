import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

test("what the agent needs loads no undici either", async () => {
  assert.doesNotMatch(await loadedBy("../cli/agent-action.ts", "./registry.ts"), /undici/);
});

test("what an import needs loads neither undici nor anything else for WebSocket", async () => {
  const loaded = await loadedBy("../cli/verbs.ts", "../cli/import-action.ts", "./registry.ts");
  assert.match(loaded, /^NativeModule http$/m);
  assert.doesNotMatch(loaded, /undici/);
});

/** The names of all modules, Node's own included, that importing these loads. */
async function loadedBy(...modules: readonly string[]): Promise<string> {
  const imports = modules.map((path) => `import(${JSON.stringify(import.meta.resolve(path))})`);
  const script = `await Promise.all([${imports.join()}]); console.log(process.moduleLoadList.join("\\n"))`;
  const words = ["--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  return stdout;
}
