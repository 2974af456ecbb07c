import { writeCommonHeaders } from './respond.ts';
import type { HttpResponse } from './uws.ts';

/** What becomes of the connection meanwhile. */
export interface StreamTo {
  /** Whether the response may no longer be touched. */
  aborted(): boolean;
  /** Called when it may not; one at a time. */
  onAbort(wake: () => void): void;
}

/** Response headers, by name. */
type Headers = Readonly<Record<string, string>>;

/**
 * Writes a 200 of JSON in pieces, each when the one before is on its way, so that a large answer is never whole in memory.
 * Rejects with what is thrown before the first piece: nothing is written then. What is thrown later cuts the connection,
 * as does a server that closes in the middle: without the last chunk the client knows that the answer is not whole.
 * `closes`: whether the client is to close the connection, which only the head can say: asked to close it when a chunked
 * body ends, uWS writes the header into the body.
 */
export async function streamJson(
  res: HttpResponse,
  chunks: AsyncIterator<string>,
  how: { to: StreamTo; head: boolean; headers: Headers; closes: () => boolean; failed: (error: unknown) => void },
): Promise<void> {
  const { to, head, failed } = how;
  let next = await chunks.next();
  if (to.aborted() || head) {
    await chunks.return?.();
    if (!to.aborted())
      res.cork(() => {
        writeHead(res, how);
        res.endWithoutBody();
      });
    return;
  }
  res.cork(() => writeHead(res, how));
  try {
    for (; next.done !== true && !to.aborted(); next = await chunks.next()) {
      const { value } = next;
      let flows = true;
      res.cork(() => void (flows = res.write(value)));
      if (!flows) await writable(res, to);
    }
    if (to.aborted()) await chunks.return?.();
    else res.cork(() => void res.end(''));
  } catch (error) {
    failed(error);
    if (!to.aborted()) res.close();
  }
}

function writeHead(res: HttpResponse, { headers, closes }: { headers: Headers; closes: () => boolean }): void {
  writeCommonHeaders(res);
  res.writeHeader('Content-Type', 'application/json');
  for (const name in headers) res.writeHeader(name, headers[name]!);
  if (closes()) res.writeHeader('Connection', 'close');
}

const writable = (res: HttpResponse, to: StreamTo): Promise<void> =>
  new Promise((resolve) => {
    to.onAbort(resolve);
    res.onWritable(() => {
      resolve();
      return true;
    });
  });
