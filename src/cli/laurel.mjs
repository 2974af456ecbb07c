#!/usr/bin/env node
// The entry point of `npx laurel`. Builds first, since in a clone the build may be missing or outdated.
import { build } from './build.mjs';

// Standard output is for the command's result.
if (!build({ output: 2 })) {
  console.error('Laurel is not built: npm run build.');
  process.exit(2);
}
await import(new URL('../../dist/src/cli/main.js', import.meta.url).href);
