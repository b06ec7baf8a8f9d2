import { docComment, indent } from "./typescript-text.ts";
import type { Schema } from "./read-definition.ts";

/** The TypeScript type of what a schema admits. */
export function typeOf(schema: Schema): string {
  if (schema.enum !== undefined)
    return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  switch (schema.type) {
    case "string":
    case "boolean":
    case "number":
      return schema.type;
    case "integer":
      return "number";
    case "array":
      return arrayType(schema.items);
    case "object":
      return objectType(schema);
    default:
      return "unknown";
  }
}

function arrayType(items: Schema | undefined): string {
  const type = items === undefined ? "unknown" : typeOf(items);
  return `readonly ${/[ |]/.test(type) && !type.startsWith("{") ? `(${type})` : type}[]`;
}

function objectType({ properties, additionalProperties, required }: Schema): string {
  if (additionalProperties !== undefined) {
    return `Readonly<Record<string, ${typeOf(additionalProperties)}>>`;
  }
  const members = Object.entries(properties ?? {}).map(([name, schema]) => {
    const optional = required?.includes(name) === true ? "" : "?";
    return `${docComment(schema.description)}readonly ${name}${optional}: ${typeOf(schema)};`;
  });
  return members.length === 0 ? "{}" : `{\n${indent(members.join("\n"))}\n}`;
}
