/** What a metric is called, what it means, and which labels it has with which values. */

/**
 * Names of labels to the values that they can have, or `"any"` for values that are not known in
 * advance, such as names of resources.
 */
export type LabelSpec = Readonly<Record<string, readonly string[] | "any">>;

/** The labels of one series. A value that was not declared is a type error. */
export type LabelsOf<L extends LabelSpec> = {
  readonly [K in keyof L]: L[K] extends readonly (infer V extends string)[] ? V : string;
};

/** As an argument: none where no labels were declared, and `L` is any. */
export type LabelArgument<L extends LabelSpec> = string extends keyof L ? [] : [LabelsOf<L>];

export interface MetricSpec<L extends LabelSpec> {
  /** With the unit at its end: `larder_pass_duration_seconds`. */
  readonly name: string;
  /** One sentence, without a full stop. */
  readonly help: string;
  readonly labels?: L;
}

export type MetricType = "counter" | "gauge" | "histogram";

/** A metric as documents and tests see it. */
export interface MetricDescription {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  readonly labels: LabelSpec;
}

/**
 * Every combination of the values that are known in advance, so that each series is there, at zero,
 * before anything happened: an increase from nothing to one cannot be seen by a query. None where
 * a label can have any value; the one of no labels where there is none.
 */
export function knownSeries(labels: LabelSpec): readonly Readonly<Record<string, string>>[] {
  let series: readonly Readonly<Record<string, string>>[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    if (values === "any") return [];
    series = series.flatMap((before) => values.map((value) => ({ ...before, [label]: value })));
  }
  return series;
}
