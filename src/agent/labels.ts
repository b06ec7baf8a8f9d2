/** The labels that say what a node has. Pure. */

export type Sync = "synced" | "pending";

/** A merge patch of labels: null removes. */
export type LabelPatch = Readonly<Record<string, string | null>>;

/**
 * What has to change on a node, touching labels under the prefix alone; undefined when nothing has.
 *
 * @param prefix `image-cache.scality.com/`
 * @param have all labels of the node
 * @param want by resource name
 */
export function labelPatch(
  prefix: string,
  have: Readonly<Record<string, string>>,
  want: ReadonlyMap<string, Sync>,
): LabelPatch | undefined {
  const patch: Record<string, string | null> = {};
  for (const label of Object.keys(have)) {
    if (label.startsWith(prefix) && !want.has(label.slice(prefix.length))) patch[label] = null;
  }
  for (const [name, sync] of want) {
    const label = `${prefix}${name}`;
    if (!Object.hasOwn(have, label) || have[label] !== sync) patch[label] = sync;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
