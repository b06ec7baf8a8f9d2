import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { parse } from "yaml";

/** What is used of a CustomResourceDefinition of one version. */
export interface Definition {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly schema: Schema;
}

/** What is used of an OpenAPI schema, as the API server takes them: a type and what hangs on it. */
export interface Schema {
  readonly type: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly maxLength?: number;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly "x-kubernetes-validations"?: readonly { readonly rule: string }[];
}

interface Manifest {
  readonly kind: "CustomResourceDefinition";
  readonly spec: {
    readonly group: string;
    readonly scope: "Cluster" | "Namespaced";
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly {
      readonly name: string;
      readonly storage: boolean;
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

export interface DefinitionFile {
  readonly file: string;
  readonly definition: Definition;
}

/** Every definition of a folder, one a file, in the order of their names. */
export async function readDefinitions(folder: string): Promise<readonly DefinitionFile[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".yaml")).sort();
  return Promise.all(
    files.map(async (file) => ({
      file,
      definition: definitionOf(await readFile(join(folder, file), "utf8"), file),
    })),
  );
}

/** The manifests are this project's own, and a test has an API server accept each: no more is checked. */
function definitionOf(text: string, file: string): Definition {
  const { spec } = parse(text) as Manifest;
  const [version, ...others] = spec.versions.filter(({ storage }) => storage);
  if (version === undefined || others.length > 0) {
    throw new Error(`cannot read ${file}: it has no version, or more than one, that is stored`);
  }
  return {
    group: spec.group,
    version: version.name,
    plural: spec.names.plural,
    kind: spec.names.kind,
    namespaced: spec.scope === "Namespaced",
    schema: version.schema.openAPIV3Schema,
  };
}
