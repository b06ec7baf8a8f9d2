import { join } from "node:path";

import { buildGoTools } from "./go-tools.ts";

/** The path of `crane`, built on first use. */
export async function crane(): Promise<string> {
  return join(await buildGoTools({ name: "crane" }), "crane");
}
