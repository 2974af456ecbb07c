import { writeCommonHeaders } from './respond.ts';
import type { HttpResponse } from './uws.ts';

/** The state of the connection. */
export interface StreamTo {
  /** Whether the response must no longer be used. */
  aborted(): boolean;
  /** Registers the one function to call when that happens. */
  onAbort(wake: () => void): void;
}

type Headers = Readonly<Record<string, string>>;

/**
 * Writes a 200 with JSON in pieces. Each piece waits until the previous one was sent, so that a large answer is never in memory as a whole. Rejects
 * with errors that occur before the first piece; nothing is written then. A later error cuts the connection, as does a server that shuts
 * down: without the last chunk, the client recognises that the answer is incomplete.
 * `closes`: asks the client to close the connection. This must be in the head: uWS writes the header into the body if it is asked to close at the
 * end of a chunked body.
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
