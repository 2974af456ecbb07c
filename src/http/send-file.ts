import type { StaticFile } from '../operations/static-file.ts';
import { NOSNIFF } from './respond.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

/** The parts of a request for a file that determine the answer. */
export interface FileRequest {
  acceptEncoding: string;
  ifNoneMatch: string;
  headOnly: boolean;
}

/** Call this while uWS still allows access to the request. */
export const fileRequest = (req: HttpRequest, headOnly: boolean): FileRequest => ({
  acceptEncoding: req.getHeader('accept-encoding'),
  ifNoneMatch: req.getHeader('if-none-match'),
  headOnly,
});

/** The encoding is listed, and not refused with `q=0`. */
const BROTLI = /(?:^|[\s,])br\s*(?:,|$|;(?!\s*q=0(?:\.0*)?\s*(?:,|$)))/i;
const GZIP = /(?:^|[\s,])(?:x-)?gzip\s*(?:,|$|;(?!\s*q=0(?:\.0*)?\s*(?:,|$)))/i;

/** The smallest encoding that the client accepts. */
function formOf(file: StaticFile, accepted: string): { body: Buffer; encoding: string | null } {
  if (file.brotli !== null && BROTLI.test(accepted)) return { body: file.brotli, encoding: 'br' };
  if (file.gzip !== null && GZIP.test(accepted)) return { body: file.gzip, encoding: 'gzip' };
  return { body: file.body, encoding: null };
}

/** Whether the client already has this version of the file. */
const has = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch !== '' &&
  ifNoneMatch.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag.slice(2));

/**
 * Sends a file, or 304 if the client has it, and returns the status. The response must have an abort handler. A client that does not read only
 * delays its own connection; the file is not copied for it.
 */
export function sendFile(
  res: HttpResponse,
  file: StaticFile,
  how: { request: FileRequest; headers: Readonly<Record<string, string>>; closes: boolean },
): 200 | 304 {
  const { acceptEncoding, ifNoneMatch, headOnly } = how.request;
  const { body, encoding } = formOf(file, acceptEncoding);
  const isKnown = has(ifNoneMatch, file.etag);
  res.cork(() => {
    if (isKnown) res.writeStatus('304 Not Modified');
    else res.writeHeader('Content-Type', file.contentType);
    res.writeHeader('ETag', file.etag);
    res.writeHeader('Cache-Control', file.cacheControl);
    res.writeHeader('Vary', 'Accept-Encoding');
    for (const headers of [NOSNIFF, how.headers])
      for (const [name, value] of Object.entries(headers)) res.writeHeader(name, value);
    if (how.closes) res.writeHeader('Connection', 'close');
    if (encoding !== null && !isKnown) res.writeHeader('Content-Encoding', encoding);
    if (isKnown) return void res.endWithoutBody();
    if (headOnly) return void res.writeHeader('Content-Length', String(body.length)).endWithoutBody();
    const [sent] = res.tryEnd(body, body.length);
    if (!sent) res.onWritable((offset) => res.tryEnd(body.subarray(offset), body.length)[0]);
  });
  return isKnown ? 304 : 200;
}
