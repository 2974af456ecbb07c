import { createRequire } from 'node:module';
import type * as Uws from 'uWebSockets.js';

/**
 * Bytes of request line and headers that uWS reads; more it answers 431 itself, in HTML. Laurel's own limit, whose
 * 431 is JSON, is below (`request-head.ts`).
 */
const MAX_HEADERS_BYTES = 65_536;

let loaded: typeof Uws | undefined;

/**
 * uWebSockets.js, loaded on first use: it reads the header limit from the environment once, while it loads.
 * Throws a sentence for a person on a Node that it has no binary for.
 */
export function uws(): typeof Uws {
  if (loaded) return loaded;
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(MAX_HEADERS_BYTES);
  try {
    loaded = createRequire(import.meta.url)('uWebSockets.js') as typeof Uws;
  } catch (error) {
    throw new Error(
      `The HTTP server has no binary for Node ${process.versions.node} on ${process.platform} ${process.arch}: ` +
        'run Laurel with Node 20 or 22 (glibc Linux, macOS or Windows).',
      { cause: error },
    );
  }
  return loaded;
}
