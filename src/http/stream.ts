import type { HttpResponse } from 'uWebSockets.js';

/** What becomes of the connection meanwhile. */
export interface StreamTo {
  /** Whether the response may no longer be touched. */
  aborted(): boolean;
  /** Called when it may not; one at a time. */
  onAbort(wake: () => void): void;
}

/**
 * Writes a 200 of JSON in pieces, each when the one before is on its way, so that a large answer is never whole in memory.
 * Rejects with what is thrown before the first piece: nothing is written then. What is thrown later cuts the connection,
 * by which the client knows that the answer is not whole, and is handed to `failed`.
 */
export async function streamJson(
  res: HttpResponse,
  chunks: AsyncIterator<string>,
  { to, head, failed }: { to: StreamTo; head: boolean; failed: (error: unknown) => void },
): Promise<void> {
  let next = await chunks.next();
  if (to.aborted() || head) {
    await chunks.return?.();
    if (!to.aborted())
      res.cork(() => {
        res.writeHeader('Content-Type', 'application/json');
        res.endWithoutBody();
      });
    return;
  }
  res.cork(() => void res.writeHeader('Content-Type', 'application/json'));
  try {
    for (; next.done !== true && !to.aborted(); next = await chunks.next()) {
      const { value } = next;
      let flows = true;
      res.cork(() => void (flows = res.write(value)));
      if (!flows) await writable(res, to);
    }
    if (to.aborted()) await chunks.return?.();
    else res.cork(() => void res.end());
  } catch (error) {
    failed(error);
    if (!to.aborted()) res.close();
  }
}

const writable = (res: HttpResponse, to: StreamTo): Promise<void> =>
  new Promise((resolve) => {
    to.onAbort(resolve);
    res.onWritable(() => {
      resolve();
      return true;
    });
  });
