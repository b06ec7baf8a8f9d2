/** Which objects of a resource a list or a watch is about. */
export interface Selection {
  /** All namespaces where undefined. */
  readonly namespace?: string | undefined;
  /** `app=larder,tier!=cache`. */
  readonly labelSelector?: string | undefined;
  /** `metadata.name=worker-1`. */
  readonly fieldSelector?: string | undefined;
}

/** A query with its question mark, without what is undefined; empty where nothing is left. */
export function queryOf(
  parameters: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, String(value));
  }
  return query.size === 0 ? "" : `?${query.toString()}`;
}
