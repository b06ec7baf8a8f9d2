import { hash } from "node:crypto";

/**
 * How long a node waits with its pull of a resource, in milliseconds from 0 up to, not including,
 * `windowMs`: always the same for the same three, and evenly spread over the window for many nodes,
 * so that a new ImageCache does not make every node ask the registry in one second. Another source of
 * the same resource spreads the nodes anew, so that it is not always the same ones that come first.
 */
export function spreadDelay(
  node: string,
  resource: string,
  source: string,
  windowMs: number,
): number {
  const digest = hash("sha256", JSON.stringify([node, resource, source]), "buffer");
  return Math.floor((digest.readUIntBE(0, 6) / 2 ** 48) * windowMs);
}
