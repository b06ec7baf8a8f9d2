/** The API server and the command line judge a source alike: the CRD's rules against parseReference. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import * as fc from "fast-check";

import { parseReference } from "../../src/registry/reference.ts";
import type { ControlPlane } from "../../testbed/control-plane.ts";
import { anySource } from "./any-source.ts";
import {
  accepted,
  imageCache,
  judge,
  messageOf,
  refused,
  startWithImageCaches,
} from "./image-cache-cases.ts";

/** The only difference, and it is meant: a resource takes digests of sha256 alone. */
const sha512 = `app@sha512:${"a".repeat(128)}`;

suite("a source", () => {
  let plane: ControlPlane;
  before(async () => {
    plane = await startWithImageCaches();
  });
  after(() => plane.stop());

  async function isAccepted(source: string): Promise<boolean> {
    const answer = await judge(plane, imageCache("a", { source }));
    assert.ok([201, 422].includes(answer.status), `${JSON.stringify(source)}: ${answer.body}`);
    return answer.status === 201;
  }

  test("that is well formed is accepted by both", async () => {
    for (const source of accepted) {
      const answer = await judge(plane, imageCache("a", { source }));
      assert.equal(answer.status, 201, `${source}: ${messageOf(answer)}`);
      assert.ok(parses(source), source);
    }
  });

  test("that is malformed is refused by both, and the API server says what form is right", async () => {
    for (const [source, says] of refused) {
      const answer = await judge(plane, imageCache("a", { source }));
      assert.equal(answer.status, 422, `${source} was accepted`);
      assert.match(messageOf(answer), says);
      assert.match(messageOf(answer), /spec\.source: /);
      assert.ok(!parses(source), source);
    }
  });

  test("with a sha512 digest is good for the command line, and not for a resource", async () => {
    assert.equal(await isAccepted(sha512), false);
    assert.ok(parses(sha512));
  });

  test("gets the same verdict from both, whatever it is", async () => {
    const seen = { accepted: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(anySource, async (source) => {
        const here = parses(source);
        seen[here ? "accepted" : "refused"]++;
        assert.equal(await isAccepted(source), here, JSON.stringify(source));
      }),
      { numRuns: 1000 },
    );
    // Sources of one verdict only would show nothing.
    assert.ok(seen.accepted > 150 && seen.refused > 150, JSON.stringify(seen));
  });
});

function parses(source: string): boolean {
  try {
    parseReference(source);
    return true;
  } catch {
    return false;
  }
}
