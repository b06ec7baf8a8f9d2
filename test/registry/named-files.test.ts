import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";

import { failureOf, fileWith, pair, sample } from "./client.ts";

suite("files that somebody named, at a registry that asks for nothing over plain http", () => {
  for (const [what, text] of [
    ["missing", undefined],
    ["malformed", "{"],
  ] as const) {
    test(`a registry configuration that is ${what} is a usage error with its name, before any request`, async (t) => {
      const configPath = await fileWith(t, text ?? "");
      if (text === undefined) await rm(configPath);
      const { at, from, name } = await pair(t, sample(), { configPath });
      const error = await failureOf(from.image(name));
      assert.equal(error.code, "usage");
      assert.ok(error.message.includes(configPath), error.message);
      assert.equal(at.accepted, 0);
    });

    test(`a CA file that is ${what} is a usage error with its name, before any request`, async (t) => {
      const caPath = await fileWith(t, text ?? "", "ca.pem");
      if (text === undefined) await rm(caPath);
      const { at, from, name } = await pair(t, sample(), { caPath });
      const error = await failureOf(from.image(name));
      assert.equal(error.code, "usage");
      assert.ok(error.message.includes(caPath), error.message);
      assert.equal(at.accepted, 0);
    });
  }

  test("one that $REGISTRY_AUTH_FILE names counts as named", async (t) => {
    const environment = { REGISTRY_AUTH_FILE: await fileWith(t, "{") };
    const { from, name } = await pair(t, sample(), { environment });
    assert.equal((await failureOf(from.image(name))).code, "usage");
  });

  test("one in a usual place, which nobody named, stops no pull that needs no credentials", async (t) => {
    const home = join(await fileWith(t, "{"), "..");
    const { from, name, image } = await pair(t, sample(), { environment: { DOCKER_CONFIG: home } });
    assert.equal((await from.image(name)).digest, image.digest);
  });

  test("one that is mended is read again by the same client", async (t) => {
    const configPath = await fileWith(t, "{");
    const { from, name, image } = await pair(t, sample(), { configPath });
    assert.equal((await failureOf(from.image(name))).code, "usage");
    await writeFile(configPath, "{}");
    assert.equal((await from.image(name)).digest, image.digest);
  });
});
