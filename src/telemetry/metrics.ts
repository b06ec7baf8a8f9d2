import CounterPart from "@prometheus-io/client/lib/counter.js";
import GaugePart from "@prometheus-io/client/lib/gauge.js";
import HistogramPart from "@prometheus-io/client/lib/histogram.js";
import RegistryPart from "@prometheus-io/client/lib/registry.js";

import {
  knownSeries,
  type LabelArgument,
  type LabelSpec,
  type LabelsOf,
  type MetricDescription,
  type MetricSpec,
  type MetricType,
} from "./metric-spec.ts";

/** Only ever grows, from zero. */
export interface Counter<L extends LabelSpec> {
  add(amount: number, ...labels: LabelArgument<L>): void;
}

/** Goes up and down. */
export interface Gauge<L extends LabelSpec> {
  set(value: number, ...labels: LabelArgument<L>): void;
  /** These are all the series that there are from now on; the others are gone. */
  replace(series: Iterable<readonly [labels: LabelsOf<L>, value: number]>): void;
}

/** Counts how often values were at most so large. */
export interface Histogram<L extends LabelSpec> {
  observe(value: number, ...labels: LabelArgument<L>): void;
}

/** The one of a metric without labels is not there. */
type Series = Readonly<Record<string, string>>;

/**
 * The metrics of one process. None is global, so that a test, or a simulation of many agents in one
 * process, has its own.
 */
export class Metrics {
  readonly #registry = new RegistryPart();
  readonly #descriptions: MetricDescription[] = [];
  readonly #beforeReading: (() => void | Promise<void>)[] = [];

  /** What `text` is, for the header of that name. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Every metric that there is, in the order in which they were made. */
  get descriptions(): readonly MetricDescription[] {
    return this.#descriptions;
  }

  counter<const L extends LabelSpec = LabelSpec>(spec: MetricSpec<L>): Counter<L> {
    const { labels, ...common } = this.#describe(spec, "counter");
    const part = new CounterPart<string>(common);
    for (const series of knownSeries(labels)) part.inc(series, 0);
    return {
      add: (amount: number, series: Series = {}) => {
        part.inc(series, amount);
      },
    };
  }

  gauge<const L extends LabelSpec = LabelSpec>(spec: MetricSpec<L>): Gauge<L> {
    const { labels, ...common } = this.#describe(spec, "gauge");
    const part = new GaugePart<string>(common);
    for (const series of knownSeries(labels)) part.set(series, 0);
    return {
      set: (value: number, series: Series = {}) => {
        part.set(series, value);
      },
      replace: (all) => {
        part.reset();
        for (const [series, value] of all) part.set(series, value);
      },
    };
  }

  /** @param spec.buckets the upper bounds, growing; one without bound is added */
  histogram<const L extends LabelSpec = LabelSpec>(
    spec: MetricSpec<L> & { readonly buckets: readonly number[] },
  ): Histogram<L> {
    const { labels, ...common } = this.#describe(spec, "histogram");
    const part = new HistogramPart<string>({ ...common, buckets: [...spec.buckets] });
    for (const series of knownSeries(labels)) part.zero(series);
    return {
      observe: (value: number, series: Series = {}) => {
        part.observe(series, value);
      },
    };
  }

  /** For values that are looked up when somebody asks for them. What it does has to be quick. */
  beforeReading(look: () => void | Promise<void>): void {
    this.#beforeReading.push(look);
  }

  /** Everything in Prometheus' text format. */
  async text(): Promise<string> {
    await Promise.all(this.#beforeReading.map(async (look) => look()));
    return this.#registry.metrics();
  }

  #describe<L extends LabelSpec>(spec: MetricSpec<L>, type: MetricType) {
    const { name, help } = spec;
    const labels: LabelSpec = spec.labels ?? {};
    this.#descriptions.push({ name, type, help, labels });
    return { name, help, labels, labelNames: Object.keys(labels), registers: [this.#registry] };
  }
}
