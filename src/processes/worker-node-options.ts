/**
 * Room for young objects, MB (Node's own: 16). All that a transaction stores is young and alive until it ends, and each
 * collection meanwhile copies it: of the persister's CPU that was a third. With 64, an event costs it 17 to 20 µs instead of 22 to
 * 25, for 25 to 50 MB more memory (`npm run bench -- persist`).
 */
const YOUNG_MB = 64;

/** Options of Node for a worker. */
export const WORKER_NODE_OPTIONS: readonly string[] = [`--max-semi-space-size=${YOUNG_MB}`];
