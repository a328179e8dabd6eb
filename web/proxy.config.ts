import { cpSync } from "node:fs";
import { defineConfig } from "rolldown";

// JupyterHub's proxy as one file, so that a site needs Node and no npm: the Hub's processes start it.
const source = "node_modules/configurable-http-proxy";
const target = "../src/pellucid/agent/hub/proxy";

export default defineConfig({
  input: `${source}/bin/configurable-http-proxy`,
  platform: "node",
  logLevel: "warn",
  output: { file: `${target}/bin/proxy.mjs`, format: "esm", codeSplitting: false },
  plugins: [
    {
      name: "files-beside-it",
      writeBundle() {
        // It reads its version and its error pages at run time.
        cpSync(`${source}/package.json`, `${target}/package.json`);
        cpSync(`${source}/LICENSE`, `${target}/LICENSE`);
        cpSync(`${source}/lib/error`, `${target}/bin/error`, { recursive: true });
      },
    },
  ],
});
