/**
 * The package's index takes 7 MB, nearly all of it for parts that nobody here uses. Its single files
 * take 1 MB, but have no types of their own.
 */
declare module "@prometheus-io/client/lib/counter.js" {
  export { Counter as default } from "@prometheus-io/client";
}
declare module "@prometheus-io/client/lib/gauge.js" {
  export { Gauge as default } from "@prometheus-io/client";
}
declare module "@prometheus-io/client/lib/histogram.js" {
  export { Histogram as default } from "@prometheus-io/client";
}
declare module "@prometheus-io/client/lib/registry.js" {
  export { Registry as default } from "@prometheus-io/client";
}
