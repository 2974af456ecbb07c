import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { staticFile, type StaticFile } from '../operations/static-file.ts';
import { networkOf } from './client-address.ts';
import type { ExchangeContext } from './exchange-context.ts';
import type { Handler, Paths } from './paths.ts';
import { readHead, requestIdOf } from './request-head.ts';
import { errorResponse, NOSNIFF, write } from './respond.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

interface PageFile extends StaticFile {
  path: string;
}

export interface Page {
  at: string;
  document: PageFile;
  assets: readonly PageFile[];
  /** Whether the document also answers paths below it; the page then chooses the view. */
  views: boolean;
  policy: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const compressed = (file: string): Buffer | null => (existsSync(file) ? readFileSync(file) : null);

/** Reads a built page at the start; `null` if it is not built. Throws for a file of an unknown type. */
export function readPage(page: Omit<Page, 'document' | 'assets'> & { folder: string }): Page | null {
  const { folder, at, views, policy } = page;
  if (!existsSync(join(folder, 'index.html'))) return null;
  const read = (file: string, path: string, immutable: boolean): PageFile => {
    const contentType = TYPES[extname(file)];
    if (contentType === undefined) throw new Error(`${file} is of a type that no page has`);
    const [brotli, gzip] = [compressed(`${file}.br`), compressed(`${file}.gz`)];
    return { path, ...staticFile(readFileSync(file), { contentType, brotli, gzip, immutable }) };
  };
  const assets = readdirSync(join(folder, 'assets'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(?:br|gz)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => read(file, `${at}/${relative(folder, file).replaceAll('\\', '/')}`, true));
  return { at, document: read(join(folder, 'index.html'), at, false), assets, views, policy };
}

/** Headers of every file of a page: other sites cannot frame it, and get no referrer. */
const HEADERS: Readonly<Record<string, string>> = {
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

const fileHandler =
  (context: ExchangeContext, file: PageFile, policy: string) =>
  (headOnly: boolean): Handler =>
  (res, req) => {
    const { requestId: sentId, forwardedFor } = readHead(req);
    const requestId = requestIdOf(sentId);
    const refused = context.fileLimit?.(networkOf(res, forwardedFor, context.trustedProxies)) ?? null;
    if (refused !== null) {
      context.requests.refused(refused);
      return write(res, errorResponse(refused), { head: headOnly, close: context.closes, requestId, cors: null });
    }
    res.onAborted(() => undefined);
    const headers = { 'X-Request-Id': requestId, ...HEADERS, 'Content-Security-Policy': policy };
    sendFile(res, file, { request: fileRequest(req, headOnly), headers, closes: context.closes });
  };

/** Registers a page's files by name. A missing file is 404, so that an old document is noticed. */
export function addPage(
  paths: Paths,
  options: { page: Page; context: ExchangeContext; wrap: (handler: Handler) => Handler; notFound: Handler },
): void {
  const { page, context, wrap, notFound } = options;
  const { at, document, assets, views, policy } = page;
  const add = (path: string, file: PageFile): void => {
    const handler = fileHandler(context, file, policy);
    paths.add(path, 'get', (headOnly) => wrap(handler(headOnly)));
  };
  add(at, document);
  for (const asset of assets) add(asset.path, asset);
  if (!views) return;
  paths.add(`${at}/assets/*`, 'get', () => notFound);
  add(`${at}/*`, document);
}

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

/** Sends a file, or 304, and returns the status. The response must have an abort handler. */
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
