import { defineConfig } from "rolldown";

/**
 * One entry, and beside it a folder with what it loads on demand: a file's imports, Node's own included,
 * are loaded with it, so that in one single file each command would pay for all the others.
 */
export default defineConfig({
  input: { larder: "src/cli/main.ts" },
  platform: "node",
  plugins: [{ name: "one-byte", renderChunk: (code) => code.replaceAll(/[^\0-\xff]/g, escaped) }],
  output: {
    dir: "dist",
    cleanDir: true,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "larder/[name].mjs",
    // What every pull needs, together: each file more is a millisecond before the first request.
    codeSplitting: {
      groups: [{ name: "common", test: /src\/(cache|image|registry)\/|src\/errors/ }],
    },
  },
});

/** One character beyond Latin-1, and V8 keeps the whole file with two bytes for each of its own. */
function escaped(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
