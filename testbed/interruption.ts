/**
 * A signal that SIGINT and SIGTERM abort, in place of ending the process at once: whoever started
 * servers or mounted disks gets to its `finally`.
 */
export function interruption(): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      stopping.abort(new Error(`stopped by ${signal}`));
    });
  }
  return stopping.signal;
}
