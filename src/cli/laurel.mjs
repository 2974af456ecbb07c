#!/usr/bin/env node
// What `npx laurel` runs. In a clone the built code may be missing, or older than its sources: it is built first.
import { build } from './build.mjs';

// Standard output is for what the command says.
if (!build({ output: 2 })) {
  console.error('Laurel is not built: npm run build.');
  process.exit(2);
}
await import(new URL('../../dist/src/cli/main.js', import.meta.url).href);
