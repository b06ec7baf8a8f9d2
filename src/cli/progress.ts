import { formatBytes } from "../cache/amount.ts";
import { formatDuration, formatEstimate } from "./duration.ts";
import { truncate, widthOf } from "./width.ts";

/** How far one layer is. */
export interface LayerProgress {
  /** `layer 2 of 3` */
  readonly name: string;
  /** Bytes read, as stored. */
  readonly read: number;
  /** Bytes in all, as stored. */
  readonly size: number;
  /** Bytes a second; undefined before it can be told. */
  readonly rate: number | undefined;
  /** Since it was started. */
  readonly milliseconds: number;
}

/** What there is to see: what goes on in general, and the layers that are being read. */
export interface ProgressView {
  readonly status: string | undefined;
  readonly layers: readonly LayerProgress[];
}

/** In cells. */
export interface ScreenSize {
  readonly columns: number | undefined;
  readonly rows: number | undefined;
}

/**
 * The lines that show a fill on a terminal of some size: none is so wide that it could wrap, and
 * they are never more than fit above the cursor's line.
 */
export function progressLines(view: ProgressView, size: ScreenSize): readonly string[] {
  // Serial consoles report no size, or one of 0.
  const columns = size.columns || 80;
  const rows = size.rows || 24;
  const lines = view.layers.map((layer) => liveLine(layer, columns - 1));
  if (view.status !== undefined) lines.unshift(truncate(view.status, columns - 1));
  return lines.slice(0, Math.max(rows - 1, 0));
}

/** One layer in at most so many cells: what fits least is left out first, the name last. */
function liveLine(layer: LayerProgress, cells: number): string {
  const { name } = layer;
  const amount = `${formatBytes(layer.read).padStart(10)} of ${formatBytes(layer.size)}`;
  const percent = percentOf(layer).padStart(4);
  const rate = rateOf(layer).padStart(12);
  const left = timeLeft(layer);
  const forms = [
    [name, amount, percent, rate, left],
    [name, amount, rate, left],
    [name, amount, left],
    [name, percent, left],
    [name, percent],
  ];
  const lines = forms.map((form) => form.join("  ").trimEnd());
  return lines.find((line) => widthOf(line) <= cells) ?? truncate(name, cells);
}

/** One layer as a line of its own, for where nothing can be redrawn. */
export function plainLine(layer: LayerProgress): string {
  const amount = `${formatBytes(layer.read)} of ${formatBytes(layer.size)}`;
  const parts = [amount, percentOf(layer), rateOf(layer), timeLeft(layer)];
  return `${layer.name}: ${parts.filter((part) => part !== "").join(", ")}`;
}

/** What stays on the screen of a layer that has been read. */
export function doneLine(layer: LayerProgress): string {
  return `${layer.name}: done, ${formatBytes(layer.read)} in ${formatDuration(layer.milliseconds)}`;
}

function percentOf({ read, size }: LayerProgress): string {
  return size > 0 ? `${Math.min(Math.floor((read * 100) / size), 100)}%` : "";
}

function rateOf({ rate }: LayerProgress): string {
  return rate === undefined ? "" : `${formatBytes(rate)}/s`;
}

function timeLeft({ read, size, rate }: LayerProgress): string {
  if (rate === undefined) return "";
  if (rate < 1) return read < size ? "stalled" : "";
  return `${formatEstimate((Math.max(size - read, 0) * 1000) / rate)} left`;
}
