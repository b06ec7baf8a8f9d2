import { readFile } from "node:fs/promises";
import { globSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

export const root = join(import.meta.dirname, "..");

export interface SourceFile {
  /** From the root of the checkout: `src/cache/store.ts`. */
  readonly path: string;
  readonly isTest: boolean;
  /** Files of the checkout that it imports, as paths from the root. */
  readonly files: readonly string[];
  /** Everything else that it imports: `commander`, `node:fs`. */
  readonly packages: readonly string[];
}

/** Every TypeScript file below some folders, with what it imports: values, types and on demand. */
export async function sourceFiles(...folders: readonly string[]): Promise<SourceFile[]> {
  const paths = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root })).sort();
  return Promise.all(
    paths.map(async (path) => {
      const imports = importsOf(await readFile(join(root, path), "utf8"));
      return {
        path,
        isTest: path.endsWith(".test.ts"),
        files: imports
          .filter((name) => name.startsWith("."))
          .map((name) => normalize(join(dirname(path), name))),
        packages: imports.filter((name) => !name.startsWith(".")),
      };
    }),
  );
}

/** What a file imports or re-exports; one statement a line start, as the formatter leaves them. */
export function importsOf(source: string): string[] {
  const statements = source.matchAll(
    /^(?:import|export)\s(?:[^"';]*?\sfrom\s)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm,
  );
  return [...statements].flatMap(([, named, onDemand]) => named ?? onDemand ?? []);
}
