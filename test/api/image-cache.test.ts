/** The ImageCache resource on a real API server: what it takes, what it refuses and in which words. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import {
  defaultCachePath,
  imageCaches,
  longestCachePath,
  longestName,
  type ImageCacheSpec,
} from "../../src/api/image-cache.ts";
import type { ControlPlane } from "../../testbed/control-plane.ts";
import {
  collection,
  imageCache,
  judge,
  messageOf,
  startWithImageCaches,
} from "./image-cache-cases.ts";

const source = "registry.example.com/boot-cache-worker:134.0.0";

suite("an ImageCache", () => {
  let plane: ControlPlane;
  before(async () => {
    plane = await startWithImageCaches();
  });
  after(() => plane.stop());

  async function accepted(name: string, spec: ImageCacheSpec): Promise<ImageCacheSpec> {
    const answer = await judge(plane, imageCache(name, spec));
    assert.equal(answer.status, 201, answer.body);
    return (answer.json as { spec: ImageCacheSpec }).spec;
  }

  async function refusedWith(object: object): Promise<string> {
    const answer = await judge(plane, object);
    assert.equal(answer.status, 422, answer.body);
    return messageOf(answer);
  }

  const refusedSpec = (spec: object): Promise<string> =>
    refusedWith({ ...imageCache("a", { source }), spec });

  test("without a cache path gets the default one", async () => {
    assert.deepEqual(await accepted("a", { source }), { source, cachePath: defaultCachePath });
  });

  test("has a name of up to 63 characters", async () => {
    await accepted("n".repeat(longestName), { source });
    await accepted("worker-134.0.0", { source });
    const message = await refusedWith(imageCache("n".repeat(longestName + 1), { source }));
    assert.match(
      message,
      /metadata\.name has more than 63 characters: .*label: write a shorter one/,
    );
  });

  test("needs a spec with a source", async () => {
    const { apiVersion, kind, metadata } = imageCache("a", { source });
    assert.match(await refusedWith({ apiVersion, kind, metadata }), /spec: Required value/);
    assert.match(await refusedSpec({}), /spec\.source: Required value/);
    assert.match(await refusedSpec({ source: 1 }), /must be of type string: "integer"/);
  });

  test("has an absolute cache path of up to 1024 characters without dots side by side", async () => {
    const paths = ["/", "/x/", "//x", "/var/lib/a.b/.c", "/\u00fc", "/a b"];
    for (const cachePath of [...paths, `/${"p".repeat(longestCachePath - 1)}`]) {
      assert.deepEqual(await accepted("a", { source, cachePath }), { source, cachePath });
    }
    const refusals: readonly (readonly [path: string, says: RegExp])[] = [
      ["", /cachePath: .*does not start with a slash: write an absolute path, as in \/var/],
      ["var/lib", /does not start with a slash/],
      ["./x", /does not start with a slash/],
      ["/var/../etc", /cachePath: .*it has "\.\." in it: write the path that is meant/],
      ["/var/lib/a..b", /it has "\.\." in it/],
      ["/a\u0000b", /it has a null character in it: remove it/],
      [`/${"p".repeat(longestCachePath)}`, /Too long: may not be more than 1024/],
    ];
    for (const [cachePath, says] of refusals) {
      assert.match(await refusedSpec({ source, cachePath }), says);
    }
  });

  test("selects nodes by labels that a node can have", async () => {
    const selectors: readonly Readonly<Record<string, string>>[] = [
      {},
      { "kubernetes.io/os": "linux", rack: "" },
      { "a.b-c.d/E_f.g": "A_b.c-d", ["n".repeat(63)]: "v".repeat(63) },
    ];
    for (const nodeSelector of selectors) {
      assert.deepEqual((await accepted("a", { source, nodeSelector })).nodeSelector, nodeSelector);
    }
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${index}`, ""]));
    const refusals: readonly (readonly [selector: unknown, says: RegExp])[] = [
      [{ "a/b/c": "" }, /nodeSelector: .*a key in it cannot be a label's: write \[prefix\/\]name/],
      [{ "": "x" }, /a key in it cannot be a label's/],
      [{ "UPPER.io/a": "x" }, /a key in it/],
      [{ ["n".repeat(64)]: "x" }, /a key in it/],
      [{ os: "-linux" }, /a value in it cannot be a label's: write letters, digits/],
      [{ os: "lin ux" }, /a value in it/],
      [{ os: "v".repeat(64) }, /nodeSelector\.os: Too long: may not be more than 63/],
      [{ os: true }, /must be of type string: "boolean"/],
      [many, /must have at most 64 items/],
    ];
    for (const [nodeSelector, says] of refusals) {
      assert.match(await refusedSpec({ source, nodeSelector }), says);
    }
  });

  test("is listed with its source, its cache path and its age under the short name ic", async () => {
    await plane.ask(collection, { method: "POST", body: imageCache("listed", { source }) });
    const [head = "", row = ""] = (await plane.kubectl("get", "ic")).split("\n");
    assert.deepEqual(head.split(/\s+/), ["NAME", "SOURCE", "CACHEPATH", "AGE"]);
    assert.deepEqual(row.split(/\s+/).slice(0, 3), ["listed", source, defaultCachePath]);
  });

  test("has no status, is in no namespace, and is one of the kinds that Larder knows", async () => {
    const { group, version, plural, kind, namespaced } = imageCaches;
    const { resources } = (await plane.ask(`/apis/${group}/${version}`)) as {
      resources: readonly { name: string; kind: string; namespaced: boolean }[];
    };
    assert.deepEqual(
      resources.map((each) => [each.name, each.kind, each.namespaced]),
      [[plural, kind, namespaced]],
    );
  });

  test("is explained by kubectl, every field of it", async () => {
    const text = await plane.kubectl("explain", "imagecache.spec");
    for (const field of ["source", "cachePath", "nodeSelector"])
      assert.match(text, new RegExp(field));
    assert.doesNotMatch(text, /<no description>/);
  });
});
