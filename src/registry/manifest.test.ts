import assert from "node:assert/strict";
import { suite, test } from "node:test";

import fc from "fast-check";

import { LarderError } from "../errors.ts";
import { parseConfig, parseManifest } from "./manifest.ts";
import { dockerManifest, ociIndex, ociManifest } from "./media-types.ts";

const where = "registry.example.com/app:1";
const digest = `sha256:${"a".repeat(64)}`;
const config = { mediaType: "application/vnd.oci.image.config.v1+json", digest, size: 2 };
const layer = { mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", digest, size: 3 };
const good = { schemaVersion: 2, mediaType: ociManifest, config, layers: [layer] };

const parse = (value: unknown, declared?: string) =>
  parseManifest(Buffer.from(JSON.stringify(value)), where, declared);

function refused(value: unknown, words: RegExp, declared?: string): void {
  assert.throws(
    () => parse(value, declared),
    (error) => {
      assert.ok(error instanceof LarderError);
      assert.equal(error.code, "image");
      assert.ok(error.message.includes(where));
      assert.match(error.message, words);
      return true;
    },
  );
}

suite("manifests", () => {
  test("are parsed to the fields in use", () => {
    assert.deepEqual(parse(good), {
      kind: "manifest",
      mediaType: ociManifest,
      artifactType: undefined,
      config,
      layers: [layer],
    });
  });

  test("without layers, as null or not at all, have none", () => {
    for (const layers of [[], null, undefined]) {
      const parsed = parse({ ...good, layers });
      assert.ok(parsed.kind === "manifest" && parsed.layers.length === 0);
    }
  });

  test("of docker schema 1 are refused by name", () => {
    const signed = "application/vnd.docker.distribution.manifest.v1+prettyjws";
    refused({ schemaVersion: 1, fsLayers: [], history: [] }, /docker schema 1/);
    refused({ schemaVersion: 1 }, /docker schema 1/, signed);
    refused({ fsLayers: [] }, /docker schema 1/, "application/json");
  });

  test("with a media type other than the declared one are refused with both", () => {
    refused(good, /oci\.image\.index.*oci\.image\.manifest/, ociIndex);
  });

  test("without a media type take the declared one, else their shape decides", () => {
    const { mediaType: _, ...bare } = good;
    assert.equal(parse(bare, dockerManifest).mediaType, dockerManifest);
    assert.equal(parse(bare, "application/json; charset=utf-8").mediaType, ociManifest);
    assert.equal(parse({ schemaVersion: 2, manifests: [] }).kind, "index");
  });

  test("that are manifest and index at once are refused", () => {
    refused({ ...good, manifests: [] }, /two things at once/);
  });

  test("of another media type are refused with it", () => {
    refused({ mediaType: "application/vnd.example+json" }, /application\/vnd\.example\+json/);
    refused({ hello: "world" }, /without a media type/);
  });

  for (const [what, change, words] of [
    ["no config", { config: undefined }, /its config is not an object/],
    ["a config without a digest", { config: { ...config, digest: undefined } }, /no digest/],
    [
      "a digest of another algorithm",
      { layers: [{ ...layer, digest: "md5:abc" }] },
      /layer 1.*md5:abc/,
    ],
    [
      "a digest that is a path",
      { layers: [{ ...layer, digest: "sha256:../../x" }] },
      /sha256:\.\.\/\.\.\/x/,
    ],
    ["a negative size", { layers: [{ ...layer, size: -1 }] }, /layer 1 has no valid size/],
    [
      "a size beyond counting",
      { layers: [{ ...layer, size: 1e300 }] },
      /layer 1 has no valid size/,
    ],
    ["a size that is text", { layers: [{ ...layer, size: "3" }] }, /layer 1 has no valid size/],
    ["layers that are no list", { layers: { 0: layer } }, /`layers` is not a list/],
    ["schema version 3", { schemaVersion: 3 }, /other than 2/],
    [
      "more than 1,000 layers",
      { layers: Array.from({ length: 1001 }, () => layer) },
      /1001 entries, and 1000/,
    ],
  ] as const) {
    test(`with ${what} are refused`, () => {
      refused({ ...good, ...change }, words);
    });
  }

  test("of any bytes are parsed, or refused as an image: nothing else happens", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((text) => Buffer.from(text)),
      fc.object().map((object) => Buffer.from(JSON.stringify({ ...good, ...object }))),
    );
    fc.assert(
      fc.property(bytes, (text) => {
        for (const parser of [parseManifest, parseConfig]) {
          try {
            parser(Buffer.from(text), where);
          } catch (error) {
            assert.ok(error instanceof LarderError && error.code === "image");
          }
        }
      }),
    );
  });

  test("that nest without end are refused, not followed", () => {
    assert.throws(() => parseManifest(Buffer.from("[".repeat(2_000_000)), where), LarderError);
    assert.throws(() => parseManifest(Buffer.from('{"a":'.repeat(1_000_000)), where), LarderError);
  });

  test("cannot borrow fields from a prototype", () => {
    const bytes = Buffer.from(`{"__proto__": ${JSON.stringify(good)}}`);
    assert.throws(() => parseManifest(bytes, where), LarderError);
  });
});

suite("configs", () => {
  const parseOne = (value: unknown) => parseConfig(Buffer.from(JSON.stringify(value)), where);

  test("give the platform and the diff IDs", () => {
    const rootfs = { type: "layers", diff_ids: [digest] };
    const platform = { os: "linux", architecture: "arm", variant: "v7" };
    assert.deepEqual(parseOne({ ...platform, rootfs }), { platform, diffIds: [digest] });
  });

  test("without an os or an architecture declare no platform", () => {
    for (const part of [{}, { os: "linux" }, { os: "", architecture: "" }]) {
      assert.equal(parseOne({ ...part, rootfs: { diff_ids: [] } }).platform, undefined);
    }
  });

  test("with diff IDs that are no digests are refused", () => {
    for (const id of ["", "sha256:short", 7, null]) {
      assert.throws(() => parseOne({ rootfs: { diff_ids: [id] } }), /diff ID 1/);
    }
  });

  test("without a rootfs are refused", () => {
    assert.throws(() => parseOne({ os: "linux" }), /no `rootfs`/);
  });
});
