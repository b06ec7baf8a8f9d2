/** Every time of an election, in milliseconds. */
export interface LeaseLimits {
  /** How long others leave a lease to a holder that shows no sign of life. Whole seconds. */
  readonly leaseMs: number;
  /** How long a leader goes on without having renewed it: the difference is its time to come to an end. */
  readonly renewDeadlineMs: number;
  /** Between two renewals, of which up to a quarter is random. */
  readonly renewMs: number;
  /** Between two looks of a candidate, of which up to a quarter is random. */
  readonly pollMs: number;
  /** For one request. */
  readonly requestMs: number;
  /** For giving the lease back. */
  readonly releaseMs: number;
}

export const leaseLimits: LeaseLimits = {
  leaseMs: 15_000,
  renewDeadlineMs: 10_000,
  renewMs: 2_000,
  pollMs: 1_000,
  requestMs: 2_000,
  releaseMs: 1_000,
};
