import { join } from "node:path";

import { buildGoTools } from "./go-tools.ts";

/** The path of `promtool`, which checks metrics and rules; built on first use. */
export async function promtool(): Promise<string> {
  return join(await buildGoTools({ name: "promtool" }), "promtool");
}
