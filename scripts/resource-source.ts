import { typeOf } from "./schema-type.ts";
import { docComment, pascal } from "./typescript-text.ts";
import type { Definition, Schema } from "./read-definition.ts";

/**
 * The TypeScript of one resource: where an API server has it, its defaults and limits, and its types.
 * Formatted as the formatter would.
 *
 * @param from the definition's file, for the first line
 */
export function sourceOf(definition: Definition, from: string): string {
  const { kind, group, schema } = definition;
  const spec = schema.properties?.["spec"] ?? { type: "object" };
  const parts = [
    `// Generated from ${from} by \`make generate\`: change that file, not this one.`,
    resourceConstant(definition),
    constant("labelPrefix", `${group}/`, "Before the names of labels that are about them."),
    ...nameLimit(schema),
    ...Object.entries(spec.properties ?? {}).flatMap(([name, each]) => fieldConstants(name, each)),
    interfaceOf(`${kind}Spec`, spec),
    kindInterface(definition),
  ];
  return `${parts.join("\n\n")}\n`;
}

function resourceConstant({ group, version, plural, kind, namespaced }: Definition): string {
  const name = `${plural.charAt(0).toLowerCase()}${pluralOf(kind, plural).slice(1)}`;
  return [
    "/** Where an API server has them. */",
    `export const ${name} = {`,
    `  group: ${JSON.stringify(group)},`,
    `  version: ${JSON.stringify(version)},`,
    `  plural: ${JSON.stringify(plural)},`,
    `  kind: ${JSON.stringify(kind)},`,
    `  namespaced: ${namespaced},`,
    "} as const;",
  ].join("\n");
}

/** `ImageCaches`: the plural with the capitals of the kind. */
function pluralOf(kind: string, plural: string): string {
  const same = plural.startsWith(kind.toLowerCase());
  return same ? `${kind}${plural.slice(kind.length)}` : pascal(plural);
}

/** The limit of `metadata.name`, which OpenAPI cannot have: a rule says it. */
function nameLimit(schema: Schema): string[] {
  const rules = (schema["x-kubernetes-validations"] ?? []).map(({ rule }) => rule);
  const limits = rules.flatMap((rule) => {
    const limit = /^self\.metadata\.name\.size\(\) <= (\d+)$/.exec(rule)?.[1];
    return limit === undefined ? [] : [Number(limit)];
  });
  return limits.map((limit) => constant("longestName", limit, "Of metadata.name, in characters."));
}

function fieldConstants(name: string, schema: Schema): string[] {
  const { default: fallback, maxLength } = schema;
  const found: string[] = [];
  if (typeof fallback === "string" || typeof fallback === "number") {
    found.push(constant(`default${pascal(name)}`, fallback, `Of an object that has no ${name}.`));
  }
  if (maxLength !== undefined) {
    found.push(constant(`longest${pascal(name)}`, maxLength, `Of ${name}, in characters.`));
  }
  return found;
}

function constant(name: string, value: string | number, about: string): string {
  return `${docComment(about)}export const ${name} = ${JSON.stringify(value)};`;
}

function interfaceOf(name: string, schema: Schema): string {
  return `${docComment(schema.description)}export interface ${name} ${typeOf(schema)}`;
}

function kindInterface({ group, version, kind, schema }: Definition): string {
  return [
    `${docComment(schema.description)}export interface ${kind} {`,
    `  readonly apiVersion: ${JSON.stringify(`${group}/${version}`)};`,
    `  readonly kind: ${JSON.stringify(kind)};`,
    "  readonly metadata: { readonly name: string; readonly [member: string]: unknown };",
    `  readonly spec: ${kind}Spec;`,
    "}",
  ].join("\n");
}
