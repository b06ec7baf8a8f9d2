/** Every query of `deploy/monitoring`, with where it stands. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { parse } from "yaml";

import { root } from "../source-files.ts";

export const folder = join(root, "deploy/monitoring");
export const rulesFile = join(folder, "larder-agent.rules.yaml");
const dashboardFile = join(folder, "larder-agent.dashboard.json");

/** One query, and what it belongs to: the name of an alert or the title of a panel. */
export interface PlacedQuery {
  readonly where: string;
  readonly expression: string;
}

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Rules {
  readonly groups: readonly { readonly rules: readonly Alert[] }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly {
      readonly name: string;
      readonly type: string;
      readonly query: string;
    }[];
  };
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

export async function alerts(): Promise<readonly Alert[]> {
  const { groups } = parse(await readFile(rulesFile, "utf8")) as Rules;
  return groups.flatMap(({ rules }) => rules);
}

export async function dashboard(): Promise<Dashboard> {
  return JSON.parse(await readFile(dashboardFile, "utf8")) as Dashboard;
}

/** Those that alerts wait for, and those that their descriptions give to the reader. */
export async function alertQueries(): Promise<readonly PlacedQuery[]> {
  return (await alerts()).flatMap(({ alert, expr, annotations }) => {
    const [, listing] = /: ([^:]*)\.$/.exec(annotations["description"]?.trim() ?? "") ?? [];
    const offered = listing?.includes("{") || listing?.includes("==") ? [listing] : [];
    return [expr, ...offered].map((expression) => ({
      where: `alert ${alert}`,
      expression: expression.replaceAll(/\{\{.*?\}\}/g, "any"),
    }));
  });
}

/** With Grafana's own variables replaced by what they can stand for. */
export async function dashboardQueries(): Promise<readonly PlacedQuery[]> {
  const { panels, templating } = await dashboard();
  const shown = panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      where: `panel ${title}`,
      expression: expr.replaceAll("$__rate_interval", "5m"),
    })),
  );
  const asked = templating.list
    .filter(({ type }) => type === "query")
    .map(({ name, query }) => {
      const [, metric, label] = /^label_values\((.*), (\w+)\)$/.exec(query) ?? [];
      if (metric === undefined) throw new Error(`variable ${name}: not understood: ${query}`);
      return { where: `variable ${name}`, expression: `count by (${label}) (${metric})` };
    });
  return [...shown, ...asked];
}
