import type { Readable } from 'node:stream';

/** What is kept of an answer. */
const KEPT_BYTES = 4_096;
/** An answer is read to its end, so that its connection serves the next message, unless it is longer than this. */
const READ_BYTES = 65_536;

/**
 * The beginning of an answer as text: its first 4 KiB, with U+FFFD for what is no UTF-8 and for NUL. Reads the rest of a short
 * one and closes the connection of a long one. What breaks in the middle, or is called off, counts as ended there.
 */
export async function readAnswer(body: Readable): Promise<string> {
  const kept: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (bytes < KEPT_BYTES) kept.push(chunk.subarray(0, KEPT_BYTES - bytes));
      bytes += chunk.length;
      if (bytes > READ_BYTES) break;
    }
  } catch {
    // The status is there already, and it is what counts.
  }
  body.destroy();
  return Buffer.concat(kept).toString('utf8').replaceAll('\0', '\uFFFD');
}
