import type { TestContext } from "node:test";

import type { BuiltImage } from "../../testbed/image-builder.ts";
import {
  startMisbehavingRegistry,
  type MisbehavingRegistry,
} from "../../testbed/misbehaving-registry.ts";

/** A registry that holds an image as `boot:1`, sends a million bytes of each layer, and falls silent. */
export async function stallingRegistry(
  context: TestContext,
  image: BuiltImage,
): Promise<MisbehavingRegistry> {
  const registry = await startMisbehavingRegistry();
  context.after(() => registry.stop());
  registry.hold("boot", "1", image);
  for (const { digest } of image.layers) {
    registry.misbehave(new RegExp(digest), { kind: "stall", after: 1_000_000 }, Infinity);
  }
  return registry;
}
