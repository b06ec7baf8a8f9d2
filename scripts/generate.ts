/** `make generate`: what each resource's definition in deploy/crds says, as TypeScript in src/api. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { readDefinitions } from "./read-definition.ts";
import { sourceOf } from "./resource-source.ts";

const root = join(import.meta.dirname, "..");

/** One generated file. */
export interface Generated {
  /** From the root of the checkout: `src/api/image-cache.ts`. */
  readonly path: string;
  readonly content: string;
}

/** Everything that is generated, from what is in `deploy/crds` now. */
export async function generate(): Promise<readonly Generated[]> {
  const definitions = await readDefinitions(join(root, "deploy/crds"));
  return definitions.map(({ file, definition }) => ({
    path: `src/api/${kebab(definition.kind)}.ts`,
    content: sourceOf(definition, `deploy/crds/${file}`),
  }));
}

/** `ImageCache` as `image-cache`. */
function kebab(kind: string): string {
  return kind.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
}

if (import.meta.main) {
  for (const { path, content } of await generate()) {
    await writeFile(join(root, path), content);
    process.stdout.write(`${path}\n`);
  }
}
